//! For every protocol and every sequence of events, the network does what the protocol says.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::super::desugar;
use super::super::steps::{Action, Next, Steps};
use super::evaluator::{Network, fits};
use super::generate::{Lot, Protocols, event, program};
use super::traces::{Event, Run, SessionOutput};
use crate::syntax::ast::{Body, DeclarationKind, Plumb, Program, Side};
use crate::value::Value;

/// The outputs of ports, in order.
pub(super) type Ports = BTreeMap<Arc<str>, Vec<Value>>;

/// Counts over all cases, so that the test knows that it tests something.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) runs: usize,
    pub(super) finished: usize,
    pub(super) failed: usize,
    pub(super) sent: usize,
    pub(super) received: usize,
    pub(super) chosen: usize,
    pub(super) dropped: usize,
    pub(super) three_runs: usize,
    pub(super) held: usize,
    pub(super) called: usize,
}

fn body(program: &Program) -> &Plumb {
    let mut bodies =
        program
            .declarations
            .iter()
            .filter_map(|declaration| match &declaration.kind {
                DeclarationKind::Let(definition) => match &definition.body {
                    Body::Plumb(plumb) => Some(plumb),
                    _ => None,
                },
                _ => None,
            });
    bodies.next_back().unwrap()
}

/// A session of which every endpoint has a port, and what those are called.
fn network(scope: &Protocols, side: Side, lot: u64) -> Option<(Steps, Network)> {
    let (steps, _) = Steps::of(&scope.main, scope).unwrap();
    let steps = match side {
        Side::Itself => steps,
        Side::Dual => steps.dual(),
    };
    if steps.steps.len() > 40 {
        return None;
    }
    let program = program(&steps, side, scope);
    let (plain, found, _) = desugar(&program, scope);
    assert_eq!(found, Vec::new());
    let plumb = body(&plain);
    let mut watched: Vec<&str> = plumb.ports.iter().map(|port| &*port.text).collect();
    watched.retain(|port| !port.starts_with("pay"));
    watched.push("s_act");
    Some((steps, Network::of(plumb, &watched, lot)))
}

fn push(network: &mut Network, event: &Event) {
    match event {
        Event::Trigger(value) => network.push("trigger", value.clone()),
        Event::Message(value) => network.push("incoming", value.clone()),
        Event::Payload(step, value) => network.push(&format!("pay{}", step.start), value.clone()),
        Event::Choice(step, label, value) => {
            network.push(&format!("arm{}{label}", step.start), value.clone());
        }
        Event::Late => {
            if let Some(wait) = network.waits.last().cloned() {
                network.ring(&wait);
            }
        }
    }
}

/// The outputs that the ports of the network must have given, in order.
pub(super) fn expected(outcomes: &[SessionOutput], tally: &mut Tally) -> Ports {
    let mut ports = Ports::new();
    for outcome in outcomes {
        let (port, value) = match outcome {
            SessionOutput::Started(value) => {
                tally.runs += 1;
                ("started".into(), value.clone())
            }
            SessionOutput::Sent(value) => {
                tally.sent += 1;
                ("outgoing".into(), value.clone())
            }
            SessionOutput::Received(step, value) => {
                tally.received += 1;
                (format!("got{}", step.start), value.clone())
            }
            SessionOutput::Offered(step, label, value) => {
                tally.chosen += 1;
                (format!("arm{}{label}", step.start), value.clone())
            }
            SessionOutput::Done(step) => (format!("done{}", step.start), Value::Null),
            SessionOutput::Unexpected(value) => ("wrong".into(), value.clone()),
            SessionOutput::Timeout => ("wrong".into(), Value::Null),
            SessionOutput::Dropped => {
                tally.dropped += 1;
                continue;
            }
        };
        ports.entry(port.into()).or_default().push(value);
    }
    ports
}

/// The outputs of the ports since the last time. Errors are compared by the message they are about.
fn given(network: &mut Network) -> Ports {
    let mut ports = Ports::new();
    for (port, seen) in &mut network.seen {
        let inner = ["trigger", "incoming", "s_act"].contains(&&**port);
        let values = std::mem::take(seen);
        if inner || values.is_empty() {
            continue;
        }
        let plain = |value: Value| match (&**port, value.get("message")) {
            ("wrong", Some(message)) => message.clone(),
            _ => value,
        };
        ports.insert(port.clone(), values.into_iter().map(plain).collect());
    }
    ports
}

