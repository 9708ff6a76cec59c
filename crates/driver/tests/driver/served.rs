//! Tools that another program serves.

use std::fs;

use plumb::value::Value;

use crate::{Shown, block_on_sockets, driver, folder, lines, run_main};

const SERVER: &str = env!("CARGO_BIN_EXE_driver-test-server");

/// Runs a program in which `SERVER` stands for a program that serves tools.
#[track_caller]
fn check(program: &str, messages: &str, shown: Shown, expected: &[&str]) {
    let folder = folder(&[]);
    let command = Value::from(SERVER).to_string();
    let program = program.replace("SERVER", &format!("{{ command: {command} }}"));
    let driver = driver(&program, folder.path());
    let messages: Vec<Value> = Value::parse_all(messages).map(Result::unwrap).collect();
    let reports = block_on_sockets(run_main(&driver, messages));
    assert_eq!(lines(&reports, shown), expected);
    // It was let end, not ended.
    assert_eq!(fs::read(folder.path().join("ended")).ok(), Some(Vec::new()));
}

const TOOL: &str = r"
type Ask = { word: string, times?: int }
type Said = { said: string, words: int }
let repeat : Ask -> Said = tool { mcp: SERVER }
let main : !Ask -> !Said = plumb(input, output) { input ; repeat ; output }
";

#[test]
fn a_tool_of_another_program_is_a_process_with_types() {
    check(
        TOOL,
        r#"{"word":"so","times":3} {"word":"la"}"#,
        Shown::Results,
        &[
            r#"{"said":"so so so","words":3}"#,
            r#"{"said":"la la","words":2}"#,
        ],
    );
}

