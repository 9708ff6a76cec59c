//! Sessions all the way: written, parsed, checked and run by the machine.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::super::steps::Steps;
use super::evaluator::fits;
use super::generate::{Lot, Protocols, endpoints, event};
use super::laws::{Ports, Tally, expected};
use super::traces::{Event, Run};
use crate::check::check;
use crate::machine::{EffectId, Machine, Program, Request, State, Step};
use crate::modules::BuiltIn;
use crate::syntax::ast::{Endpoint, Protocol, ProtocolKind, Side, Type, TypeKind};
use crate::syntax::format;
use crate::value::Value;

fn type_text(kind: &Type) -> String {
    match &kind.kind {
        TypeKind::Record(fields) => format!("{{ {}: int }}", fields[0].name.text),
        TypeKind::Named(path) => path.name.text.to_string(),
        other => panic!("{other:?}"),
    }
}

fn protocol_text(protocol: &Protocol) -> String {
    let arms = |word: &str, arms: &[(crate::syntax::ast::Name, Protocol)]| {
        let arm = |(label, rest): &(crate::syntax::ast::Name, Protocol)| {
            format!("{}: {}", label.text, protocol_text(rest))
        };
        let arms: Vec<String> = arms.iter().map(arm).collect();
        format!("{word} {{ {} }}", arms.join(", "))
    };
    match &protocol.kind {
        ProtocolKind::Send(kind, rest) => {
            format!("send {} . {}", type_text(kind), protocol_text(rest))
        }
        ProtocolKind::Recv(kind, rest) => {
            format!("recv {} . {}", type_text(kind), protocol_text(rest))
        }
        ProtocolKind::Select(these) => arms("select", these),
        ProtocolKind::Offer(these) => arms("offer", these),
        ProtocolKind::Rec(name, rest) => format!("rec {} . {}", name.text, protocol_text(rest)),
        ProtocolKind::Named(path) => path.name.text.to_string(),
        ProtocolKind::Loop => "loop".to_owned(),
        ProtocolKind::End => "end".to_owned(),
        ProtocolKind::Broken => panic!("broken"),
    }
}

/// An endpoint as it is written, and what goes through it.
fn endpoint_text(endpoint: &Endpoint) -> (String, String) {
    let numbered = |word: &str, what: &str, number: &Option<u32>| match number {
        Some(number) => format!("s@{word}({what}, {number})"),
        None => format!("s@{word}({what})"),
    };
    match endpoint {
        Endpoint::Send(kind, n) => (numbered("send", &type_text(kind), n), type_text(kind)),
        Endpoint::Recv(kind, n) => (numbered("recv", &type_text(kind), n), type_text(kind)),
        Endpoint::Done(kind, n) => (numbered("done", &type_text(kind), n), "unit".to_owned()),
        Endpoint::Select(label, n) => (numbered("select", &label.text, n), "json".to_owned()),
        Endpoint::Offer(label, n) => (numbered("offer", &label.text, n), "json".to_owned()),
    }
}

/// A session of which every endpoint has a port: its text, the names of its inputs and of its outputs.
struct Written {
    text: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

fn written(scope: &Protocols, steps: &Steps, side: Side) -> Written {
    let mut inputs = vec![
        ("trigger".to_owned(), "json".to_owned()),
        ("incoming".to_owned(), "json".to_owned()),
    ];
    let mut outputs: Vec<_> = ["outgoing", "started", "wrong"]
        .map(|port| (port.to_owned(), "json".to_owned()))
        .into();
    let mut body = "trigger ; s@trigger  s@trigger ; started  s@error ; wrong\n".to_owned();
    for (index, step) in steps.steps.iter().enumerate() {
        for (port, endpoint, is_sink) in endpoints(steps, index, step, scope) {
            let (at, kind) = endpoint_text(&endpoint);
            if is_sink {
                writeln!(body, "{port} ; {at}").unwrap();
                inputs.push((port, kind));
            } else {
                writeln!(body, "{at} ; {port}").unwrap();
                outputs.push((port, kind));
            }
        }
    }
    let types = |ports: &[(String, String)]| {
        let types: Vec<String> = ports.iter().map(|(_, kind)| format!("!{kind}")).collect();
        format!("({})", types.join(", "))
    };
    let names = |ports: Vec<(String, String)>| ports.into_iter().map(|(name, _)| name).collect();
    let signature = format!("{} -> {}", types(&inputs), types(&outputs));
    let (inputs, outputs): (Vec<String>, Vec<String>) = (names(inputs), names(outputs));
    let dual = match side {
        Side::Itself => "",
        Side::Dual => "dual ",
    };
    let text = format!(
        "protocol Main = {}\nprotocol Other = {}\nlet main : {signature} = plumb({}, {}) {{
(incoming, outgoing) <-> {dual}Main as s within 30s\n{body}}}",
        protocol_text(&scope.main),
        protocol_text(&scope.other),
        inputs.join(", "),
        outputs.join(", "),
    );
    Written {
        text,
        inputs,
        outputs,
    }
}

/// A machine, what it has given, and the wait that it is in.
struct Bench {
    program: Arc<Program>,
    machine: Machine,
    outputs: Vec<String>,
    wait: Option<EffectId>,
}

impl Bench {
    fn take(&mut self, step: Step) -> Ports {
        assert_eq!(step.errors, Vec::new());
        for effect in step.effects {
            match effect.request {
                Request::Wait { milliseconds, .. } => {
                    assert_eq!(milliseconds, 30_000);
                    self.wait = Some(effect.id);
                }
                Request::Cancel if self.wait == Some(effect.id) => self.wait = None,
                Request::Cancel => {}
                Request::Ask { .. } => panic!("nobody is asked"),
            }
        }
        let mut ports = Ports::new();
        for (port, value) in step.outputs {
            let name = self.outputs[port as usize].as_str();
            let value = match (name, value.get("message")) {
                ("wrong", Some(message)) => message.clone(),
                _ => value,
            };
            ports.entry(name.into()).or_default().push(value);
        }
        ports
    }

