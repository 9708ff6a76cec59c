//! Agents, tools and timers: effects and their answers.

use super::net::{check, machine, map, net, play, plus, tool, value};
use crate::graph::{ExternalId, Graph, Kind};
use crate::machine::{EffectId, Request};
use crate::types::Type;

/// An agent with its control port and its telemetry.
fn agent() -> Graph {
    let nodes = vec![
        ("in", Kind::Input),
        ("ctrl", Kind::Input),
        ("bot", Kind::External(ExternalId(0))),
        ("out", Kind::Output),
        ("telemetry", Kind::Output),
    ];
    let ports = [("output", Type::Int), ("telemetry", Type::Json)];
    net(
        nodes,
        vec![tool(&["input", "ctrl_in"], &ports)],
        "in > bot.0, ctrl > bot.1, bot.0 > out : int, bot.1 > telemetry",
    )
}

#[test]
fn an_agent_answers_as_often_as_it_likes() {
    check(
        &agent(),
        "0=1 #0=2 #0=3 #0. #0. #0=4 #7=1 0. 1.",
        "#0 | 0=2 | 0=3 |  | refused: there is no such effect in flight \
         | refused: there is no such effect in flight | refused: there is no such effect in flight \
         |  | 0. 1.",
    );
    let mut machine = machine(&agent());
    machine.push(1, value("{\"pause\":true}")).unwrap();
    let step = machine
        .answer(EffectId(0), 1, value("{\"kind\":\"usage\"}"))
        .unwrap();
    assert_eq!(step.outputs, [(1, value("{\"kind\":\"usage\"}"))]);
}

#[test]
fn requests_name_the_port_and_stay_until_they_are_finished() {
    let mut machine = machine(&agent());
    machine.push(1, value("\"b\"")).unwrap();
    machine.push(0, value("\"a\"")).unwrap();
    let asked: Vec<_> = machine
        .in_flight()
        .map(|effect| match effect.request {
            Request::Ask { port, message, .. } => (effect.id.0, port, message.to_string()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        asked,
        [(0, 1, "\"b\"".to_owned()), (1, 0, "\"a\"".to_owned())]
    );
}

#[test]
fn an_answer_must_be_of_the_type_of_its_output() {
    check(
        &agent(),
        "0=1 #0=\"a\" #0=2",
        "#0 | !output_type_mismatch | 0=2",
    );
}

#[test]
fn a_network_lives_while_something_is_in_flight() {
    let calls = "0=1 0. 1. #0=5 #0.";
    check(&agent(), calls, "#0 |  |  | 0=5 | 0. 1.");
}

#[test]
fn a_loop_through_an_agent_ends_when_nothing_is_in_flight() {
    // The agent's answer goes back to it as well.
    let nodes = vec![
        ("in", Kind::Input),
        ("merge", Kind::Merge),
        ("bot", Kind::External(ExternalId(0))),
        ("copy", Kind::Copy),
        ("out", Kind::Output),
    ];
    let graph = net(
        nodes,
        vec![tool(&["input"], &[("output", Type::Json)])],
        "in > merge.0, merge > bot, bot > copy, copy.0 > out, copy.1 > merge.1",
    );
    check(
        &graph,
        "0=1 0. #0=2 #0. #1=3 #1. #2.",
        "#0 |  | 0=2 #1 |  | 0=3 #2 |  | 0.",
    );
}

fn timer() -> Graph {
    let nodes = vec![
        ("in", Kind::Input),
        ("timer", Kind::Timer),
        ("plus", map(super::net::field("run"))),
        ("out", Kind::Output),
    ];
    net(nodes, Vec::new(), "in > timer, timer > plus, plus > out")
}

#[test]
fn a_timer_gives_its_message_back() {
    let graph = timer();
    check(&graph, "0={\"run\":1,\"ms\":30} #0. 0.", "#0 | 0=1 | 0.");
    check(&graph, "0={\"run\":1,\"ms\":30} 0. #0.", "#0 |  | 0=1 0.");
    check(
        &graph,
        "0={\"run\":1,\"ms\":\"x\"} 0={\"ms\":null}",
        "!wrong_kind | ",
    );
    let step = machine(&graph)
        .push(0, value("{\"run\":1,\"ms\":30}"))
        .unwrap();
    let wait = Request::Wait {
        milliseconds: 30,
        message: value("{\"run\":1,\"ms\":30}"),
    };
    assert_eq!(step.effects[0].request, wait);
}

#[test]
fn a_newer_wait_replaces_the_older_one() {
    let mut machine = machine(&timer());
    let calls = "0={\"run\":1,\"ms\":30} 0={\"run\":2,\"ms\":30} #0. #1.";
    let steps = "#0 | #0 #1 | refused: there is no such effect in flight | 0=2";
    assert_eq!(play(&mut machine, calls), steps);
    // One without a time only ends the wait there is.
    let calls = "0={\"run\":3,\"ms\":30} 0={\"run\":3,\"ms\":0} 0.";
    assert_eq!(play(&mut machine, calls), "#2 | #2 | 0.");
    assert!(super::net::balanced(&machine));
}

#[test]
fn answers_go_through_the_network() {
    let nodes = vec![
        ("in", Kind::Input),
        ("search", Kind::External(ExternalId(0))),
        ("plus", map(plus(1))),
        ("out", Kind::Output),
    ];
    let graph = net(
        nodes,
        vec![tool(&["input"], &[("output", Type::Int)])],
        "in > search, search > plus : int, plus > out",
    );
    check(&graph, "0=1 0=2 #1=20 #0=10", "#0 | #1 | 0=21 | 0=11");
}
