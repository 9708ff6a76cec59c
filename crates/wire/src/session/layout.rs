//! The ranges of a session's turns in its file.

use std::ops::Range;

use super::scan::Array;

/// The ranges of a session's turns.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The pieces (lines or elements, counted from 0) of each turn.
    pub(super) pieces: Vec<Vec<usize>>,
    pub(super) place: PieceKind,
}

/// The kind of pieces.
#[derive(Clone, Debug)]
pub(super) enum PieceKind {
    /// Lines of the file.
    Lines {
        /// The first lines of every written file.
        headers: Vec<usize>,
        /// Lines that are not turns but may stand between turns.
        asides: Vec<usize>,
    },
    /// Elements of arrays, counted through all of them.
    Elements {
        /// The JSON value that holds the arrays.
        record: Range<usize>,
        /// The arrays.
        arrays: Vec<Array>,
    },
}
