//! The canonical form of a program.
//!
//! Lines of at most [`WIDTH`] columns if that is possible; what does not fit on a line is broken from the
//! outside in, and what fits is joined. The same tree always gives the same text, up to comments and single
//! empty lines between declarations and statements, which stay.

mod comments;
mod declarations;
mod expressions;
mod layout;
mod lists;
mod protocols;
mod types;
mod wires;

use super::ast::{Comment, Expr, Program, Type, Wire};
use layout::Doc;

/// The maximum width of a line, in columns.
pub const WIDTH: usize = 100;

/// The canonical text of a program that was read from `text` without a mistake. A program that was not
/// read but made has no comments and the text `""`.
///
/// It reads as the same tree, and its own canonical text is itself.
#[must_use]
pub fn format(program: &Program, text: &str) -> String {
    Writer::new(text, &program.comments).program(program)
}

/// An expression in canonical form, on one line, without its comments.
#[must_use]
pub fn expression_text(expression: &Expr) -> String {
    one_line(|writer| writer.expression(expression))
}

/// A type in canonical form, on one line, without its comments.
#[must_use]
pub fn type_text(kind: &Type) -> String {
    one_line(|writer| writer.type_of(kind))
}

/// A wire in canonical form, on one line, without its comments.
#[must_use]
pub fn wire_text(wire: &Wire) -> String {
    one_line(|writer| writer.wire(wire))
}

fn one_line(write: impl FnOnce(&mut Writer<'_>) -> Doc) -> String {
    write(&mut Writer::new("", &[])).group().lay_out(usize::MAX)
}

/// Converts syntax trees to layout documents.
struct Writer<'a> {
    /// The source text, for its comments and line breaks; empty if there is none.
    text: &'a str,
    comments: &'a [Comment],
    /// The first comment that has not been taken.
    next: usize,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, comments: &'a [Comment]) -> Self {
        Self {
            text,
            comments,
            next: 0,
        }
    }
}
