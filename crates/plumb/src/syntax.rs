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

/// The name of a field as a program writes it: in quotes if it is no word that starts with a small letter.
#[must_use]
pub(crate) fn field_text(name: &str) -> String {
    let small = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.starts_with(small) && name.chars().all(inside) {
        name.to_owned()
    } else {
        crate::value::quoted(name)
    }
}

/// The tokens of a text; the last one is its end. Characters outside the language are passed over.
#[must_use]
pub fn tokens(source: SourceId, text: &str) -> Vec<token::Token> {
    lexer::lex(source, text).tokens
}

/// The comments of a text, in order.
pub(crate) fn comments(source: SourceId, text: &str) -> Vec<ast::Comment> {
    lexer::lex(source, text).comments
}

#[cfg(test)]
mod tests;
