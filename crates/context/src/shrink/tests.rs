//! Tests of shortened results.

use proptest::prelude::*;

use super::{ContentClass, Limits, Recovery, Shrunk, is_shrunk};
use crate::counter::{Heuristic, TokenCounter};
use crate::turn::{CallId, Outcome, ToolCall, ToolResult};
use crate::units::Tokens;

fn result(text: &str) -> ToolResult {
    ToolResult {
        call: CallId::from("toolu_1"),
        text: text.into(),
        outcome: Outcome::Succeeded,
    }
}

fn call(arguments: &str) -> ToolCall {
    ToolCall {
        id: CallId::from("toolu_1"),
        name: "Bash".into(),
        arguments: arguments.into(),
    }
}

/// The result for a model that has the whole by `expand`.
fn shrink(
    result: &ToolResult,
    call: Option<&ToolCall>,
    limits: &Limits,
    counter: &dyn TokenCounter,
) -> Option<Shrunk> {
    let recovery = Recovery::Expand(result.call.as_str());
    super::shrink(result, call, limits, counter, recovery)
}

fn shrunk(text: &str, max: u64) -> Shrunk {
    shrink(
        &result(text),
        Some(&call(r#"{"command":"make \"all\""}"#)),
        &Limits::new(Tokens::new(max)),
        &Heuristic,
    )
    .expect("an oversized text is shortened")
}

/// Shortens `text` and checks the class, the laws, and that every line of `kept` is there.
fn check(text: &str, max: u64, class: ContentClass, kept: &[&str]) -> String {
    let shrunk = shrunk(text, max);
    assert_eq!(shrunk.class, class);
    laws(text, max, &shrunk);
    for line in kept {
        assert!(
            shrunk.text.contains(line),
            "{line:?} is missing in:\n{}",
            &*shrunk.text
        );
    }
    shrunk.text.to_string()
}

fn laws(text: &str, max: u64, shrunk: &Shrunk) {
    let max = max.max(Limits::MIN);
    assert!(shrunk.after.get() <= max, "{} of {max}", shrunk.after);
    assert!(shrunk.after < shrunk.before);
    assert_eq!(Heuristic.count(&shrunk.text), shrunk.after);
    assert_eq!(Heuristic.count(text), shrunk.before);
    let again = result(&shrunk.text);
    assert!(is_shrunk(&again));
    for smaller in [max, max / 2] {
        let limits = Limits::new(Tokens::new(smaller));
        assert_eq!(shrink(&again, None, &limits, &Heuristic), None);
    }
}

#[test]
fn what_fits_is_left_alone() {
    let limits = Limits::default();
    assert_eq!(shrink(&result("short"), None, &limits, &Heuristic), None);
    let fits = "word ".repeat(3_000);
    assert_eq!(shrink(&result(&fits), None, &limits, &Heuristic), None);
}

#[test]
fn the_marker_names_only_what_the_model_can_do() {
    let original = result(&"line of text\n".repeat(5_000));
    let long = call(&"x".repeat(1_000));
    let marker = |call, recovery| {
        let limits = Limits::new(Tokens::new(500));
        let shrunk = super::shrink(&original, call, &limits, &Heuristic, recovery).unwrap();
        let line = shrunk.text.lines().next().unwrap().to_owned();
        line.split_once("for the whole ").unwrap().1.to_owned()
    };
    assert_eq!(
        marker(None, Recovery::CallAgain),
        "run the same call again]"
    );
    assert_eq!(
        marker(Some(&long), Recovery::CallAgain),
        "run the same call again]"
    );
    assert_eq!(
        marker(Some(&long), Recovery::Expand("t1")),
        r#"use expand with the id "t1"]"#
    );
}

#[test]
fn the_marker_says_how_to_get_the_whole() {
    let text = "line of text\n".repeat(5_000);
    let shortened = shrunk(&text, 500);
    let marker = shortened.text.lines().next().unwrap();
    let shown = Heuristic.count(shortened.text.split_once('\n').unwrap().1);
    assert!(marker.contains(&format!("about {shown} of")));
    let marker = &marker.replace(&format!("about {shown} of"), "about N of");
    insta::assert_snapshot!(marker, @r#"[shortened tool result "toolu_1": about N of 16,250 tokens are shown; for the whole use expand with the id "toolu_1", or run the same call again: {"name":"Bash","arguments":{"command":"make \"all\""}}]"#);
    let json = marker.split_once("again: ").unwrap().1;
    let parsed: serde_json::Value =
        serde_json::from_str(json.strip_suffix(']').unwrap()).expect("valid JSON");
    assert_eq!(parsed["arguments"]["command"], "make \"all\"");
}

#[test]
fn a_quoted_marker_is_not_taken_for_ours() {
    let forged = format!(
        "[shortened tool result \"other\": about 1 of 2 tokens are shown]\n{}",
        "x y\n".repeat(5_000)
    );
    assert!(!is_shrunk(&result(&forged)));
    laws(&forged, 300, &shrunk(&forged, 300));
}

#[test]
fn logs_keep_verdicts_errors_and_one_of_many_equal_warnings() {
    let mut log = String::from("running 2000 tests\n");
    for test in 0..2_000 {
        log.push_str(&format!("test module::case_{test} ... ok\n"));
        log.push_str(&format!("warning: slow test number {test}\n"));
        if test == 777 {
            log.push_str("test module::the_bad_one ... FAILED\n");
            log.push_str("thread 'x' panicked at src/lib.rs:42:5:\n  left: 1\n right: 2\n");
        }
    }
    log.push_str("\ntest result: FAILED. 1999 passed; 1 failed; 0 ignored\n");
    let kept = [
        "the_bad_one ... FAILED",
        "panicked at src/lib.rs:42:5",
        "right: 2",
        "test result: FAILED",
        "running 2000 tests",
        "warning: slow",
    ];
    check(&log, 600, ContentClass::Log, &kept);
}

#[test]
fn searches_keep_one_match_per_file_and_count_the_others() {
    let mut matches = String::new();
    for file in 0..20 {
        for line in 1..=50 {
            matches.push_str(&format!(
                "src/part_{file}.rs:{line}:    let value = compute({line});\n"
            ));
        }
    }
    let text = check(
        &matches,
        900,
        ContentClass::Grep,
        &["src/part_0.rs:1:", "src/part_19.rs:1:"],
    );
    assert!(text.contains("more in src/part_7.rs …]"));
}

#[test]
fn diffs_keep_every_file_and_hunk() {
    let mut diff = String::new();
    for file in 0..8 {
        diff.push_str(&format!(
            "diff --git a/f{file}.rs b/f{file}.rs\n--- a/f{file}.rs\n+++ b/f{file}.rs\n@@ -{file},80 +{file},81 @@\n"
        ));
        for line in 0..80 {
            diff.push_str(&format!(" context {line} of an unchanged part\n"));
        }
        diff.push_str(&format!("-    old_{file}();\n+    new_{file}();\n"));
    }
    let kept = [
        "diff --git a/f7.rs",
        "@@ -7,80",
        "-    old_3();",
        "+    new_7();",
    ];
    check(&diff, 800, ContentClass::Diff, &kept);
}

#[test]
fn json_keeps_its_structure_ids_and_errors() {
    let items: Vec<String> = (0..500)
        .map(|item| {
            let error = if item == 321 {
                r#","error":"quota exceeded""#
            } else {
                ""
            };
            format!(
                r#"{{"id":{item},"name":"item {item}","body":"{}"{error}}}"#,
                "lorem ipsum ".repeat(20)
            )
        })
        .collect();
    let json = format!(r#"{{"total":500,"items":[{}]}}"#, items.join(","));
    let kept = [
        "\"total\": 500",
        "\"id\": 0",
        "of 500 items",
        "quota exceeded",
    ];
    check(&json, 700, ContentClass::Json, &kept);
}

#[test]
fn code_keeps_definitions() {
    let mut code = String::from("     1→//! A module.\n     2→use std::fmt;\n");
    for function in 0..40 {
        let base = 3 + function * 22;
        code.push_str(&format!(
            "{base:6}→pub fn function_{function}(a: u32) -> u32 {{\n"
        ));
        for line in 1..21 {
            code.push_str(&format!("{:6}→    total += a * {line};\n", base + line));
        }
        code.push_str(&format!("{:6}→}}\n", base + 21));
    }
    let kept = [
        "A module.",
        "pub fn function_0(",
        "pub fn function_25(",
        "pub fn function_39(",
    ];
    check(&code, 1_500, ContentClass::Code, &kept);
}

#[test]
fn plain_text_keeps_headings_and_both_ends() {
    let mut text = String::from("# Title\nFirst words.\n");
    for section in 0..30 {
        text.push_str(&format!("\n## Section {section}\n\n"));
        text.push_str(&"Some sentences that go on and on without saying much.\n".repeat(20));
    }
    text.push_str("Last words.\n");
    let kept = ["# Title", "First words.", "## Section 17", "Last words."];
    check(&text, 900, ContentClass::Plain, &kept);
}

#[test]
fn one_endless_line_of_any_script_is_cut_between_characters() {
    for unit in [
        "a",
        "語",
        "👩‍👩‍👧",
        "\u{1b}[31mred\u{1b}[0m ",
        "é̂",
        "\u{0}",
        "[",
        "{\"a\":",
    ] {
        let text = unit.repeat(200_000 / unit.len());
        laws(&text, 400, &shrunk(&text, 400));
    }
    let megabytes = "x".repeat(5_000_000);
    let shortened = shrunk(&megabytes, 400);
    laws(&megabytes, 400, &shortened);
    assert!(
        shortened.after.get() > 200,
        "the budget is used: {}",
        shortened.after
    );
}

#[test]
fn a_call_with_huge_or_free_arguments() {
    let text = "line\n".repeat(5_000);
    let limits = Limits::new(Tokens::new(300));
    for arguments in [
        "x".repeat(100_000),
        "*** Begin Patch\n\"quoted\"".to_owned(),
    ] {
        let shrunk = shrink(&result(&text), Some(&call(&arguments)), &limits, &Heuristic).unwrap();
        laws(&text, 300, &shrunk);
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "\\PC{0,80}",
        "[a-z_/]{1,12}\\.rs:[0-9]{1,4}:\\PC{0,40}",
        Just("FAILED tests/test_a.py::test_b - assert 0".to_owned()),
        Just("\u{1b}[31mE   ValueError: x\u{1b}[0m".to_owned()),
        "[{}\\[\\],:\"a-z0-9 ]{0,60}",
        Just("@@ -1,2 +1,2 @@".to_owned()),
        "(.|\\r){0,30}",
    ];
    (prop::collection::vec(line, 1..60), 1_usize..8)
        .prop_map(|(lines, times)| lines.join("\n").repeat(times))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn never_grows_never_exceeds_and_is_idempotent(text in any_text(), max in 0_u64..900) {
        let limits = Limits::new(Tokens::new(max));
        let input = result(&text);
        let once = shrink(&input, None, &limits, &Heuristic);
        prop_assert_eq!(&once, &shrink(&input, None, &limits, &Heuristic));
        match once {
            Some(shrunk) => laws(&text, max, &shrunk),
            None => prop_assert!(Heuristic.count(&text) <= limits.max()),
        }
    }
}
