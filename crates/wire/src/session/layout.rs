//! Where the turns of a session stand in the bytes of its file.

use std::ops::Range;

use super::scan::Array;

/// Where the turns of a session stand.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// For each turn, the pieces (lines or elements, counted from 0) that it stands in.
    pub(super) pieces: Vec<Vec<usize>>,
    pub(super) place: Place,
}

/// What the pieces are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Lines of the file.
    Lines {
        /// Lines that a written file begins with.
        headers: Vec<usize>,
        /// Lines that are no turns but may stand between turns.
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
