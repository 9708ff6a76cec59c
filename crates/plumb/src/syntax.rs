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

use crate::span::SourceId;

/// The tokens of a text; the last one is its end. What is not of the language is passed over.
#[must_use]
pub fn tokens(source: SourceId, text: &str) -> Vec<token::Token> {
    lexer::lex(source, text).tokens
}

#[cfg(test)]
mod tests;
