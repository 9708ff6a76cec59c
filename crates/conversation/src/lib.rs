//! Everything that is decided about one conversation, as a pure machine: what happens goes in, what has
//! to be done comes out. No I/O and no clock.

pub mod homunculus;

pub use homunculus::CODES;
