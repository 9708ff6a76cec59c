//! Programs as they are written.

pub mod ast;
