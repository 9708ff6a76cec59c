//! Errors, their messages, and exit codes.

use std::io::Read;

use crate::{Ran, ebbtide, program, run};

fn check(arguments: &[&str], exit: i32, code: &str) -> Ran {
    let ran = ebbtide(arguments);
    assert_eq!(ran.exit, exit, "{arguments:?}: {}", ran.stderr);
    assert_eq!(ran.stdout, "", "{arguments:?}: standard output is for data");
    assert!(ran.stderr.contains(code), "{arguments:?}: {}", ran.stderr);
    ran
}

#[test]
fn an_error_has_a_code_a_place_and_a_hint() {
    insta::assert_snapshot!(check(&["inspect", "mixed/package.json"], 2, "E0121").shown());
    insta::assert_snapshot!(check(&["inspect", "gone.jsonl"], 1, "E0001").shown());
}

#[test]
fn each_kind_of_bad_input() {
    check(&["inspect", "mixed"], 2, "error[E0004]: mixed is a folder");
    check(&["inspect", "mixed/empty.jsonl"], 2, "error[E0003]");
    check(&["inspect", "mixed/notes.txt"], 2, "error[E0121]");
    check(&["replay", "gone.jsonl"], 1, "error[E0001]");
    check(&["replay", "../cli"], 2, "error[E0005]");
    check(
        &["inspect", "claude.jsonl", "--session", "2"],
        2,
        "error[E0007]",
    );
    check(
        &["replay", "claude.jsonl", "--strategy", "lru"],
        2,
        "error[E0303]",
    );
    check(
        &["replay", "claude.jsonl", "--window", "12"],
        2,
        "error[E0301]",
    );
    check(
        &["replay", "claude.jsonl", "--models", "messages.json"],
        2,
        "error[E02",
    );
    check(
        &["replay", "claude.jsonl", "--model", "no-such-model"],
        2,
        "error[E0302]",
    );
    check(&["demo", "--dir", "mixed"], 2, "error[E0009]");
    check(&["demo", "--dir", "gone"], 1, "error[E0001]");
    let empty = tempfile::tempdir().expect("a folder");
    let folder = empty.path().to_str().expect("UTF-8");
    let ran = check(&["demo", "--dir", folder], 2, "error[E0009]");
    assert!(ran.stderr.starts_with("error["), "{}", ran.stderr);
    check(
        &["recall", "3058d555", " "],
        2,
        "expected at least one word",
    );
    check(
        &["replay", "claude.jsonl", "--window", "64kb"],
        2,
        "expected a size",
    );
}

#[test]
fn the_demo_says_what_it_cannot_do_before_it_begins() {
    let ran = check(&["demo", "--model", "gpt-5.2"], 2, "error[E0026]");
    assert!(
        ran.stderr.contains("the demo has no model `gpt-5.2`"),
        "{}",
        ran.stderr
    );
    let ran = check(&["demo", "--window", "2k"], 2, "error[E0026]");
    assert!(
        ran.stderr.contains("Use `--window 20k` or more"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_wrong_name_gets_a_suggestion() {
    let ran = check(&["serve", "--strategy", "preparde"], 2, "error[E0814]");
    let hint = "hint: Did you mean `prepared`? Shipped: prepared, stop_the_world, ";
    assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    let ran = ebbtide(&["inspect", "claude.jsonl", "--model", "gtp-4o"]);
    assert_eq!(ran.exit, 0);
    let warning = "warning: no model `gtp-4o` in the model table; did you mean `gpt-4o`?";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    for command in ["inspect", "compact"] {
        let ran = ebbtide(&[command, "claude.jsonl", "--model", "nosuchmodel"]);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        let warning = "warning: no model `nosuchmodel` in the model table. Its tokenizer is unknown, so tokens are \
                       estimated with a margin.\n";
        assert!(ran.stderr.starts_with(warning), "{}", ran.stderr);
    }
    let dated = [
        "inspect",
        "claude.jsonl",
        "--model",
        "claude-sonnet-4-5-20250929",
    ];
    assert_eq!(ebbtide(&dated).stderr, "");
}

#[test]
fn skipped_files_are_named() {
    for measure in ["regret", "receipt"] {
        let ran = ebbtide(&["bench", measure, "mixed"]);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        let skipped = "skipped: mixed/empty.jsonl is empty (E0003)\n\
                       skipped: mixed/package.json: the file is in no known transcript format (E0121)\n";
        assert_eq!(ran.stderr, skipped);
    }
}

#[test]
fn an_address_of_another_machine_is_told_as_such() {
    // From a block that is set aside for documents.
    let ran = check(
        &["serve", "--listen", "203.0.113.7:4000", "--store", "memory"],
        1,
        "error[E0012]",
    );
    let hint = "hint: No network interface of this machine has the address 203.0.113.7.";
    assert!(ran.stderr.contains(hint), "{}", ran.stderr);
}

#[test]
fn text_that_is_not_utf8_is_no_session_and_no_panic() {
    let ran = run(program(&["inspect", "-"]), b"\xff\xfe{\x00\"a\"");
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error[E01"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    // The zsh script is longer than a pipe holds, so that the program notices.
    let mut child = program(&["completions", "zsh"]).spawn().expect("starts");
    drop(child.stdout.take());
    let exit = child.wait().expect("ends");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut said).expect("UTF-8");
    assert_eq!((exit.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn colours_are_for_terminals() {
    let ran = ebbtide(&["inspect", "claude.jsonl"]);
    assert!(!ran.stdout.contains('\u{1b}'));
    assert!(
        !check(&["inspect", "gone"], 1, "E0001")
            .stderr
            .contains('\u{1b}')
    );
}
