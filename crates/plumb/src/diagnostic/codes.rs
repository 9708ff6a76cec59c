//! All codes of the language in one place.

use super::{Code, CodeEntry};

/// The tables of all parts, by their ranges.
pub const TABLES: &[&[CodeEntry]] = &[
    crate::syntax::codes::CODES,
    crate::check::codes::CODES,
    crate::session::codes::CODES,
    crate::machine::CODES,
];

/// Every code with its meaning and its remedy, in the order of their numbers.
#[must_use]
pub fn all() -> Vec<CodeEntry> {
    let mut all: Vec<CodeEntry> = TABLES.iter().copied().flatten().copied().collect();
    all.sort_by_key(|entry| entry.code);
    all
}

/// Looks up the meaning and the remedy of a code.
#[must_use]
pub fn explain(code: Code) -> Option<CodeEntry> {
    let mut entries = TABLES.iter().copied().flatten();
    entries.find(|entry| entry.code == code).copied()
}
