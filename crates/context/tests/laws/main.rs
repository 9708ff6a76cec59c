//! The laws of the context window, as property tests over random conversations.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod comonad;
mod conversation;
mod cut;
mod galois;
mod linearity;
mod order;
mod split;
