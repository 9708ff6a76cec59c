//! `ebbtide plumb run`: input, output and exit codes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Ran, program, run};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Runs a program that is given as text.
fn run_text(text: &str, arguments: &[&str], input: &str) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("main.plumb"), text).expect("a file");
    let mut command = program(&[&["plumb", "run", "main.plumb"], arguments].concat());
    command.current_dir(folder.path());
    run(command, input.as_bytes())
}

#[track_caller]
fn check(text: &str, input: &str, expected: &[&str]) {
    let ran = run_text(text, &[], input);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines, expected, "{}", ran.stderr);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
}

#[track_caller]
fn check_example(name: &str) {
    let input = fs::read(examples().join(format!("{name}.input.jsonl"))).expect("the input");
    let output = fs::read_to_string(examples().join(format!("{name}.output.jsonl")));
    let mut command = program(&["plumb", "run", &format!("{name}.plumb")]);
    command.current_dir(examples());
    let ran = run(command, &input);
    assert_eq!(ran.stdout, output.expect("the output"), "{}", ran.stderr);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
}

#[test]
fn the_examples_give_what_is_written_beside_them() {
    check_example("compaction");
    check_example("debate");
    check_example("documents");
    check_example("tool");
    check_example("retry");
    check_example("escalate");
    check_example("judge");
    check_example("best");
}

#[test]
fn the_log_of_a_compaction_shows_each_step_acknowledged_before_the_next() {
    let input = ["--input", "compaction.input.jsonl", "--log"];
    let mut command = program(&[&["plumb", "run", "compaction.plumb"], &input[..]].concat());
    command.current_dir(examples());
    let ran = run(command, b"");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let said = |line: &str| -> Option<String> {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let fields = ["command", "acknowledged"].map(|field| line[field].as_str());
        let summed_up = line["at"] != "bot" && line.get("answered").is_some();
        let said = fields.into_iter().flatten().next();
        said.or(summed_up.then_some("compressed"))
            .map(str::to_owned)
    };
    let steps: Vec<String> = ran.stderr.lines().filter_map(said).collect();
    let each = [
        "pause",
        "paused",
        "get_memory",
        "memory",
        "compressed",
        "set_memory",
        "memory_set",
        "resume",
        "resumed",
    ];
    assert_eq!(steps, [each; 3].concat());
}

#[test]
fn several_values_may_stand_on_a_line() {
    check(
        "let main : !int -> !int = map(value + 1)",
        "1 2\n\n3",
        &["2", "3", "4"],
    );
}

#[test]
fn a_line_of_text_is_a_string_where_one_is_taken() {
    let text = "let main : !string -> !int = map(len(value))";
    check(text, "four words are here\n\"four\"\n", &["19", "4"]);
}

