//! `#pin` and `#unpin` lines in what a user typed.

use std::fmt;

use crate::spoken;
use crate::text::Text;
use crate::turn::Turn;

/// A directive in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `#pin TEXT`: keep this text in view.
    Pin(Text),
    /// `#unpin ID` or `#unpin TEXT`: let it go.
    Unpin(Text),
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pin(text) => write!(f, "#pin {text}"),
            Self::Unpin(text) => write!(f, "#unpin {text}"),
        }
    }
}

/// The directives in the lines that the user certainly typed, in order: none in other people's turns, in
/// code fences, in quoted lines, and below an open tag. A directive without a text is none.
#[must_use]
pub fn directives(turn: &Turn) -> Vec<Directive> {
    spoken::certain_lines(turn).filter_map(directive).collect()
}

fn directive(line: &str) -> Option<Directive> {
    let (word, rest) = line.split_once(char::is_whitespace)?;
    let text = rest.trim();
    if text.is_empty() {
        return None;
    }
    match word {
        "#pin" => Some(Directive::Pin(text.into())),
        "#unpin" => Some(Directive::Unpin(text.into())),
        _ => None,
    }
}
