//! Programs as they are written.

pub mod ast;
pub mod codes;
mod format;
mod lexer;
mod literal;
mod parser;
mod strength;
pub mod token;

pub use format::{WIDTH, expression_text, format, type_text, wire_text};
pub use parser::{DEPTH, parse};

#[cfg(test)]
mod tests;
