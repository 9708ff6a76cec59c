//! Pages, and what is said of them.

use super::{Mismatch, Remedy, Tested, test};
use crate::modules::BuiltIn;

/// A page of fences: info and body.
fn page(fences: &[(&str, &str)]) -> String {
    let fences = fences.iter();
    let fences = fences.map(|(info, body)| format!("Words.\n\n```{info}\n{body}\n```\n"));
    fences.collect()
}

/// Checks that everything on a page is so.
#[track_caller]
fn holds(fences: &[(&str, &str)]) -> Tested {
    let text = page(fences);
    let tested = test(&text, &BuiltIn);
    let told: String = tested.mismatches.iter().map(ToString::to_string).collect();
    assert_eq!(told, "");
    assert_eq!(tested.text, text);
    tested
}

/// Checks what is said of a page.
#[track_caller]
fn tells(fences: &[(&str, &str)], wanted: &str) {
    let tested = test(&page(fences), &BuiltIn);
    let told: String = tested.mismatches.iter().map(ToString::to_string).collect();
    assert_eq!(told, wanted);
    // What it would have to be, is.
    let again = test(&tested.text, &BuiltIn);
    let outdated = |one: &&Mismatch| one.remedy == Remedy::Update;
    let left = again.mismatches.iter().filter(outdated).count();
    assert_eq!(left, 0, "{}", tested.text);
}

const ADD: &str = "let main : !int -> !int = map(value + 1)";
const BOT: &str =
    "let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp) = agent { provider: \"sim\" }

let main : (!string, !CtrlCmd) -> (!string, !CtrlResp) = plumb(input, ctrl_in, output, ctrl_out) {
  spawn bot(input, ctrl_in, output, ctrl_out)
}";

#[test]
fn messages_go_in_and_come_out() {
    let tested = holds(&[
        ("plumb", ADD),
        (
            "run",
            "> 1\n< 2\n\n> 2\n< 3\n> end\n< end\n> 3\n! P0812 the input is closed",
        ),
        ("sh", "nothing that is looked at"),
    ]);
    assert_eq!((tested.programs, tested.expectations), (1, 1));
    let codes: Vec<&str> = tested.codes.iter().map(|code| code.0).collect();
    assert_eq!(codes, ["P0812"]);
}

#[test]
fn what_is_not_so_is_told_and_put_right() {
    tells(
        &[("plumb", ADD), ("run", "> 1\n< 3\n> 2\n< 3\n< 4")],
        "line 8, `run`:\n  - < 3\n  - > 2\n  - < 3\n  - < 4\n  + < 2\n  + > 2\n  + < 3\n",
    );
    tells(
        &[("plumb", "let main : !int -> !int = map(x)")],
        "line 3, `plumb`:
  + error[P0401]: `int` has no field `x`
  +  --> main.plumb:1:31
  +   |
  + 1 | let main : !int -> !int = map(x)
  +   |                               ^
  +   |
  +   = help: `value` is the whole message; only records have fields.
",
    );
    tells(
        &[("run", "> 1")],
        "line 3, `run`:\n  + (there is no program above)\n",
    );
}

#[test]
fn what_cannot_be_run_stays_as_it_is() {
    for (fence, why) in [
        ("run nope", "there is no process `nope` to run"),
        ("run fuel=many", "`fuel=many` is no limit"),
        ("dot nope", "there is no process `nope` to draw"),
    ] {
        let text = page(&[("plumb", ADD), (fence, "> 1")]);
        let tested = test(&text, &BuiltIn);
        let told: String = tested.mismatches.iter().map(ToString::to_string).collect();
        assert_eq!(told, format!("line 8, `{fence}`:\n  + ({why})\n"));
        assert_eq!(tested.text, text);
    }
}