#[test]
fn ports_are_named_where_there_are_several() {
    let text = "let main : (!int, !int) -> (!int, !int) = plumb(a, b, x, y) { a ; y  b ; x }";
    check(text, r#"{"a": 1} {"b": 2}"#, &[r#"{"y":1}"#, r#"{"x":2}"#]);
}

#[test]
fn input_may_come_from_a_file_and_the_log_names_no_message() {
    let mut command = program(&[
        "plumb",
        "run",
        "one.plumb",
        "--input",
        "one.input.jsonl",
        "--log",
    ]);
    command.current_dir(examples());
    let ran = run(command, b"");
    assert_eq!(ran.exit, 0);
    assert_eq!(ran.stdout.lines().count(), 2);
    let mut log = ran.stderr.lines();
    assert_eq!(log.next(), Some(r#"{"at":"bot","asked":"input"}"#));
    assert_eq!(log.next(), Some(r#"{"at":"bot","answered":"output"}"#));
    let usage = log.next().expect("a third line");
    assert!(usage.starts_with(r#"{"at":"bot","telemetry":{"kind":"usage","input_tokens":"#));
    assert!(!ran.stderr.contains("files"), "{}", ran.stderr);
}

#[test]
fn what_goes_wrong_is_json_on_standard_error() {
    let text = "let main : !int -> !int = map(10 / value) ; filter(value > 0)";
    let text = text.replace("!int -> !int", "!int -> !number");
    let ran = run_text(&text, &[], "0 \"a\"\n\n5 { 7");
    assert_eq!((ran.exit, ran.stdout.as_str()), (1, "2.0\n"));
    let words: Vec<String> = ran
        .stderr
        .lines()
        .map(|line| {
            let error: serde_json::Value = serde_json::from_str(line).expect("JSON");
            error["error"].to_string()
        })
        .collect();
    assert!(
        ran.stderr.ends_with(",\"message\":\"{ 7\"}\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("\"detail\":\"line 3: "),
        "{}",
        ran.stderr
    );
    let expected = ["division_by_zero", "input_type_mismatch", "malformed_input"];
    assert_eq!(words, expected.map(|word| format!("\"{word}\"")));
}

#[test]
fn a_loop_without_end_is_shown_where_it_stands() {
    let text = "\
let main : !int -> !int = plumb(input, output) {
  let again : !int = channel
  input ; again
  again ; map(value) ; again
  again ; filter(value < 0) ; output
}
";
    let ran = run_text(text, &[], "1");
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn what_cannot_run_says_why() {
    let ran = run_text(
        "let main : !int -> !int = map(value)",
        &["--process", "other"],
        "",
    );
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.starts_with("error[E0014]: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("It has main."), "{}", ran.stderr);
    let keyless = "let main : !int -> !int = agent { provider: \"openai\", model: \"m\" }";
    let ran = run_text(keyless, &[], "");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("OPENAI_API_KEY"), "{}", ran.stderr);
    let agent = "let main : !int -> !int = agent { provider: \"script\", model: \"none.jsonl\" }";
    let ran = run_text(agent, &[], "");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.starts_with("error[E0904]: "), "{}", ran.stderr);
}

#[test]
fn a_message_for_a_paused_agent_that_nothing_resumes_is_an_error_and_no_hang() {
    let text = r#"
use mem
let bot : (!string, !CtrlCmd) -> !string = agent { provider: "eliza" }
let main : !string -> !string = plumb(input, output) {
  input ; bot ; output
  input ; map({pause: true}) ; bot@ctrl_in
}
"#;
    let ran = run_text(text, &[], "a\n");
    assert_eq!((ran.exit, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.starts_with(r#"{"error":"paused","#),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("1 message waits"), "{}", ran.stderr);
}

#[test]
fn calls_of_models_are_bounded_where_that_is_wanted() {
    // What it says goes back to it until it says "stop", which it never does.
    let text = r#"
let bot : !string -> !string = agent { provider: "eliza" }
let main : !string -> !string = plumb(input, output) {
  let said : !string = channel
  input ; bot
  said ; bot
  bot ; filter(value != "stop") ; said
  bot ; output
}
"#;
    let ran = run_text(text, &["--max-calls", "7"], "I need a rest.\n");
    assert_eq!(ran.exit, 1);
    assert_eq!(ran.stdout.lines().count(), 7, "{}", ran.stdout);
    let told: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(told.len(), 2, "{}", ran.stderr);
    let error: serde_json::Value = serde_json::from_str(told[0]).expect("JSON");
    assert_eq!(error["error"], "calls_spent");
    assert_eq!(error["category"], "denied");
    let detail = "bot: the limit of 7 model calls is used up";
    assert_eq!(error["detail"], detail);
    let summary: serde_json::Value = serde_json::from_str(told[1]).expect("JSON");
    assert_eq!(
        (&summary["code"], &summary["count"]),
        (&"P0815".into(), &1.into())
    );
}

const BOTH: &str =
    "let main : (!int, !int) -> !(int, int) = plumb(a, b, o) { (a * b) ; barrier ; o }";

/// So many messages for one input, then so many for the other.
fn one_then_the_other(a: usize, b: usize) -> String {
    let lines = |name: &str, count: usize| {
        let line = |number: usize| format!("{{\"{name}\": {number}}}\n");
        (0..count).map(line).collect::<String>()
    };
    lines("a", a) + &lines("b", b)
}

#[test]
fn a_full_input_does_not_keep_back_the_other_one() {
    let ran = run_text(BOTH, &[], &one_then_the_other(1_100, 1_100));
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout.lines().count(), 1_100);
    assert_eq!(ran.stdout.lines().last(), Some("[1099,1099]"));
}

#[test]
fn what_is_left_over_or_discarded_is_told() {
    let ran = run_text(BOTH, &[], &one_then_the_other(1_100, 1_000));
    assert_eq!(ran.stdout.lines().count(), 1_000);
    let told: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one line of JSON");
    assert_eq!(told["code"], "P0816");
    assert_eq!(told["count"], 100);
    assert_eq!(told["detail"], "barrier: 100 messages were left over");
    assert_eq!(ran.exit, 0);
    // The other input does not come before there is no room any more.
    let ran = run_text(BOTH, &[], &one_then_the_other(70_000, 1));
    let last = ran.stderr.lines().last().expect("a line");
    let told: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!((ran.exit, ran.stdout.as_str()), (1, ""));
    assert_eq!(told["code"], "P0812");
    assert_eq!(told["count"], 65_536);
}

#[test]
fn commands_that_lead_to_commands_end_the_run() {
    let text = r#"
use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp) = agent { provider: "eliza" }
let main : !string -> !string = plumb(input, output) {
  input ; bot ; output
  input ; map({ resume: true }) ; bot@ctrl_in
  bot@ctrl_out ; map({ resume: true }) ; bot@ctrl_in
}
"#;
    let ran = run_text(text, &[], "I need a rest.\n");
    assert_eq!(ran.exit, 1);
    assert!(
        ran.stderr
            .contains(r#"{"error":"commands_spent","category":"internal","#),
        "{}",
        ran.stderr
    );
    let ran = run_text(text, &["--max-commands", "7"], "I need a rest.\n");
    let spent = "bot: 7 commands in a row without a message between them";
    assert!(ran.stderr.contains(spent), "{}", ran.stderr);
    assert_eq!(ran.exit, 1);
}

#[test]
fn failures_that_lead_to_failures_end_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("none.jsonl"), "").expect("a file");
    let text = r#"
let p : !string -> !int = agent { provider: "script", model: "none.jsonl", max_failures: 7 }
let main : !string -> !int = plumb(input, output) {
  input ; p ; output
  p@error ; map(error) ; p
}
"#;
    fs::write(folder.path().join("main.plumb"), text).expect("a file");
    let mut command = program(&["plumb", "run", "main.plumb"]);
    command.current_dir(folder.path());
    let ran = run(command, b"q\n");
    let spent = r#"{"error":"failures_spent","category":"internal","detail":"p: 7 messages in a row failed"#;
    assert!(ran.stderr.starts_with(spent), "{}", ran.stderr);
    assert_eq!(ran.exit, 1);
}

#[test]
fn a_failed_answer_takes_its_question_with_it() {
    let text = r#"
let small : !string -> !int = agent { provider: "script", model: "main.jsonl", max_retries: 0 }
let main : !string -> !(string, int) = plumb(input, output) {
  input ; small
  (input * small) ; barrier ; output
}
"#;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("main.plumb"), text).expect("a file");
    fs::write(folder.path().join("main.jsonl"), "1\n\"two\"\n3\n").expect("a file");
    let mut command = program(&["plumb", "run", "main.plumb"]);
    command.current_dir(folder.path());
    let ran = run(command, b"q1\nq2\nq3\n");
    assert_eq!(
        (ran.exit, ran.stdout.as_str()),
        (1, "[\"q1\",1]\n[\"q3\",3]\n")
    );
    let codes: Vec<serde_json::Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["error"].clone())
        .collect();
    let expected = [
        "output_type_mismatch",
        "dropped_with_failed",
        "unanswered",
        "dropped_with_failed",
    ];
    assert_eq!(codes, expected);
}
