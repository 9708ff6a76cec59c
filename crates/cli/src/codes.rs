//! The error codes of all crates, for `docs/errors.md`.

use context::coded::{CodeEntry, ErrorCode};

/// Returns all entries, sorted by code.
pub fn all() -> Vec<CodeEntry> {
    let tables = [
        crate::failure::CODES,
        crate::command::connect::error::CODES,
        crate::command::doctor::CODES,
        wire::CODES,
        tokens::CODES,
        lab::CODES,
        context::CODES,
        history::CODES,
        conversation::CODES,
        model::CODES,
        gateway::CODES,
        driver::CODES,
        ebbtide::CODES,
    ];
    let mut entries: Vec<CodeEntry> = tables.concat();
    entries.sort_by_key(|entry| entry.code);
    entries
}

/// Returns the meaning of a code as one phrase, or the code itself if no table has it.
pub fn meaning(code: ErrorCode) -> &'static str {
    all()
        .into_iter()
        .find(|entry| entry.code == code)
        .map_or(code.as_str(), |entry| entry.meaning)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::all;

    /// Every `"E` and four digits in the Rust files of a folder.
    fn codes_in(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                codes_in(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let literals = text.split("\"E").skip(1);
                found.extend(literals.filter_map(|after| {
                    let (digits, rest) = after.split_at_checked(4)?;
                    let is_code = digits.bytes().all(|digit| digit.is_ascii_digit());
                    (is_code && rest.starts_with('"')).then(|| format!("E{digits}"))
                }));
            }
        }
    }

    #[test]
    fn every_code_in_the_sources_is_on_the_page_and_the_reverse() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut found = BTreeSet::new();
        for member in fs::read_dir(crates).unwrap() {
            codes_in(&member.unwrap().path().join("src"), &mut found);
        }
        let page = fs::read_to_string(crates.parent().unwrap().join("docs/errors.md")).unwrap();
        let listed = page.lines().filter_map(|line| line.strip_prefix("| E"));
        let listed: BTreeSet<String> = listed
            .filter_map(|row| row.get(..4))
            .map(|digits| format!("E{digits}"))
            .collect();
        let tables: BTreeSet<String> = all().iter().map(|entry| entry.code.to_string()).collect();
        assert_eq!(found, tables, "a code that no table has, or the reverse");
        assert_eq!(listed, tables, "run `cargo xtask docs`");
    }

    #[test]
    fn no_code_has_two_meanings() {
        let entries = all();
        for (one, two) in entries.iter().zip(entries.iter().skip(1)) {
            assert_ne!(one.code, two.code, "{} and {}", one.meaning, two.meaning);
        }
    }
}
