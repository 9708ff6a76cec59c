//! Fuel, bounded queues, high-water marks.

use super::net::{
    balanced, below, check, filter, limited, machine, map, net, play, plus, shown, tool, value,
};
use crate::graph::{ExternalId, Graph, Kind, Op};
use crate::machine::{FaultKind, Limits, Refusal};
use crate::types::Type;

fn forever() -> Graph {
    let nodes = vec![
        ("in", Kind::Input),
        ("round", Kind::Merge),
        ("plus", map(Op::Message)),
        ("copy", Kind::Copy),
        ("behind", map(plus(1))),
        ("out", Kind::Discard),
    ];
    let joints =
        "in > round.0, round > plus, plus > copy, copy.0 > round.1, copy.1 > behind, behind > out";
    net(nodes, Vec::new(), joints)
}

#[test]
fn a_loop_that_never_consumes_runs_out_of_fuel() {
    let mut machine = machine(&forever());
    let step = machine.push(0, value("1")).unwrap();
    assert_eq!(shown(&step), "!out_of_fuel");
    assert_eq!(
        step.errors[0].detail,
        "not at rest after 1000000 steps; the cycle: round -> plus -> copy -> round"
    );
    assert!(machine.stopped() && machine.ended() && balanced(&machine));
    assert_eq!(
        machine.push(0, value("2")).unwrap_err().why,
        Refusal::Stopped
    );
    assert_eq!(machine.close(0).unwrap_err().why, Refusal::Stopped);
}

#[test]
fn fuel_is_for_each_call() {
    let fuel = |fuel| Limits {
        fuel,
        ..Limits::default()
    };
    let nodes = vec![
        ("in", Kind::Input),
        ("a", Kind::Id),
        ("b", Kind::Id),
        ("out", Kind::Output),
    ];
    let graph = net(nodes, Vec::new(), "in > a, a > b, b > out");
    let mut enough = limited(&graph, fuel(3));
    assert_eq!(play(&mut enough, "0=1 0=2"), "0=1 | 0=2");
    let mut short = limited(&graph, fuel(2));
    let step = short.push(0, value("1")).unwrap();
    assert_eq!(step.errors[0].detail, "not at rest after 2 steps");
}

#[test]
fn a_large_comparison_takes_more_fuel() {
    let both = Op::List(vec![Op::Message, Op::Message]);
    let graph = net(
        vec![
            ("in", Kind::Input),
            (
                "same",
                map(super::net::binary(
                    crate::syntax::ast::Binary::Equal,
                    both.clone(),
                    both,
                )),
            ),
            ("out", Kind::Output),
        ],
        Vec::new(),
        "in > same, same > out",
    );
    let limits = Limits {
        fuel: 10,
        ..Limits::default()
    };
    let mut machine = limited(&graph, limits);
    assert_eq!(play(&mut machine, "0=\"short\""), "0=true");
    let long = crate::value::Value::text("x".repeat(100_000));
    let step = machine.push(0, long).unwrap();
    assert_eq!(step.errors[0].kind, FaultKind::Fuel);
}

#[test]
fn a_loop_that_nests_its_message_meets_the_end_of_depth() {
    let nodes = vec![
        ("in", Kind::Input),
        ("round", Kind::Merge),
        ("nest", map(Op::List(vec![Op::Message]))),
    ];
    let graph = net(
        nodes,
        Vec::new(),
        "in > round.0, round > nest, nest > round.1",
    );
    check(&graph, "0=1", "!message_too_large");
    let nodes = vec![
        ("in", Kind::Input),
        ("round", Kind::Merge),
        ("nest", map(Op::List(vec![Op::Message, Op::Message]))),
    ];
    let graph = net(
        nodes,
        Vec::new(),
        "in > round.0, round > nest, nest > round.1",
    );
    check(&graph, "0=1", "!message_too_large");
    let nodes = vec![
        ("in", Kind::Input),
        ("round", Kind::Merge),
        ("nest", Kind::Tag("again".into())),
    ];
    let graph = net(
        nodes,
        Vec::new(),
        "in > round.0, round > nest, nest > round.1",
    );
    check(&graph, "0=1", "!message_too_large");
}

