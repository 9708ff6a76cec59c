//! Sessions that run: violations that nothing hears of, and runs that cannot go on.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::sync::Arc;

use plumb::check::check;
use plumb::machine::{Fault, Machine, Program};
use plumb::modules::BuiltIn;
use plumb::value::Value;

/// The reports of a run.
#[derive(Default)]
struct Told {
    errors: Vec<String>,
    violations: Vec<String>,
    outputs: Vec<String>,
}

fn line(fault: &Fault) -> String {
    let message = fault.message.as_ref();
    let message = message.map_or(String::new(), |message| format!(" {message}"));
    format!(
        "{} {}: {}{message}",
        fault.kind.code().0,
        fault.at,
        fault.detail
    )
}

/// Runs a program on these messages, and closes its inputs.
fn run(text: &str, messages: &[(u32, &str)]) -> Told {
    let checked = check("test.plumb", text, &BuiltIn);
    let told: Vec<&str> = checked
        .diagnostics
        .iter()
        .map(|one| one.message.as_str())
        .collect();
    assert!(checked.is_sound(), "{told:?}");
    let graph = checked.graph("main").unwrap();
    let mut machine = Machine::new(Arc::new(Program::new(&graph).unwrap()));
    let mut steps = vec![machine.start()];
    for (port, message) in messages {
        let message = Value::parse(message).unwrap();
        steps.push(machine.push(*port, message).unwrap());
    }
    for port in 0..u32::try_from(graph.inputs.len()).unwrap() {
        steps.push(machine.close(port).unwrap());
    }
    assert!(machine.ended());
    let mut all = Told::default();
    for step in &steps {
        all.errors.extend(step.errors.iter().map(line));
        all.violations.extend(step.violations.iter().map(line));
        all.outputs
            .extend(step.outputs.iter().map(|(_, message)| message.to_string()));
    }
    all
}

fn ask(statements: &str) -> String {
    format!(
        "protocol Ask = send int . recv string . end
         let main : (!int, !string) -> (!int, !string) = plumb(go, heard, said, text) {{
           (heard, said) <-> Ask as s
           go ; s@trigger
           go ; s@send(int)
           s@recv(string) ; text
           {statements}
         }}"
    )
}

#[test]
fn a_run_that_is_over_tells_nothing() {
    let told = run(
        &ask(""),
        &[(0, "1"), (1, "\"one\""), (0, "2"), (1, "\"two\"")],
    );
    assert_eq!(told.outputs, ["1", "\"one\"", "2", "\"two\""]);
    assert_eq!(told.errors, [""; 0]);
    assert_eq!(told.violations, [""; 0]);
}

#[test]
fn a_violation_that_nothing_hears_of_is_told() {
    let early = &[(1, "\"early\""), (0, "1"), (1, "\"one\"")];
    let told = run(&ask(""), early);
    assert_eq!(
        told.violations,
        ["P0818 s: a message came that the protocol does not expect (no run) \"early\""]
    );
    assert_eq!(told.outputs, ["1", "\"one\""]);
    // The program hears of it.
    let heard = run(&ask("s@error ; map(\"wrong\") ; text"), early);
    assert_eq!(heard.violations, [""; 0]);
    assert_eq!(heard.outputs, ["\"wrong\"", "1", "\"one\""]);
    let ignored = run(&ask("s@error ; discard"), early);
    assert_eq!(ignored.violations, [""; 0]);
}

#[test]
fn a_run_that_cannot_go_on_is_told_at_the_end() {
    let told = run(&ask(""), &[(0, "1")]);
    assert_eq!(
        told.errors,
        ["P0819 s: the run cannot go on at step 2: recv string"]
    );
}

#[test]
fn payloads_without_a_run_are_told_at_the_end() {
    // The second trigger comes during the run and is dropped; its payload waits for another.
    let told = run(&ask(""), &[(0, "1"), (0, "2"), (1, "\"one\"")]);
    assert_eq!(told.outputs, ["1", "\"one\""]);
    assert_eq!(
        told.errors,
        ["P0819 s: 1 payload waits for a run that never came"]
    );
}

#[test]
fn a_protocol_that_starts_over_may_rest_at_its_beginning() {
    let text = "protocol Serve = offer { ask: recv int . send int . loop, stop: end }
         let main : (!json, !int) -> !json = plumb(heard, go, said) {
           (heard, said) <-> Serve as s
           go ; s@trigger
           s@recv(int) ; map(value + 1) ; s@send(int)
         }";
    let told = run(
        text,
        &[
            (1, "0"),
            (0, "{\"tag\": \"ask\", \"value\": null}"),
            (0, "3"),
        ],
    );
    assert_eq!(told.outputs, ["4"]);
    assert_eq!(told.errors, [""; 0]);
    let told = run(
        text,
        &[(1, "0"), (0, "{\"tag\": \"ask\", \"value\": null}")],
    );
    assert_eq!(
        told.errors,
        ["P0819 s: the run cannot go on at step 2: recv int"]
    );
}

#[test]
fn each_instance_tells_of_its_own_session() {
    let text = "protocol Ask = send int . recv string . end
         let asker : (!int, !string) -> (!int, !string) = plumb(go, heard, said, text) {
           (heard, said) <-> Ask as s
           go ; s@trigger  go ; s@send(int)  s@recv(string) ; text
         }
         let main : (!int, !string) -> (!int, !string) = plumb(go, heard, said, text) {
           let none : !string = channel
           empty ; none
           spawn asker(go, heard, said, text)
           spawn asker(go, none, said, text)
         }";
    let told = run(text, &[(0, "1"), (1, "\"one\"")]);
    assert_eq!(
        told.errors,
        ["P0819 s: the run cannot go on at step 2: recv string"]
    );
}
