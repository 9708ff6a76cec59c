//! `ebbtide replay` without arguments lists the sessions on this computer.

use std::fs;

use crate::{data, ebbtide, program, run};

#[test]
fn nothing_found_says_what_to_do() {
    insta::assert_snapshot!(ebbtide(&["replay"]).shown());
}

#[test]
fn sessions_in_the_usual_places() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let place = home.path().join(".claude/projects/-src-project");
    fs::create_dir_all(&place).expect("a folder");
    fs::copy(data().join("claude.jsonl"), place.join("it's one.jsonl")).expect("a copy");
    let mut listing = program(&["replay"]);
    listing.env("HOME", home.path());
    let shown = run(listing, b"").shown();
    let shown = shown.replace(&home.path().display().to_string(), "HOME");
    insta::assert_snapshot!(shown);
    let mut listing = program(&["replay", "--json"]);
    listing.env("HOME", home.path());
    let found: serde_json::Value = serde_json::from_str(&run(listing, b"").stdout).expect("JSON");
    assert_eq!(found["sessions"][0]["product"], "Claude Code");
    assert!(found["sessions"][0]["estimated_tokens"].as_u64() > Some(100));
}
