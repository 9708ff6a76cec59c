//! The error codes of all crates.

use context::coded::{CodeEntry, ErrorCode};

/// Every crate's table, in the order of the codes.
#[must_use]
pub fn all() -> Vec<CodeEntry> {
    let tables = [
        crate::failure::CODES,
        wire::api::CODES,
        wire::session::CODES,
        tokens::CODES,
        lab::CODES,
        context::archive::CODES,
        context::linearity::CODES,
        context::pin::CODES,
        context::projector::CODES,
        context::summary::CODES,
        context::window::CODES,
        history::CODES,
    ];
    let mut entries: Vec<CodeEntry> = tables.concat();
    entries.sort_by_key(|entry| entry.code);
    entries
}

/// What a code means, as one phrase; the code itself where no table has it.
#[must_use]
pub fn meaning(code: ErrorCode) -> &'static str {
    all()
        .into_iter()
        .find(|entry| entry.code == code)
        .map_or(code.as_str(), |entry| entry.meaning)
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn no_code_has_two_meanings() {
        let entries = all();
        for (one, two) in entries.iter().zip(entries.iter().skip(1)) {
            assert_ne!(one.code, two.code, "{} and {}", one.meaning, two.meaning);
        }
    }
}