    /// The state leaves the process and comes back.
    fn travel(&mut self) {
        let machine = std::mem::replace(&mut self.machine, Machine::new(self.program.clone()));
        let text = serde_json::to_string(&machine.into_state()).unwrap();
        let state: State = serde_json::from_str(&text).unwrap();
        self.machine = Machine::resume(self.program.clone(), state).unwrap();
    }
}

fn agrees(
    protocol: &[u8],
    events: &[u8],
    dual: bool,
    tally: &mut Tally,
) -> Result<(), TestCaseError> {
    let scope = Protocols::draw(&mut Lot::new(protocol));
    let side = if dual { Side::Dual } else { Side::Itself };
    let (mut steps, _) = Steps::of(&scope.main, &scope).unwrap();
    if dual {
        steps = steps.dual();
    }
    if steps.steps.len() > 12 {
        return Ok(());
    }
    let written = written(&scope, &steps, side);
    let checked = check("main", &written.text, &BuiltIn);
    prop_assert!(
        checked.is_sound(),
        "{}\n{:?}",
        written.text,
        checked.diagnostics
    );
    let checked = if events.len().is_multiple_of(2) {
        checked
    } else {
        // The program without sessions, printed and read again.
        let printed = format(checked.desugared(), "");
        let plain = check("plain", &printed, &BuiltIn);
        prop_assert!(plain.is_sound(), "{}\n{:?}", printed, plain.diagnostics);
        plain
    };
    let graph = checked.graph("main").unwrap();
    let program = Arc::new(Program::new(&graph).unwrap());
    let mut bench = Bench {
        machine: Machine::new(program.clone()),
        program,
        outputs: written.outputs,
        wait: None,
    };
    let mut run = Run::new(scope.main.clone(), side, &scope, &fits);
    let mut lots = Lot::new(events);
    let runs = tally.runs;
    for number in 0..60 {
        let event = event(&mut lots, &steps, &run, number);
        let (port, value) = match &event {
            Event::Trigger(value) => ("trigger".to_owned(), value),
            Event::Message(value) => ("incoming".to_owned(), value),
            Event::Payload(step, value) => (format!("pay{}", step.start), value),
            Event::Choice(step, label, value) => (format!("arm{}{label}", step.start), value),
            Event::Late => (String::new(), &Value::Null),
        };
        let step = match bench.wait {
            Some(wait) if event == Event::Late => Some(bench.machine.finished(wait).unwrap()),
            None if event == Event::Late => None,
            _ => {
                let at = written
                    .inputs
                    .iter()
                    .position(|name| *name == port)
                    .unwrap();
                let at = u32::try_from(at).unwrap();
                Some(bench.machine.push(at, value.clone()).unwrap())
            }
        };
        prop_assert_eq!(bench.wait.is_some(), run.running());
        if event == Event::Late {
            bench.wait = None;
        }
        let given = step.map_or_else(Ports::new, |step| bench.take(step));
        let outcomes = run.on(event.clone());
        prop_assert_eq!(
            given,
            expected(&outcomes, tally),
            "{}\nevent {}: {:?}",
            written.text,
            number,
            event
        );
        if number % 9 == 4 {
            bench.travel();
        }
    }
    tally.three_runs += usize::from(tally.runs >= runs + 3);
    Ok(())
}

#[test]
fn the_machine_does_what_the_protocol_says() {
    let mut runner = TestRunner::new(Config::with_cases(60));
    let tally = std::cell::RefCell::new(Tally::default());
    let bytes = |longest| proptest::collection::vec(any::<u8>(), 0..longest);
    runner
        .run(
            &(bytes(60), bytes(300), any::<bool>()),
            |(protocol, events, dual)| agrees(&protocol, &events, dual, &mut tally.borrow_mut()),
        )
        .unwrap();
    let tally = tally.into_inner();
    assert!(tally.three_runs > 20, "{tally:?}");
    assert!(
        tally.sent > 100 && tally.received > 100 && tally.dropped > 20,
        "{tally:?}"
    );
}

#[test]
fn a_message_that_is_too_deep_does_not_take_the_session_with_it() {
    let text = "protocol P = recv json . end
        let main : (!json, !json) -> (!json, !json) = plumb(go, i, o, got) {
          (i, o) <-> P as s
          go ; s@trigger
          s@recv(json) ; got
        }";
    let checked = check("main", text, &BuiltIn);
    assert!(checked.is_sound(), "{:?}", checked.diagnostics);
    let program = Program::new(&checked.graph("main").unwrap()).unwrap();
    let mut machine = Machine::new(Arc::new(program));
    let deep = |depth: usize| {
        Value::parse(&format!("{}{}", "[".repeat(depth), "]".repeat(depth))).unwrap()
    };
    for depth in 100..=128 {
        machine.push(0, Value::Null).unwrap();
        let message = deep(depth);
        let step = machine.push(1, message.clone()).unwrap();
        if step.errors.is_empty() {
            assert_eq!(step.outputs, [(1, message)], "{depth}");
        } else {
            assert_eq!(step.outputs, [], "{depth}");
        }
    }
    machine.push(0, Value::Null).unwrap();
    let step = machine.push(1, Value::Int(1)).unwrap();
    assert_eq!(
        (step.outputs, step.errors),
        (vec![(1, Value::Int(1))], vec![])
    );
}
