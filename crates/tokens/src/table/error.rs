//! The errors of a model table, with their places.

use std::fmt;
use std::ops::Range;

use context::coded::{self, Coded, ErrorCode};
use thiserror::Error;

/// A place in a text, both numbers counted from 1; the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The position of the start of a range of bytes.
    pub(super) fn of(text: &str, span: &Range<usize>) -> Self {
        let before = text
            .get(..text.floor_char_boundary(span.start))
            .unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before
            .chars()
            .rev()
            .take_while(|&last| last != '\n')
            .count()
            + 1;
        Self { line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a model table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The text is not TOML, or not `[[model]]` entries.
    #[error("{at}: {message}")]
    Syntax {
        /// The place of the error.
        at: Position,
        /// The parser's message.
        message: String,
    },
    /// An entry has a key that does not exist.
    #[error("{at}: there is no key `{key}` in a model")]
    UnknownKey {
        /// The place of the error.
        at: Position,
        /// The key.
        key: String,
    },
    /// A value has another type or range than its key needs.
    #[error("{at}: `{key}` must be {expected}")]
    BadValue {
        /// The place of the error.
        at: Position,
        /// The key.
        key: String,
        /// The expected value.
        expected: String,
    },
    /// An entry has no `name`.
    #[error("{at}: a model needs a `name`")]
    Nameless {
        /// The place where the entry begins.
        at: Position,
    },
    /// `like` names a model that is not above the entry.
    #[error("{at}: no model `{name}` above this entry")]
    UnknownModel {
        /// The place of the error.
        at: Position,
        /// The name.
        name: String,
    },
    /// Two entries of one text have the same name.
    #[error("{at}: the model `{name}` is defined twice")]
    Duplicate {
        /// The place of the second one.
        at: Position,
        /// The name.
        name: String,
    },
}

context::error_codes! {
    /// The codes of this crate.
    pub CODES:
    SYNTAX = "E0201", "a model table is not TOML, or has something other than models at its top",
        "Write each model as a [[model]] entry.";
    UNKNOWN_KEY = "E0202", "a model has a key that does not exist",
        "Compare the key with those listed at the head of the shipped models.toml.";
    BAD_VALUE = "E0203", "a value in a model table has the wrong type or range",
        "Write what the message asks for: prices and factors as numbers from 0 on, sizes as whole numbers of tokens.";
    NAMELESS = "E0204", "a model in a model table has no name",
        "Add a `name` to the entry.";
    UNKNOWN_MODEL = "E0205", "`like` names a model that is not above the entry",
        "Name a shipped model, or move the entry below the one it starts from.";
    DUPLICATE = "E0206", "two models of one table have the same name",
        "Keep one of the two entries.";
}

impl Coded for TableError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Syntax { .. } => SYNTAX,
            Self::UnknownKey { .. } => UNKNOWN_KEY,
            Self::BadValue { .. } => BAD_VALUE,
            Self::Nameless { .. } => NAMELESS,
            Self::UnknownModel { .. } => UNKNOWN_MODEL,
            Self::Duplicate { .. } => DUPLICATE,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn positions_count_characters() {
        let at = |start| Position::of("añb\nc", &(start..start)).to_string();
        assert_eq!(at(0), "line 1, column 1");
        assert_eq!(at(3), "line 1, column 3");
        assert_eq!(at(5), "line 2, column 1");
        assert_eq!(at(99), "line 2, column 2");
    }
}
