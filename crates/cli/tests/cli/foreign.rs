//! Text of a conversation never controls the terminal of the person who reads it.

use std::fs;

use serde_json::json;

use crate::{program, run};

/// Sets the clipboard and the title, clears the screen in two ways, and turns the direction.
const HOSTILE: &str = "\u{1b}]52;c;AA\u{7}\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}2J\u{202e}src/evil.rs";

#[track_caller]
fn check(printed: &str, shows: &str) {
    let obeyed = |it: &char| (it.is_control() && *it != '\n') || *it == '\u{202e}';
    assert_eq!(printed.chars().find(obeyed), None, "{printed:?}");
    assert!(printed.contains(shows), "{printed}");
}

/// A chat in which the user, a tool's name, its result and an unknown block hold such text.
fn chat() -> String {
    let long = format!(
        "{HOSTILE} is the file that I mean. {}",
        "Look at it well. ".repeat(60)
    );
    let mut messages = vec![
        json!({"role": "user", "content": long}),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": format!("ls{HOSTILE}"), "arguments": "{}"}}
        ]}),
        json!({"role": "tool", "tool_call_id": "c", "content": long}),
        json!({"role": "assistant", "content": [{"type": HOSTILE, "x": 1}, {"type": "text", "text": long}]}),
    ];
    for number in 0..40 {
        let (ask, answer) = (
            format!("Never let {HOSTILE}{number} bind port {number}443."),
            format!("I decided that {HOSTILE}{number} binds port {number}80 instead."),
        );
        messages.push(json!({"role": "user", "content": ask}));
        messages.push(json!({"role": "assistant", "content": answer}));
    }
    serde_json::Value::from(messages).to_string()
}

#[test]
fn what_a_session_holds_is_spelled_out() {
    let cases: [(&[&str], &str); 4] = [
        (&["inspect", "-", "--at", "6"], "[U+001B]]52;c;AA"),
        (&["inspect", "-", "--problems"], "[U+202E]src/evil.rs"),
        (&["inspect", "-"], "[U+009B]2J"),
        (
            &[
                "compact",
                "-",
                "--keep-recent",
                "0",
                "--budget",
                "300",
                "--lost",
                "9",
            ],
            "[U+001B]",
        ),
    ];
    for (arguments, shows) in cases {
        let ran = run(program(arguments), chat().as_bytes());
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{arguments:?}");
        check(&ran.stdout, shows);
        check(&ran.stderr, "");
    }
}

#[test]
fn titles_are_spelled_out() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let place = home.path().join(".claude/projects/-src-project");
    fs::create_dir_all(&place).expect("a folder");
    let message = json!({"role": "user", "content": format!("{HOSTILE} go on")});
    let record = json!({"type": "user", "uuid": "1", "sessionId": "s", "message": message});
    fs::write(place.join("one.jsonl"), format!("{record}\n")).expect("a file");
    let mut listing = program(&["replay"]);
    listing.env("HOME", home.path());
    check(&run(listing, b"").stdout, "[U+001B]]52;c;AA");
}

#[test]
fn errors_are_spelled_out() {
    let ran = run(program(&["plumb", "check", "-"]), HOSTILE.as_bytes());
    assert_ne!(ran.exit, 0);
    check(&ran.stdout, "");
    check(&ran.stderr, "");
    check(&format!("{}{}", ran.stdout, ran.stderr), "[U+009B]");
}

/// Programs read the summary: in a file or a pipe it is what it was.
#[test]
fn a_summary_goes_unchanged_into_a_pipe() {
    let size = ["compact", "-", "--keep-recent", "0", "--budget", "800"];
    let text = run(
        program(&[&size[..], &["--summary-only"]].concat()),
        chat().as_bytes(),
    );
    assert!(
        text.stdout.contains("\u{202e}src/evil.rs"),
        "{}",
        text.stdout
    );
}
