//! Programs as they are written.

pub mod ast;
mod lexer;
mod literal;
mod parser;
mod strength;
pub mod token;

pub use parser::{DEPTH, parse};
