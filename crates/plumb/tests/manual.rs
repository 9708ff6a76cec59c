//! The reference under `docs/plumb` says what is so, and shows every code; programs in other pages check.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use plumb::diagnostic::{Code, codes};
use plumb::literate;
use plumb::modules::BuiltIn;

/// Codes that no page can show: sources of 4 GiB, literals of 64 MiB, graphs that were made by hand.
const NOT_SHOWN: &[&str] = &["P0118", "P0410", "P0814"];

/// The folder of the reference.
const REFERENCE: &str = "../../docs/plumb";

/// The pages of a folder with their names, in order.
fn pages(folder: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut pages: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

#[test]
fn the_reference_says_what_is_so_and_shows_every_code() {
    let mut codes_shown: BTreeSet<Code> = BTreeSet::new();
    let mut programs = 0;
    let mut wrong = String::new();
    for (name, text) in pages(REFERENCE) {
        let tested = literate::test(&text, &BuiltIn);
        for mismatch in &tested.mismatches {
            wrong += &format!("{name}, {mismatch}");
        }
        codes_shown.extend(tested.codes);
        programs += tested.programs;
    }
    assert!(
        wrong.is_empty(),
        "{wrong}\nebbtide plumb test --update docs/plumb"
    );
    assert!(programs > 50, "only {programs} programs");
    let all = codes::all().into_iter().map(|entry| entry.code);
    let missing: Vec<&str> = all
        .filter(|code| !codes_shown.contains(code))
        .map(|code| code.0)
        .collect();
    assert_eq!(missing, NOT_SHOWN, "codes that no page shows");
}

#[test]
fn programs_in_other_pages_check() {
    let mut programs = 0;
    for (name, text) in pages("../../docs") {
        let tested = literate::test(&text, &BuiltIn);
        assert_eq!(tested.mismatches, [], "{name}");
        programs += tested.programs;
    }
    assert!(programs > 0);
}

#[test]
fn there_is_a_chapter_for_each_section_and_the_contents_name_it() {
    let pages = pages(REFERENCE);
    let (_, contents) = pages.iter().find(|(name, _)| name == "README.md").unwrap();
    for (name, text) in &pages {
        let number = name.split('-').next().unwrap();
        if number.parse::<u32>().is_ok() {
            assert!(text.starts_with(&format!("# {number}. ")), "{name}");
            assert!(contents.contains(&format!("]({name})")), "{name}");
        }
    }
}
