//! States as values.

use std::sync::Arc;

use super::net::{below, filter, machine, map, net, play, plus, tool, value};
use crate::graph::{ExternalId, Graph, Kind};
use crate::machine::{Machine, Program, State, StateError};
use crate::types::Type;

fn graph(bound: i64) -> Graph {
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("both", Kind::Barrier),
        ("bot", Kind::External(ExternalId(0))),
        ("few", filter(below(bound))),
        ("out", Kind::Output),
    ];
    net(
        nodes,
        vec![tool(&["input"], &[("output", Type::Json)])],
        "a > both.0, b > both.1, both > bot, bot > few, few > out",
    )
}

#[test]
fn a_state_reads_as_json() {
    let mut machine = machine(&graph(9));
    play(
        &mut machine,
        "0=1 0=123456789012345678901234567890 1=\"x\" 0.",
    );
    let text = serde_json::to_string(machine.state()).unwrap();
    let (_, after) = text.split_once("\"phase\"").unwrap();
    assert_eq!(
        after,
        ":\"running\",\"ended\":[0],\"messages\":[[0,1,123456789012345678901234567890]],\
         \"in_flight\":[[0,3,0,[1,\"x\"]]],\"next_effect\":1,\"clock\":4,\"ending\":false,\
         \"counters\":{\"accepted\":3,\"answered\":0,\"begun\":0,\"copied\":0,\"told\":0,\
         \"delivered\":0,\"asked\":1,\"joined\":1,\"dropped\":0,\"narrowed\":0,\"failed\":0,\"parted\":0,\"discarded\":0,\
         \"left_over\":0}}"
    );
    let state: State = serde_json::from_str(&text).unwrap();
    let mut resumed = Machine::resume(Arc::clone(machine.program()), state).unwrap();
    assert_eq!(resumed.in_flight().count(), 1);
    let rest = "#0=5 #0. 1=null 1. #1=1 #1.";
    assert_eq!(play(&mut resumed, rest), play(&mut machine, rest));
}

#[test]
fn a_state_of_another_program_is_refused() {
    let state = machine(&graph(9)).into_state();
    let other = Arc::new(Program::new(&graph(8)).unwrap());
    assert_eq!(
        Machine::resume(other, state).unwrap_err(),
        StateError::Foreign
    );
}

#[test]
fn where_a_program_stands_says_nothing() {
    let (mut moved, there) = (graph(9), graph(9));
    for node in &mut moved.nodes {
        node.span.start += 100;
    }
    let id = |graph| Program::new(graph).unwrap().id();
    assert_eq!(id(&moved), id(&there));
    assert_ne!(id(&graph(10)), id(&there));
}

#[test]
fn a_damaged_state_is_refused() {
    let mut machine = machine(&graph(9));
    play(&mut machine, "0=1 0=2 1=3");
    let text = serde_json::to_string(machine.state()).unwrap();
    for (was, is) in [
        ("\"ended\":[]", "\"ended\":[6]"),
        ("\"ended\":[]", "\"ended\":[3]"),
        ("\"messages\":[[0,", "\"messages\":[[7,"),
        ("\"clock\":4", "\"clock\":1"),
        ("\"in_flight\":[[0,3", "\"in_flight\":[[0,2"),
        ("\"in_flight\":[[0,3,0", "\"in_flight\":[[0,3,1"),
        ("\"in_flight\":[[0,", "\"in_flight\":[[4,"),
    ] {
        let damaged = text.replace(was, is);
        assert_ne!(damaged, text, "{was}");
        let state: State = serde_json::from_str(&damaged).unwrap();
        let refused = Machine::resume(Arc::clone(machine.program()), state).unwrap_err();
        assert!(matches!(refused, StateError::Damaged(_)), "{was} {is}");
    }
    assert!(serde_json::from_str::<State>(&text.replace("4294967295", "4294967296")).is_ok());
    assert!(serde_json::from_str::<State>("{}").is_err());
}

#[test]
fn an_idle_network_of_150_nodes_takes_a_few_hundred_bytes() {
    let mut nodes = vec![("in", Kind::Input)];
    let names: Vec<String> = (0..150).map(|at| format!("n{at}")).collect();
    nodes.extend(names.iter().map(|name| (&**name, map(plus(1)))));
    nodes.push(("out", Kind::Output));
    let line: Vec<&str> = nodes.iter().map(|(name, _)| *name).collect();
    let joints: Vec<String> = line
        .windows(2)
        .map(|pair| format!("{} > {}", pair[0], pair[1]))
        .collect();
    let mut machine = machine(&net(nodes, Vec::new(), &joints.join(",")));
    assert!(machine.state().bytes() < 500, "{}", machine.state().bytes());
    for _ in 0..50 {
        machine.push(0, value("1")).unwrap();
    }
    assert!(
        machine.state().bytes() < 1_200,
        "{}",
        machine.state().bytes()
    );
    machine.shrink();
    assert!(machine.state().bytes() < 500);
}