fn small() -> Limits {
    Limits {
        queue: 2,
        high_water: 2,
        ..Limits::default()
    }
}

#[test]
fn a_full_queue_refuses_and_gives_the_message_back() {
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("id", Kind::Id),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
    ];
    let graph = net(
        nodes,
        Vec::new(),
        "a > id, id > both.0, b > both.1, both > out",
    );
    let mut machine = limited(&graph, small());
    // Two before the barrier, two behind the input.
    assert_eq!(
        play(&mut machine, "0=1 0=2 0=3 0=4 0=5"),
        " |  |  |  | refused: the queue is full"
    );
    let refused = machine.push(0, value("5")).unwrap_err();
    assert_eq!(
        (refused.why, refused.message),
        (Refusal::Full, Some(value("5")))
    );
    assert_eq!(
        play(&mut machine, "1=6 0=5 1=7 1=8 1=9 1=10"),
        "0=[1,6] |  | 0=[2,7] | 0=[3,8] | 0=[4,9] | 0=[5,10]"
    );
    assert!(balanced(&machine));
}

#[test]
fn requests_in_flight_are_bounded() {
    let nodes = vec![
        ("in", Kind::Input),
        ("bot", Kind::External(ExternalId(0))),
        ("out", Kind::Output),
    ];
    let graph = net(
        nodes,
        vec![tool(&["input"], &[("output", Type::Json)])],
        "in > bot, bot > out",
    );
    let mut machine = limited(&graph, small());
    let calls = "0=1 0=2 0=3 0=4 0=5 #0. #0. 0=5 0. #1. #2. #3. #4.";
    let steps = "#0 | #1 |  |  | refused: the queue is full | #2 \
                 | refused: there is no such effect in flight |  |  | #3 | #4 |  | 0.";
    assert_eq!(play(&mut machine, calls), steps);
    assert!(balanced(&machine) && machine.ended());
}

#[test]
fn an_answer_before_a_full_queue_is_refused_too() {
    let nodes = vec![
        ("in", Kind::Input),
        ("b", Kind::Input),
        ("bot", Kind::External(ExternalId(0))),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
    ];
    let graph = net(
        nodes,
        vec![tool(&["input"], &[("output", Type::Json)])],
        "in > bot, bot > both.0, b > both.1, both > out",
    );
    let mut machine = limited(&graph, small());
    let calls = "0=1 #0=1 #0=2 #0=3 1=4 #0=3 #0.";
    assert_eq!(
        play(&mut machine, calls),
        "#0 |  |  | refused: the queue is full | 0=[1,4] |  | "
    );
}

#[test]
fn a_long_queue_in_a_loop_warns_at_each_doubling() {
    // The loop's barrier waits for the second input.
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("round", Kind::Merge),
        ("both", Kind::Barrier),
        ("first", Kind::Project(0)),
        ("again", filter(below(0))),
    ];
    let joints =
        "a > round.0, round > both.0, b > both.1, both > first, first > again, again > round.1";
    let graph = net(nodes, Vec::new(), joints);
    let mut machine = limited(&graph, small());
    let calls = "0=1 0=1 0=1 0=1 0=1 0=1 0=1 0=1";
    assert_eq!(
        play(&mut machine, calls),
        " | ?high_water |  | ?high_water |  |  |  | ?high_water"
    );
}

#[test]
fn full_queues_that_wait_for_each_other_end_with_an_error() {
    // The filter keeps what the other side of the barrier waits for.
    let nodes = vec![
        ("in", Kind::Input),
        ("copy", Kind::Copy),
        ("none", filter(below(0))),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
    ];
    let joints = "in > copy, copy.0 > both.0, copy.1 > none, none > both.1, both > out";
    let mut machine = limited(&net(nodes, Vec::new(), joints), small());
    assert_eq!(
        play(&mut machine, "0=1 0=2 0=3 0=4 0=5"),
        " |  |  |  | refused: the queue is full"
    );
    assert_eq!(play(&mut machine, "0."), "!deadlock 0.");
    assert!(machine.ended() && balanced(&machine));
}
