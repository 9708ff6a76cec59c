//! When streams and networks end.

use super::net::{balanced, check, filter, lit, machine, net, play};
use crate::graph::{Graph, Kind};

fn pairs() -> Graph {
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
    ];
    net(nodes, Vec::new(), "a > both.0, b > both.1, both > out")
}

#[test]
fn a_barrier_ends_when_one_side_has_ended_and_is_drained() {
    check(
        &pairs(),
        "0=1 0=2 0. 1=3 1=4 1=5 1.",
        " |  |  | 0=[1,3] | 0=[2,4] 0. |  | ",
    );
    check(&pairs(), "0=1 1.", " | 0.");
    check(&pairs(), "0. 1=1 1.", "0. |  | ");
}

#[test]
fn what_is_left_over_is_counted() {
    let mut machine = machine(&pairs());
    play(&mut machine, "0=1 0=2 0=3 1=4 1. 0=5");
    assert_eq!(machine.counters().left_over, 3);
    assert!(!machine.ended(), "the first input is open");
    play(&mut machine, "0.");
    assert!(machine.ended() && balanced(&machine));
}

#[test]
fn a_closed_input_takes_no_more() {
    check(
        &pairs(),
        "0. 0. 0=1 5=1 5.",
        "0. |  | refused: the input is closed | refused: there is no such port | refused: there is no such port",
    );
}

#[test]
fn what_nothing_can_reach_ends_at_the_start() {
    // A loop that nothing feeds, and a barrier with an empty side.
    let nodes = vec![
        ("in", Kind::Input),
        ("round", Kind::Merge),
        ("copy", Kind::Copy),
        ("loop", Kind::Output),
        ("empty", Kind::Empty),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
    ];
    let joints =
        "copy.0 > round, round > copy, copy.1 > loop, in > both.0, empty > both.1, both > out";
    let graph = net(nodes, Vec::new(), joints);
    let mut machine = machine(&graph);
    assert_eq!(machine.start().ended, [0, 1]);
    assert_eq!(play(&mut machine, "0=1 0."), " | ");
    assert_eq!(machine.counters().left_over, 1);
    assert!(machine.ended());
}

#[test]
fn a_loop_ends_with_what_waits_in_it() {
    // A state waits in the loop for the next message; no more come.
    let nodes = vec![
        ("in", Kind::Input),
        ("once", Kind::Once(super::net::value("0"))),
        ("state", Kind::Merge),
        ("both", Kind::Barrier),
        ("copy", Kind::Copy),
        ("next", Kind::Project(0)),
        ("out", Kind::Output),
    ];
    let joints = "once > state.0, state > both.0, in > both.1, both > copy, copy.0 > next, \
                  next > state.1, copy.1 > out";
    let graph = net(nodes, Vec::new(), joints);
    let mut machine = machine(&graph);
    assert_eq!(play(&mut machine, "0=1 0."), "0=[0,1] | 0.");
    assert_eq!(machine.counters().left_over, 1);
    assert!(machine.ended() && balanced(&machine));
}

#[test]
fn a_barrier_fed_once_ends_after_the_first_pair() {
    let nodes = vec![
        ("in", Kind::Input),
        ("once", Kind::Once(super::net::value("0"))),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
    ];
    let graph = net(nodes, Vec::new(), "in > both.0, once > both.1, both > out");
    check(&graph, "0=1 0=2 0.", "0=[1,0] 0. |  | ");
}

#[test]
fn one_branch_may_end_before_the_other() {
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("none", filter(lit("false"))),
        ("first", Kind::Output),
        ("second", Kind::Output),
    ];
    let graph = net(nodes, Vec::new(), "a > none, none > first, b > second");
    check(&graph, "0=1 0. 1=2 1.", " | 0. | 1=2 | 1.");
}

#[test]
fn a_network_without_inputs_ends_by_itself() {
    let nodes = vec![
        ("once", Kind::Once(super::net::value("1"))),
        ("out", Kind::Output),
    ];
    let mut machine = machine(&net(nodes, Vec::new(), "once > out"));
    assert!(!machine.ended());
    let step = machine.start();
    assert_eq!((step.outputs.len(), step.ended.len()), (1, 1));
    assert!(machine.ended());
    assert_eq!(machine.start(), crate::machine::Step::default());
}

#[test]
fn who_waits_for_room_before_a_barrier_that_ends_goes_on() {
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("copy", Kind::Copy),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
        ("other", Kind::Output),
    ];
    let joints = "a > copy, copy.0 > both.0, copy.1 > other, b > both.1, both > out";
    let limits = crate::machine::Limits {
        queue: 1,
        ..crate::machine::Limits::default()
    };
    let mut machine = super::net::limited(&net(nodes, Vec::new(), joints), limits);
    assert_eq!(
        play(&mut machine, "0=1 0=2 1. 0=3 0."),
        "1=1 |  | 1=2 0. | 1=3 | 1."
    );
    assert_eq!(machine.counters().left_over, 3);
}