#[test]
fn a_fence_that_is_not_closed_is_told() {
    for text in [
        "```plumb\nlet main : !int -> !int = id\n",
        "```sh\nls\n\n```plumb\n",
    ] {
        let tested = test(text, &BuiltIn);
        let found: Vec<&str> = tested.mismatches.iter().map(|one| &*one.found).collect();
        assert_eq!(found, ["(the fence is not closed)\n"], "{text}");
        assert_eq!(tested.text, text);
    }
}

#[test]
fn a_page_keeps_its_line_ends() {
    let windows = |text: &str| text.replace('\n', "\r\n");
    let right = page(&[("plumb", ADD), ("run", "> 1\n< 2"), ("dot", "")]);
    let right = test(&right, &BuiltIn).text;
    let tested = test(&windows(&right), &BuiltIn);
    assert_eq!(tested.mismatches, []);
    let tested = test(&windows(&right.replace("< 2", "< 3")), &BuiltIn);
    assert_eq!((tested.mismatches.len(), tested.text), (1, windows(&right)));
}

#[test]
fn values_may_be_written_otherwise() {
    holds(&[
        (
            "plumb",
            "let main : !int -> !json = map({ a: value, b: [1] })",
        ),
        ("run", "> 1\n< { \"a\": 1, \"b\": [ 1 ] }"),
    ]);
}

#[test]
fn agents_are_answered_in_the_transcript() {
    holds(&[
        ("plumb", BOT),
        (
            "run",
            r#"> {"input": "hello"}
? bot "hello"
> {"input": "again"}
? bot "again"
> {"ctrl_in": {"pause": true}}
? bot@ctrl_in {"pause":true}
= bot@ctrl_out {"paused": true}
< {"ctrl_out":{"paused":true}}
= bot 3
! P0803 {"error":"output_type_mismatch","category":"invalid","detail":"bot: expected string, found a whole number","message":3}
= bot "hi"
< {"output":"hi"}
= bot
= bot "late"
! (nothing is asked of bot)"#,
        ),
    ]);
}

#[test]
fn tools_that_are_processes_answer_by_themselves() {
    holds(&[
        (
            "plumb",
            "let twice : int -> int = tool { process: double }
let double : !int -> !int = map(value * 2)
let main : !int -> !int = twice ; twice",
        ),
        ("run", "> 3\n< 12"),
    ]);
}

#[test]
fn tools_that_call_themselves_are_refused() {
    let tested = test(
        &page(&[
            (
                "plumb",
                "let again : int -> int = tool { process: same }
let same : !int -> !int = again
let main : !int -> !int = again",
            ),
            ("diagnostics", ""),
        ]),
        &BuiltIn,
    );
    assert!(tested.text.contains("error[P0709]"), "{}", tested.text);
}

#[test]
fn time_passes_and_states_are_resumed() {
    let program = "protocol P = send int . recv string . end
let main : (!string, !int) -> (!int, !json) = plumb(heard, numbers, said, wrong) {
  (heard, said) <-> P as s within 30s
  numbers ; s@trigger
  s@trigger ; map(7) ; s@send(int)
  s@error ; wrong
}";
    let tested = test(
        &page(&[
            ("plumb", program),
            ("run", "> {\"numbers\": 1}"),
            ("run resumed", "~ 10s\n~ 25s"),
        ]),
        &BuiltIn,
    );
    assert!(
        tested.text.contains("< {\"said\":7}\n```"),
        "{}",
        tested.text
    );
    assert!(
        tested.text.contains("~ 10s\n~ 25s\n< {\"wrong\""),
        "{}",
        tested.text
    );
}

#[test]
fn modules_and_printed_programs() {
    holds(&[
        (
            "plumb module near",
            "let add : !int -> !int = map(value + 1)",
        ),
        ("plumb", "use near\nlet main:!int->!int=Near.add"),
        (
            "plumb canonical",
            "use near\nlet main : !int -> !int = Near.add",
        ),
        ("run", "> 1\n< 2"),
        ("plumb", BOT),
        ("plumb desugared", BOT),
    ]);
}
