//! `ebbtide replay` and `ebbtide demo`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Ran, data, ebbtide, program, run};

/// A folder with enough text for the demo.
fn sources() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in 0..30 {
        let below = folder.path().join(format!("part{}", file / 5));
        fs::create_dir_all(&below).expect("a folder");
        let functions = (0..45).map(|number| {
            format!(
                "/// Adds {number} to what it is given, for the part of it that file {file} owns.\n\
                 pub fn add_{file}_{number}(given: u32) -> u32 {{\n    given + {number}\n}}\n\n"
            )
        });
        fs::write(
            below.join(format!("file{file}.rs")),
            functions.collect::<String>(),
        )
        .expect("a file");
    }
    folder
}

fn demo(folder: &Path, more: &[&str]) -> Ran {
    let folder = folder.display().to_string();
    let ran = ebbtide(&[&["demo", "--dir", &folder], more].concat());
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    ran
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// One strategy's outcome in the first comparison.
fn outcome<'a>(report: &'a Value, strategy: &str) -> &'a Value {
    let outcomes = report["comparisons"][0]["strategies"].as_array();
    outcomes
        .expect("outcomes")
        .iter()
        .find(|outcome| outcome["strategy"] == strategy)
        .expect("the strategy")
}

#[test]
fn the_demo_fills_its_window_and_prepared_never_waits() {
    let folder = sources();
    let ran = demo(folder.path(), &["--json"]);
    let report = json(&ran);
    assert_eq!(report["schema"], "ebbtide.report/1");
    let prepared = outcome(&report, "prepared");
    assert!(prepared["boundaries"].as_u64() >= Some(3), "{prepared}");
    assert_eq!(prepared["simulated"]["stalls"]["count"], 0);
    assert_eq!(prepared["overflows"]["requests"], 0);
    assert_eq!(prepared["pins"]["requests"], prepared["pins"]["intact"]);
    let stopped = outcome(&report, "stop_the_world");
    assert!(stopped["simulated"]["stalls"]["count"].as_u64() >= Some(3));
    assert_eq!(
        ran.stdout,
        demo(folder.path(), &["--json"]).stdout,
        "always the same"
    );
}

#[test]
fn the_demo_reads_well_on_narrow_terminals() {
    let folder = sources();
    let path = folder.path().display().to_string();
    for width in [80, 60] {
        let mut narrow = program(&["demo", "--dir", &path]);
        narrow.env("COLUMNS", width.to_string());
        let shown = run(narrow, b"").stdout;
        let too_wide = shown.lines().find(|line| line.chars().count() > width);
        assert_eq!(too_wide, None);
        for needed in [
            "prepared",
            "stop_the_world",
            "keep_last_20",
            "simulated",
            "Recall:",
        ] {
            assert!(shown.contains(needed), "{needed} at {width} columns");
        }
    }
}

#[test]
fn a_saved_demo_is_replayed_like_any_session() {
    let folder = sources();
    let saved = folder.path().join("demo.jsonl").display().to_string();
    let page = folder.path().join("report.html").display().to_string();
    demo(folder.path(), &["--save", &saved]);
    let strategies = ["--strategy", "truncate, prepared", "--window", "32k"];
    let ran = ebbtide(&[&["replay", &saved, "--html", &page], &strategies[..]].concat());
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let rows: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split("  ").next())
        .filter(|name| ["truncate", "prepared", "stop_the_world"].contains(name))
        .collect();
    assert_eq!(rows, ["truncate", "prepared", "truncate", "prepared"]);
    let page = fs::read_to_string(page).expect("the page");
    assert_eq!(page.matches("<figure>").count(), 2);
    let piped = fs::read(&saved).expect("the session");
    let ran = run(
        program(&["replay", "-", "--window", "32k", "--json"]),
        &piped,
    );
    assert_eq!(
        json(&ran)["comparisons"][0]["session"]["title"],
        "standard input"
    );
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
