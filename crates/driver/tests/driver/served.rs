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
