//! `ebbtide replay`.

use std::fs;

use serde_json::Value;

use crate::{Ran, data, ebbtide};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn a_folder_of_all_sorts_is_replayed_in_part() {
    let ran = ebbtide(&["replay", "mixed", "--window", "2k"]);
    insta::assert_snapshot!(ran.shown());
    let report = json(&ebbtide(&["replay", "mixed", "--json"]));
    assert_eq!(report["comparisons"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["skipped"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["totals"][0]["sessions"], 2);
}

#[test]
fn a_folder_without_a_usable_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::copy(
        data().join("mixed/package.json"),
        folder.path().join("a.json"),
    )
    .expect("a copy");
    fs::copy(
        data().join("mixed/empty.jsonl"),
        folder.path().join("b.jsonl"),
    )
    .expect("a copy");
    let ran = ebbtide(&["replay", &folder.path().display().to_string()]);
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("a.json") && ran.stderr.contains("error[E0006]"));
}

#[test]
fn recall_at_equal_size_is_in_the_report_and_in_the_table() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let filler = "the parser reads the next line and looks at it. ".repeat(40);
    let mut said = vec![serde_json::json!({ "role": "user",
        "content": "Look at src/parser/lexer_state.rs, it fails on port 48213." })];
    for number in 0..160 {
        let role = if number % 2 == 0 { "assistant" } else { "user" };
        said.push(serde_json::json!({ "role": role, "content": filler }));
    }
    said.push(serde_json::json!({ "role": "assistant",
        "content": "So src/parser/lexer_state.rs binds 48213 twice." }));
    let path = folder.path().join("long.json");
    fs::write(&path, serde_json::to_vec(&said).expect("JSON")).expect("written");
    let path = path.display().to_string();
    let report = json(&ebbtide(&["replay", &path, "--json"]));
    let recall = &report["comparisons"][0]["recall"];
    assert_eq!(recall["absent"], serde_json::Value::Null);
    assert_eq!(recall["rows"].as_array().map(Vec::len), Some(6));
    let pooled = &report["recall_totals"][0];
    assert_eq!(
        (&pooled["place"], &pooled["way"]),
        (&"fixed".into(), &"extractive".into())
    );
    assert_eq!(
        (&pooled["needed"], &pooled["named_share"]),
        (&2.into(), &1.0.into())
    );
    let text = ebbtide(&["replay", &path]);
    assert!(
        text.stdout.contains("extractive        100 %"),
        "{}",
        text.stdout
    );
}
