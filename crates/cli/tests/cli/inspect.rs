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

#[test]
fn the_window_at_a_turn() {
    let at = |more: &[&str]| {
        let mut command = vec!["inspect", "claude.jsonl", "--at", "9"];
        command.extend(more);
        let ran = ebbtide(&command);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        (ran.stdout, ran.stderr)
    };
    let line = "2 assistant call     droppable";
    assert!(at(&[]).0.contains(line));
    let (window, _) = at(&["--all-words"]);
    assert!(!window.contains(line) && window.contains("2 assistant call     required"));
    let (window, notes) = at(&["--fit", "120"]);
    assert!(window.contains("2 user      summary  required"), "{window}");
    assert!(notes.contains("(turn 2 stands for them)"), "{notes}");
    let (window, _) = at(&["--fit", "120", "--keep", "100"]);
    assert!(window.contains(line), "{window}");
}

#[test]
fn a_turn_that_is_not_there_is_told() {
    let late = ebbtide(&["inspect", "claude.jsonl", "--at", "600"]);
    assert_eq!(late.exit, 0, "{}", late.stderr);
    let told = "turns: this is the window at its end.\n";
    assert!(late.stderr.contains(told), "{}", late.stderr);
    let none = ebbtide(&["inspect", "claude.jsonl", "--at", "0"]);
    assert_eq!((none.exit, none.stdout.as_str()), (2, ""));
}

#[test]
fn its_pulses_and_how_its_agent_was() {
    let ran = ebbtide(&["inspect", "claude.jsonl", "--pulses"]);
    assert_eq!(ran.stdout.lines().count(), 3);
    let end = "the newest 3 steps did 3 different things; at 0 % of the window";
    assert!(ran.stderr.contains(end), "{}", ran.stderr);
}