#[test]
fn an_answer_of_another_type_and_a_failure_are_problems() {
    let other = TOOL.replace("-> Said", "-> int").replace("!Said", "!int");
    let problem = "problem tool_failed: repeat: the answer of `repeat` is of another type: \
                   expected int, found a record";
    check(&other, r#"{"word":"so"}"#, Shown::Results, &[problem]);
    let fails = TOOL.replace("mcp: SERVER", "mcp: SERVER, name: \"fail\"");
    let problem = "problem tool_failed: repeat: the disk is full";
    check(&fails, r#"{"word":"so"}"#, Shown::Results, &[problem]);
    let none = TOOL.replace("mcp: SERVER", "mcp: SERVER, name: \"none\"");
    let problem = format!("problem tool_failed: repeat: `{SERVER}`: there is no such tool");
    check(&none, r#"{"word":"so"}"#, Shown::Results, &[&problem]);
}

#[test]
fn an_agent_calls_the_tools_of_another_program() {
    let program = r#"
let main : !string -> !string = agent { provider: "sim", mcp: SERVER }
"#;
    let said = r#""@sim call repeat {\"word\":\"so\"}" "@sim call fail {}""#;
    check(
        program,
        said,
        Shown::Results,
        &[
            "\"I read the result: so so\"",
            "\"I read the result: the disk is full\"",
        ],
    );
}

#[test]
fn a_program_that_goes_away_or_never_was_is_a_problem() {
    let folder = folder(&[]);
    let command = Value::from(SERVER).to_string();
    let leaves = TOOL.replace(
        "SERVER",
        &format!("{{ command: {command} }}, name: \"leave\""),
    );
    let message = Value::parse(r#"{"word":"so"}"#).unwrap();
    let messages = vec![message.clone(), message];
    let left = driver(&leaves, folder.path());
    let shown = lines(
        &block_on_sockets(run_main(&left, messages.clone())),
        Shown::Results,
    );
    let end = "it has ended (exit status: 0): leaving\nthe tide is out";
    assert_eq!(shown.len(), 2, "{shown:?}");
    for shown in &shown {
        assert!(shown.ends_with(end), "{shown:?}");
    }
    let never = TOOL.replace("SERVER", "\"no-such-program --at all\"");
    let never = driver(&never, folder.path());
    let shown = lines(
        &block_on_sockets(run_main(&never, messages)),
        Shown::Results,
    );
    let start = "problem tool_failed: repeat: `no-such-program` does not start: ";
    assert!(shown[0].starts_with(start), "{shown:?}");
}

const LEAVES: &str = r#"
type Ask = { word: string, times?: int }
type Said = { said: string, words: int }
let leave : Ask -> (Said | Failed) = tool { mcp: SERVER, max_restarts: 2 }
let repeat : Ask -> (Said | Failed) = tool { mcp: SERVER, max_restarts: 2 }
let main : !Ask -> !(Said | Failed) = plumb(input, output) {
  input ; filter(word = "leave") ; leave ; output
  input ; filter(word != "leave") ; repeat ; output
}
"#;

/// Runs a program with `SERVER` and shows all that is told of restarts, and each answer by its first word.
fn restarts(program: &str, messages: &[&str]) -> Vec<String> {
    let folder = folder(&[]);
    let command = Value::from(SERVER).to_string();
    let program = program.replace("SERVER", &format!("{{ command: {command} }}"));
    let driver = driver(&program, folder.path());
    let messages = messages
        .iter()
        .map(|word| Value::parse(&format!("{{\"word\":\"{word}\"}}")).unwrap());
    let reports = block_on_sockets(run_main(&driver, messages.collect()));
    let all = lines(&reports, Shown::All).into_iter();
    all.filter_map(|line| match line.starts_with('{') {
        true => {
            let answer = Value::parse(&line).unwrap();
            let word = answer.get("said").or(answer.get("code")).cloned();
            word.and_then(|word| Some(word.as_text()?.to_owned()))
        }
        false => line.contains("again").then_some(line),
    })
    .collect()
}

#[test]
fn a_program_that_has_ended_is_started_again() {
    assert_eq!(
        restarts(LEAVES, &["so", "leave", "la", "leave", "mi"]),
        [
            "so so",
            "tool_failed",
            "repeat starts its program again, 1 of 2",
            "la la",
            "tool_failed",
            "repeat starts its program again, 1 of 2",
            "mi mi",
        ]
    );
}

#[test]
fn a_program_that_ends_each_time_is_given_up() {
    assert_eq!(
        restarts(LEAVES, &["leave", "leave", "leave", "leave"]),
        [
            "tool_failed",
            "leave starts its program again, 1 of 2",
            "tool_failed",
            "leave starts its program again, 2 of 2",
            "tool_failed",
            "tool_failed",
        ]
    );
}

#[test]
fn a_program_that_does_not_answer_in_time_fails() {
    let program = r#"
let slow : string -> (string | Failed) = tool { mcp: "sleep 600", timeout: 0.1 }
let bot : !string -> !(string | Failed) = agent { provider: "eliza", mcp: "sleep 601", timeout: 0.1 }
let main : !string -> !(string | Failed) = plumb(input, output) {
  input ; slow ; output
  input ; bot ; output
}
"#;
    let folder = folder(&[]);
    let driver = driver(program, folder.path());
    let reports = block_on_sockets(run_main(&driver, vec![Value::from("a")]));
    let failed = |at: &str, attempts: u32| {
        format!(
            r#"{{"error":"{at}: no answer within 0.1s","code":"timed_out","attempts":{attempts}}}"#
        )
    };
    let mut shown = lines(&reports, Shown::Results);
    shown.sort();
    assert_eq!(shown, [failed("bot", 0), failed("slow", 1)]);
}

#[test]
fn a_message_that_is_too_long_costs_its_own_call_only() {
    let program = LEAVES.replace("leave", "shout");
    assert_eq!(
        restarts(&program, &["so", "shout", "la", "mi"]),
        ["so so", "tool_failed", "la la", "mi mi"]
    );
}

#[test]
fn a_call_that_takes_too_long_has_timed_out() {
    let program = LEAVES
        .replace("leave", "wait")
        .replace("max_restarts: 2", "timeout: 0.2");
    assert_eq!(restarts(&program, &["so", "wait"]), ["so so", "timed_out"]);
}

/// Each call waits less than the start takes. The start goes on, so that a later call finds the program ready.
#[cfg(unix)]
#[test]
fn a_slow_start_is_waited_for_by_later_calls() {
    let program = r#"
type Ask = { word: string, times?: int }
type Said = { said: string, words: int }
let repeat : Ask -> (Said | Failed) = tool { mcp: SLOW, timeout: 0.3 }
let main : !Ask -> !(Said | Failed) = plumb(input, output) { input ; repeat ; output }
"#;
    let slow = format!(r#"{{ command: "sh", args: ["-c", "sleep 0.8; exec '{SERVER}'"] }}"#);
    let told = restarts(&program.replace("SLOW", &slow), &["a", "b", "c", "d", "e"]);
    assert_eq!(told.first().map(String::as_str), Some("timed_out"));
    assert_eq!(told.last().map(String::as_str), Some("e e"), "{told:?}");
}
