//! Tests of agents and their commands.

use plumb::value::Value;

use crate::{Shown, block_on, driver, folder, lines, ran};

const AGENT: &str = r#"
use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent {
  provider: "script",
  model: "bot.jsonl"
}
let commands : !json -> !CtrlCmd = filter(defined(ctrl)).ctrl
let messages : !json -> !string = filter(defined(say)).say
let main : !json -> (!string, !CtrlResp) = plumb(input, output, ctrl) {
  input ; commands ; bot@ctrl_in
  input ; messages ; bot ; output
  bot@ctrl_out ; ctrl
}
"#;

/// Lets the agent have what is in each list, and come to rest in between.
#[track_caller]
fn check(steps: &[(&str, &[&str])]) {
    let folder = folder(&[("bot.jsonl", "\"one\" \n\"two\"\n\"three\"\n")]);
    let driver = driver(AGENT, folder.path());
    let mut network = driver.network("main").unwrap();
    block_on(async {
        for (messages, expected) in steps {
            let mut reports = Vec::new();
            for message in Value::parse_all(messages) {
                network.push(0, message.unwrap()).unwrap();
            }
            while let Some(report) = network.next().await {
                reports.push(report);
            }
            assert_eq!(lines(&reports, Shown::Results), *expected, "{messages}");
        }
    });
}

#[test]
fn a_paused_agent_takes_commands_and_no_messages() {
    check(&[
        (
            r#"{"ctrl":{"pause":true}} {"say":"a"}"#,
            &[r#"1: {"paused":true}"#],
        ),
        (
            r#"{"ctrl":{"get_memory":true}}"#,
            &[r#"1: {"memory":{"mark":"0","turns":[],"pinned":[]}}"#],
        ),
        (
            r#"{"ctrl":{"resume":true}}"#,
            &[r#"1: {"resumed":true}"#, r#""one""#],
        ),
    ]);
}

#[test]
fn a_memory_is_taken_out_and_put_back_shorter() {
    let dump = r#"1: {"memory":{"mark":"2","turns":[{"role":"user","text":"a"},{"role":"assistant","text":"one"}],"pinned":[]}}"#;
    let new = r#"{"ctrl":{"set_memory":{"mark":"2","turns":[],"pinned":["p"],"summary":"s"}}}"#;
    check(&[
        (r#"{"say":"a"}"#, &[r#""one""#]),
        (r#"{"ctrl":{"get_memory":true}}"#, &[dump]),
        (new, &[r#"1: {"memory_set":true}"#]),
        (
            r#"{"ctrl":{"mark":true}}"#,
            &[r#"1: {"marked":{"mark":"2","turns":[],"pinned":["p"],"summary":"s"}}"#],
        ),
    ]);
}

#[test]
fn a_memory_that_was_prepared_is_swapped_in_while_the_agent_goes_on() {
    let prepare =
        r#"{"ctrl":{"prepare":{"mark":"2","turns":[],"pinned":[],"summary":"they spoke of a"}}}"#;
    let dump = r#"1: {"memory":{"mark":"4","turns":[{"role":"user","text":"b"},{"role":"assistant","text":"two"}],"pinned":[],"summary":"they spoke of a"}}"#;
    check(&[
        (r#"{"say":"a"}"#, &[r#""one""#]),
        (prepare, &[r#"1: {"prepared":true}"#]),
        (r#"{"say":"b"}"#, &[r#""two""#]),
        (r#"{"ctrl":{"swap":true}}"#, &[r#"1: {"swapped":true}"#]),
        (r#"{"ctrl":{"get_memory":true}}"#, &[dump]),
    ]);
}

#[test]
fn what_is_to_stay_is_not_in_the_dump() {
    let marked = r#"1: {"marked":{"mark":"2","turns":[{"role":"user","text":"a"},{"role":"assistant","text":"one"}],"pinned":[]}}"#;
    check(&[
        (r#"{"say":"a"} {"say":"b"}"#, &[r#""one""#, r#""two""#]),
        (r#"{"ctrl":{"keep_messages":2,"mark":true}}"#, &[marked]),
        (
            r#"{"ctrl":{"get_memory":true,"keep":1}}"#,
            &[r#"1: {"memory":{"mark":"0","turns":[],"pinned":[]}}"#],
        ),
        (
            r#"{"ctrl":{"get_memory":true,"keep":2}}"#,
            &[
                r#"1: {"refused":"a share of the window is a number from 0 to 1","command":"get_memory"}"#,
            ],
        ),
        (
            r#"{"ctrl":{"keep_messages":-1,"mark":true}}"#,
            &[r#"1: {"refused":"a number of messages is 0 or more","command":"mark"}"#],
        ),
        (
            r#"{"ctrl":{"hold":true}}"#,
            &[r#"1: {"refused":"only conversations obey this command","command":"hold"}"#],
        ),
    ]);
}

#[test]
fn what_cannot_be_carried_out_is_refused() {
    check(&[
        (
            r#"{"ctrl":{"swap":true}}"#,
            &[r#"1: {"refused":"nothing is prepared","command":"swap"}"#],
        ),
        (
            r#"{"ctrl":{"set_temp":3}} {"ctrl":{"set_temp":0.2}}"#,
            &[
                r#"1: {"refused":"a temperature is a number from 0 to 2","command":"set_temp"}"#,
                r#"1: {"temp_set":true}"#,
            ],
        ),
        (
            r#"{"ctrl":{"pin":"x"}} {"ctrl":{"unpin":"x"}} {"ctrl":{"unpin":"x"}}"#,
            &[
                r#"1: {"pinned":true}"#,
                r#"1: {"unpinned":true}"#,
                r#"1: {"refused":"this text is not pinned","command":"unpin"}"#,
            ],
        ),
    ]);
}

#[test]
fn a_paused_agent_that_nothing_resumes_is_named() {
    let folder = folder(&[("bot.jsonl", "\"one\"\n")]);
    let driver = driver(AGENT, folder.path());
    let mut network = driver.network("main").unwrap();
    let messages = r#"{"ctrl":{"pause":true}} {"say":"a"}"#;
    let messages = Value::parse_all(messages).map(Result::unwrap).collect();
    block_on(ran(&mut network, messages));
    assert!(!network.ended());
    let stuck = network.stuck();
    assert_eq!(stuck.len(), 1);
    assert_eq!(stuck[0].why.word(), "paused");
}

#[test]
fn a_handle_names_what_was_said() {
    let dump = |pinned: &str| {
        format!(
            r#"1: {{"memory":{{"mark":"2","turns":[{{"role":"user","text":"a"}},{{"role":"assistant","text":"one"}}],"pinned":[{pinned}]}}}}"#
        )
    };
    let (with, without) = (dump(r#""a""#), dump(""));
    check(&[
        (r#"{"say":"a"}"#, &[r#""one""#]),
        (
            r#"{"ctrl":{"pin":"turn:1"}} {"ctrl":{"get_memory":true}}"#,
            &[r#"1: {"pinned":true}"#, &with],
        ),
        (
            r#"{"ctrl":{"pin":"turn:9"}}"#,
            &[
                r#"1: {"refused":"there is no turn 9; the history has the turns 1 to 2 (E0426)","command":"pin"}"#,
            ],
        ),
        (
            r#"{"ctrl":{"unpin":"turn:1"}} {"ctrl":{"get_memory":true}}"#,
            &[r#"1: {"unpinned":true}"#, &without],
        ),
    ]);
}
