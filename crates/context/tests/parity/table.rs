//! The table in `PARITY.md` names every item, and every row that names no other place has its test.

use std::path::Path;

const TABLE: &str = include_str!("../../PARITY.md");
const TESTS: &str = concat!(
    include_str!("cw.rs"),
    include_str!("lm.rs"),
    include_str!("cp.rs"),
    include_str!("pv.rs"),
    include_str!("mdl.rs")
);

/// The rows of one section, as (number, remark).
fn rows(section: &str) -> Vec<(usize, &str)> {
    TABLE
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| ")?
                .strip_prefix(section)?
                .strip_prefix('-')
        })
        .filter_map(|rest| {
            let (number, remark) = rest.split_once(" | ")?;
            Some((number.trim().parse().ok()?, remark))
        })
        .collect()
}

fn check(section: &str, items: usize) {
    let rows = rows(section);
    let numbers: Vec<usize> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=items).collect::<Vec<_>>(), "{section}");
    for (number, remark) in rows {
        let name = format!("fn {}_{number}_", section.to_lowercase());
        let elsewhere = remark.contains("`src/") || remark.contains("`tests/laws");
        assert!(elsewhere || TESTS.contains(&name), "no test {name}");
        assert!(remark.starts_with("holds |") || remark.starts_with("better |"));
    }
}

/// A section without tests of its own: every item has a row, and every path in it exists.
fn check_elsewhere(section: &str, items: usize) {
    let rows = rows(section);
    let numbers: Vec<usize> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=items).collect::<Vec<_>>(), "{section}");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (number, remark) in rows {
        let (state, what) = remark.split_once(" | ").unwrap();
        let known = ["holds", "better", "replaced", "planned"].contains(&state);
        assert!(known, "{section}-{number}: {state}");
        for path in what.split('`').filter(|quoted| quoted.ends_with(".rs")) {
            let exists = here.join(path).exists() || here.join("../..").join(path).exists();
            assert!(exists, "{section}-{number}: no {path}");
        }
    }
}

#[test]
fn every_other_item_has_its_row() {
    let sections = [
        ("ST", 31),
        ("MP", 23),
        ("MS", 56),
        ("SC", 42),
        ("CI", 17),
        ("EN", 10),
        ("EC", 26),
        ("CS", 38),
    ];
    for (section, items) in sections {
        check_elsewhere(section, items);
    }
}

#[test]
fn every_item_of_the_window_has_its_row_and_test() {
    check("CW", 41);
}

#[test]
fn every_item_of_the_linearity_map_has_its_row_and_test() {
    check("LM", 38);
}

#[test]
fn every_item_of_the_projector_has_its_row_and_test() {
    check("CP", 28);
}

#[test]
fn every_item_of_vitality_has_its_row_and_test() {
    check("PV", 35);
}

#[test]
fn every_item_of_quality_has_its_row_and_test() {
    check("MDL", 25);
}
