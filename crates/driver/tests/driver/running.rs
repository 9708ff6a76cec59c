//! Networks as a whole: order, time, room, fuel.

use std::sync::Arc;

use driver::{Driver, Report, Surroundings};
use jiff::Timestamp;
use plumb::check::check;
use plumb::machine::Refusal;
use plumb::modules::BuiltIn;
use plumb::value::Value;

use crate::{Shown, block_on, check_run, driver, folder, lines, ran};

#[test]
fn what_an_answer_leads_to_comes_before_the_next_message() {
    let program = r#"
use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent { provider: "eliza" }
let main : !string -> !string = plumb(input, output) {
  input ; bot ; output
  bot@telemetry ; filter(kind = "usage") ; map({set_temp: 1}) ; bot@ctrl_in
}
"#;
    let each = [
        "bot <",
        "bot >",
        "bot tells usage",
        "bot tells pulse",
        "bot < set_temp",
        "bot > temp_set",
    ];
    let folder = folder(&[]);
    let mut network = driver(program, folder.path()).network("main").unwrap();
    let messages = vec![Value::from("a"), Value::from("b")];
    let reports = block_on(ran(&mut network, messages));
    let all = lines(&reports, Shown::All);
    let log: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|line| line.starts_with("bot"))
        .collect();
    assert_eq!(log, [each, each].concat());
}

#[test]
fn more_messages_than_there_is_room_for_wait() {
    let program = r#"
let main : !string -> !string = agent { provider: "eliza", amnesiac: true }
"#;
    let folder = folder(&[]);
    let mut network = driver(program, folder.path()).network("main").unwrap();
    block_on(async {
        let (mut outputs, mut full) = (0, 0);
        for _ in 0..5_000 {
            let mut message = Value::from("I need rest");
            while let Err(refused) = network.push(0, message) {
                assert_eq!(refused.why, Refusal::Full);
                message = refused.message.unwrap();
                full += 1;
                let report = network.next().await.unwrap();
                outputs += usize::from(matches!(report, Report::Output { .. }));
            }
        }
        network.close(0);
        while let Some(report) = network.next().await {
            outputs += usize::from(matches!(report, Report::Output { .. }));
        }
        assert_eq!(outputs, 5_000);
        assert!(full > 0 && network.ended());
    });
}

#[test]
fn a_loop_that_never_rests_is_a_fault_and_ends() {
    let program = r#"
let main : !int -> !int = plumb(input, output) {
  let again : !int = channel
  input ; again
  again ; map(value) ; again
  again ; filter(value < 0) ; output
}
"#;
    let folder = folder(&[]);
    let mut network = driver(program, folder.path()).network("main").unwrap();
    let reports = block_on(ran(&mut network, vec![Value::Int(1)]));
    let shown = lines(&reports, Shown::Results);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].starts_with("fault out_of_fuel"), "{shown:?}");
    assert!(network.stopped() && network.ended());
}

#[test]
fn a_step_that_takes_too_long_ends_its_run() {
    let program = r#"
type Ask = { ask: int }
type Reply = { reply: int }
protocol P = send Ask . recv Reply . end
let main : !json -> (!Ask, !json) = plumb(input, output, error) {
  let answers : !json = channel
  input ; filter(defined(reply)) ; answers
  (answers, output) <-> P as s within 30s
  input ; filter(defined(go)) ; map(null) ; s@trigger
  s@trigger ; map({ask: 1}) ; s@send(Ask)
  s@recv(Reply) ; discard
  s@error ; error
}
"#;
    let folder = folder(&[]);
    let mut network = driver(program, folder.path()).network("main").unwrap();
    block_on(async {
        let started = tokio::time::Instant::now();
        network
            .push(0, Value::parse(r#"{"go":1}"#).unwrap())
            .unwrap();
        let mut reports = Vec::new();
        while let Some(report) = network.next().await {
            reports.push(report);
        }
        let shown = lines(&reports, Shown::Results);
        assert_eq!(shown[0], r#"{"ask":1}"#);
        assert!(shown[1].starts_with("1: "), "{shown:?}");
        assert_eq!(started.elapsed().as_secs(), 30);
    });
}

#[test]
fn a_process_without_agents_is_run_too() {
    let program = "let main : !int -> !int = map(value * value)";
    check_run(
        program,
        &[],
        "3 \"x\" 4",
        Shown::Results,
        &[
            "9",
            "fault input_type_mismatch: input: expected int, found a string",
            "16",
        ],
    );
}

#[test]
fn commands_that_lead_to_commands_are_stopped() {
    let program = r#"
use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp) = agent { provider: "eliza" }
let main : !string -> !string = plumb(input, output) {
  input ; bot ; output
  input ; map({ resume: true }) ; bot@ctrl_in
  bot@ctrl_out ; map({ resume: true }) ; bot@ctrl_in
}
"#;
    let folder = folder(&[]);
    let mut network = driver(program, folder.path()).network("main").unwrap();
    let reports = block_on(ran(&mut network, vec![Value::from("I need rest")]));
    let shown = lines(&reports, Shown::Results);
    let spent = "problem commands_spent: bot: 10000 commands in a row without a message between \
                 them; nothing ends the loop";
    assert!(shown.iter().any(|line| line == spent), "{shown:?}");
    assert!(network.stopped() && network.ended());
}

/// The outputs of `main` on these messages, where at most ten commands in a row are carried out, and whether it
/// was stopped.
fn outputs(text: &str, messages: i64) -> (usize, bool) {
    let folder = folder(&[]);
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let surroundings = Surroundings {
        max_commands: 10,
        ..Surroundings::new(folder.path(), clock)
    };
    let checked = check("test.plumb", text, &BuiltIn);
    assert!(checked.is_sound(), "{:?}", checked.diagnostics);
    let mut network = Driver::new(checked, surroundings).network("main").unwrap();
    let messages = (0..messages).map(Value::Int).collect();
    let reports = block_on(ran(&mut network, messages));
    let outputs = reports.iter();
    let outputs = outputs.filter(|report| matches!(report, Report::Output { .. }));
    (outputs.count(), network.stopped())
}

#[test]
fn commands_are_counted_anew_after_an_input_and_after_a_pause() {
    let bot = "use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp) = agent { provider: \"eliza\" }";
    let talk = "input ; filter(value < 0) ; map(\"never\") ; bot\n";
    let six = "input ; map({ resume: true }) ; bot@ctrl_in\n".repeat(6);
    let inputs = format!(
        "{bot} let main : !int -> !int = plumb(input, output) {{
  {talk} {six} bot@ctrl_out ; map(1) ; output
}}"
    );
    assert_eq!(outputs(&inputs, 20), (120, false));
    // Thirty commands, each behind a timer.
    let timed = |milliseconds: u32| {
        format!(
            "{bot}
let wait : {{ run: int, step: int, ms: int }} -> {{ run: int, step: int, ms: int }} = tool {{ timer: true }}
let main : !int -> !int = plumb(input, output) {{
  let left : !int = channel
  {talk} input ; map(30) ; left
  left ; filter(value > 0) ; map({{ run: value - 1, step: 0, ms: {milliseconds} }}) ; wait
  wait.run ; left
  wait ; map({{ resume: true }}) ; bot@ctrl_in
  bot@ctrl_out ; map(1) ; output
}}"
        )
    };
    assert_eq!(outputs(&timed(1_000), 1), (30, false));
    assert_eq!(outputs(&timed(10), 1), (10, true));
}

