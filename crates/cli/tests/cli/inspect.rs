//! `ebbtide inspect`.

use crate::{data, ebbtide, program, run};

#[test]
fn a_session_with_everything_in_it() {
    insta::assert_snapshot!(ebbtide(&["inspect", "claude.jsonl"]).shown());
}

#[test]
fn its_problems_with_their_lines() {
    insta::assert_snapshot!(ebbtide(&["inspect", "claude.jsonl", "--problems"]).shown());
}

#[test]
fn standard_input_as_json() {
    let messages = std::fs::read(data().join("messages.json")).expect("the file");
    let ran = run(program(&["inspect", "-", "--json"]), &messages);
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn it_fits_a_narrow_terminal() {
    let mut narrow = program(&["inspect", "claude.jsonl"]);
    narrow.env("COLUMNS", "60");
    let shown = run(narrow, b"").stdout;
    let widest = shown.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(60), "{shown}");
}