/// One protocol, one sequence of events; after each, network and protocol have done the same, and the gate
/// knows what waits.
fn agrees(
    protocol: &[u8],
    events: &[u8],
    lot: u64,
    tally: &mut Tally,
) -> Result<(), TestCaseError> {
    let scope = Protocols::draw(&mut Lot::new(protocol));
    let side = if lot % 4 == 3 {
        Side::Dual
    } else {
        Side::Itself
    };
    let Some((steps, mut network)) = network(&scope, side, lot) else {
        return Ok(());
    };
    let mut run = Run::new(scope.main.clone(), side, &scope, &fits);
    let mut lots = Lot::new(events);
    let runs = tally.runs;
    for number in 0..90_i64 {
        let event = event(&mut lots, &steps, &run, number);
        let was_running = run.running();
        if let Some((_, overtaken)) = network.waits.split_last() {
            let old = overtaken
                .get(number as usize % overtaken.len().max(1))
                .cloned();
            old.iter().for_each(|wait| network.ring(wait));
        }
        push(&mut network, &event);
        network.settle();
        let outcomes = run.on(event.clone());
        if was_running && !run.running() {
            let failed = |o: &SessionOutput| {
                matches!(o, SessionOutput::Timeout | SessionOutput::Unexpected(_))
            };
            if outcomes.iter().any(failed) {
                tally.failed += 1;
            } else {
                tally.finished += 1;
            }
        }
        let mut ports = expected(&outcomes, tally);
        if let Event::Choice(step, label, value) = &event {
            // The port through which the choice came is watched as well.
            let port = format!("arm{}{label}", step.start);
            ports.entry(port.into()).or_default().push(value.clone());
        }
        prop_assert_eq!(given(&mut network), ports, "event {}: {:?}", number, event);
        let (state, [held, called]) = network.waiting();
        prop_assert_eq!(state.get("held"), Some(&Value::Int(held as i64)));
        prop_assert_eq!(state.get("called"), Some(&Value::Bool(called > 0)));
        prop_assert!(called <= held.min(1));
        tally.held = tally.held.max(held);
        tally.called += called;
    }
    tally.three_runs += usize::from(tally.runs >= runs + 3);
    Ok(())
}

#[test]
fn the_network_does_what_the_protocol_says() {
    let mut runner = TestRunner::new(Config::with_cases(250));
    let tally = std::cell::RefCell::new(Tally::default());
    let bytes = |longest| proptest::collection::vec(any::<u8>(), 0..longest);
    runner
        .run(
            &(bytes(60), bytes(400), any::<u64>()),
            |(protocol, events, lot)| agrees(&protocol, &events, lot, &mut tally.borrow_mut()),
        )
        .unwrap();
    let tally = tally.into_inner();
    assert!(tally.three_runs > 100, "{tally:?}");
    assert!(tally.finished > 200 && tally.failed > 200, "{tally:?}");
    assert!(tally.sent > 500 && tally.received > 500, "{tally:?}");
    assert!(tally.chosen > 100 && tally.dropped > 100, "{tally:?}");
    assert!(tally.held > 10 && tally.called > 100, "{tally:?}");
}

/// Everything at once and in any order: what the gate lets through is still a trace of the protocol.
fn is_a_trace(steps: &Steps, acts: &[Value]) -> Result<(), TestCaseError> {
    let mut at = Next::End;
    for act in acts {
        let word = act.get("do").and_then(Value::as_text).unwrap();
        let body = act.get("body").unwrap();
        let step = match at {
            Next::Step(index) => steps.steps.get(index),
            Next::End => None,
        };
        match (word, step.map(|step| &step.action)) {
            ("start", None) => at = steps.first,
            ("start", _) => prop_assert!(false, "a run starts in a run"),
            ("send", Some(Action::Send(kind, next))) | ("recv", Some(Action::Recv(kind, next))) => {
                prop_assert!(fits(kind, body));
                at = *next;
            }
            ("send", Some(Action::Select(arms))) | ("recv", Some(Action::Offer(arms))) => {
                let label = body.get("tag").and_then(Value::as_text);
                let arm = arms.iter().find(|arm| Some(&*arm.label.text) == label);
                at = arm.unwrap().next;
            }
            ("send" | "recv", other) => prop_assert!(false, "{word} at {other:?}"),
            ("unexpected" | "late", _) => at = Next::End,
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config::with_cases(100))]

    #[test]
    fn whatever_the_order_only_traces_pass(
        protocol in proptest::collection::vec(any::<u8>(), 0..60),
        events in proptest::collection::vec(any::<u8>(), 0..300),
        lot: u64,
    ) {
        let scope = Protocols::draw(&mut Lot::new(&protocol));
        let Some((steps, mut network)) = network(&scope, Side::Itself, lot) else {
            return Ok(());
        };
        let mut run = Run::new(scope.main.clone(), Side::Itself, &scope, &fits);
        let mut lots = Lot::new(&events);
        for number in 0..60 {
            let event = event(&mut lots, &steps, &run, number);
            push(&mut network, &event);
            run.on(event);
            if number % 7 == 6 {
                network.settle();
            }
        }
        network.settle();
        let acts = std::mem::take(network.seen.get_mut("s_act").unwrap());
        is_a_trace(&steps, &acts)?;
        let sent: Vec<_> = acts.iter().filter(|act| act.get("do") == Some(&Value::text("send")))
            .map(|act| act.get("body").unwrap().clone()).collect();
        prop_assert_eq!(&network.seen["outgoing"], &sent);
    }

    #[test]
    fn the_dual_of_the_dual_is_the_protocol(protocol in proptest::collection::vec(any::<u8>(), 0..80)) {
        let scope = Protocols::draw(&mut Lot::new(&protocol));
        let (steps, _) = Steps::of(&scope.main, &scope).unwrap();
        let dual = steps.clone().dual();
        let sends = |steps: &Steps| steps.steps.iter()
            .filter(|step| matches!(step.action, Action::Send(..) | Action::Select(_))).count();
        prop_assert_eq!(sends(&steps) + sends(&dual), steps.steps.len());
        prop_assert_eq!(dual.dual(), steps);
    }
}