/// Runs a program whose agents have a script each, and fail at most five times in a row.
#[track_caller]
fn check_failing(wires: &str, script: &str, messages: &str, expected: &[&str]) {
    let settings = "max_retries: 0, max_failures: 5";
    let program = format!(
        r#"
let p : !string -> !int = agent {{ provider: "script", model: "p.jsonl", {settings} }}
let q : !string -> !(int | Failed) = agent {{ provider: "script", model: "q.jsonl", {settings} }}
let main : !string -> (!int, !string) = plumb(input, output, failed) {{ {wires} }}
"#
    );
    let files = [("p.jsonl", script), ("q.jsonl", script)];
    check_run(&program, &files, messages, Shown::Results, expected);
}

#[test]
fn failures_in_a_row_are_bounded() {
    let spent = |name: &str| {
        let why = "5 messages in a row failed, without an answer or an input between them";
        format!("problem failures_spent: {name}: {why}")
    };
    let port = "input ; p ; output  p@error.code ; p  empty ; failed";
    check_failing(port, "", "\"x\"", &[&spent("p")]);
    let kind = "let all : !(int | Failed) = channel  input ; q ; all
        all ; filter(is(value, int)) ; output
        all ; filter(is(value, Failed)) ; map(code) ; q  empty ; failed";
    check_failing(kind, "", "\"x\"", &[&spent("q")]);
    // An answer of its own begins a new count, and so does each input.
    let wrong = "\"no\"\n".repeat(4);
    let script = format!("{wrong}1\n{wrong}2\n");
    check_failing(port, &script, "\"x\"", &["1"]);
    let back = "input ; p ; output  p ; map(\"again\") ; p  p@error.code ; p  empty ; failed";
    check_failing(back, &script, "\"x\"", &["1", "2", &spent("p")]);
    let each = "input ; p ; output  p@error.code ; failed";
    let ended = ["1: \"script_ended\""; 9];
    check_failing(each, "", &"\"x\" ".repeat(9), &ended);
}

#[test]
fn failures_are_data_where_the_program_takes_them() {
    let program = r#"
let typed : !string -> !(int | Failed) = agent {
  provider: "script", model: "a.jsonl", max_retries: 1,
}
let told : !string -> !int = agent { provider: "script", model: "b.jsonl", max_retries: 0 }
let main : !string -> (!(string, int | Failed), !(string, int), !Failed) =
  plumb(input, first, second, third) {
    input ; keep(typed) ; first
    input ; keep(told) ; second
    told@error ; third
  }
"#;
    check_run(
        program,
        &[("a.jsonl", "\"x\" \n\"y\"\n2\n"), ("b.jsonl", "1\n\"z\"\n")],
        r#""q1" "q2""#,
        Shown::Results,
        &[
            r#"["q1",{"error":"typed: none of 2 answers has the requested type: it is not JSON: unexpected 'y' at byte 0","code":"output_type_mismatch","attempts":2}]"#,
            r#"1: ["q1",1]"#,
            r#"["q2",2]"#,
            r#"2: {"error":"told: none of 1 answers has the requested type: it is not JSON: unexpected 'z' at byte 0","code":"output_type_mismatch","attempts":1}"#,
            "warning: keep: dropped, since what it belongs to has failed",
        ],
    );
}
