//! Tests of each kind of node.

use super::net::{below, check, field, filter, lit, map, net, plus};
use crate::graph::{Graph, Kind, Op, Selector};
use crate::machine::mismatch;
use crate::types::{Field, Presence, Type};

/// Input, this, output.
fn between(kind: Kind) -> Graph {
    let nodes = vec![("in", Kind::Input), ("it", kind), ("out", Kind::Output)];
    net(nodes, Vec::new(), "in > it, it > out")
}

#[test]
fn id_passes_on() {
    check(&between(Kind::Id), "0=1 0=[2] 0.", "0=1 | 0=[2] | 0.");
}

#[test]
fn map_makes_a_new_message() {
    check(
        &between(map(plus(1))),
        "0=1 0=1.5 0=\"a\" 0.",
        "0=2 | 0=2.5 | !wrong_kind | 0.",
    );
    check(
        &between(map(field("a"))),
        "0={\"a\":null} 0={}",
        "0=null | !missing_field",
    );
    check(
        &between(map(lit("{\"pause\":true}"))),
        "0=1",
        "0={\"pause\":true}",
    );
}

#[test]
fn filter_drops() {
    check(
        &between(filter(below(3))),
        "0=1 0=3 0=\"a\" 0=2",
        "0=1 |  |  | 0=2",
    );
    let total = Kind::Filter(super::net::code(below(3)), Selector::Total);
    check(&between(total), "0=1 0=3 0=\"a\"", "0=1 |  | !wrong_kind");
    check(
        &between(filter(Op::Message)),
        "0=true 0=false 0=1",
        "0=true |  | ",
    );
}

#[test]
fn project_takes_a_part() {
    let graph = between(Kind::Project(1));
    check(
        &graph,
        "0=[1,2] 0=[1] 0=1",
        "0=2 | !missing_field | !wrong_kind",
    );
}

#[test]
fn tag_labels() {
    check(
        &between(Kind::Tag("yes".into())),
        "0=1",
        "0={\"tag\":\"yes\",\"value\":1}",
    );
}

#[test]
fn narrowing_sends_what_does_not_fit_to_the_errors() {
    let graph = between(Kind::Narrow(Type::Text));
    check(&graph, "0=\"a\" 0=1", "0=\"a\" | !type_mismatch");
    let step = super::net::machine(&graph)
        .push(0, super::net::value("[1]"))
        .unwrap();
    assert_eq!(
        step.errors[0].to_value().to_string(),
        r#"{"error":"type_mismatch","category":"invalid","detail":"it: expected string, found a list","message":[1]}"#
    );
}

#[test]
fn of_several_types_the_one_that_is_meant_says_what_is_wrong() {
    let part = |name: &str, kind: Type| Field {
        name: name.into(),
        presence: Presence::Required,
        kind,
    };
    let word = |word: &str| part("kind", Type::Literal(word.into()));
    let of = |fields: Vec<Field>| Type::Record(fields.into());
    let sum = Type::Sum(
        vec![
            of(vec![part("stop", Type::Bool)]),
            of(vec![word("use"), part("tokens", Type::Int)]),
            of(vec![word("end"), part("at", Type::Text)]),
            Type::Unit,
        ]
        .into(),
    );
    let check = |message: &str, expected: &str| {
        let wrong = mismatch(&sum, &super::net::value(message)).unwrap();
        assert_eq!(wrong.to_string(), expected);
    };
    check(
        r#"{"stop":1}"#,
        "expected bool, found a whole number at .stop",
    );
    check(
        r#"{"kind":"use","tokens":1.5}"#,
        "expected int, found a number at .tokens",
    );
    check(
        r#"{"kind":"end"}"#,
        "expected the field `at`, which is missing",
    );
    let all = "expected { stop } | { kind, tokens } | { kind, at } | unit";
    check(r#"{"kind":"no"}"#, &format!("{all}, found {{ kind }}"));
    check("{}", &format!("{all}, found {{ }}"));
    let many = r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}"#;
    check(many, &format!("{all}, found {{ a, b, c, d, e, f, … }}"));
}

#[test]
fn an_input_takes_only_its_type() {
    let nodes = vec![("in", Kind::Input), ("out", Kind::Output)];
    let graph = net(nodes, Vec::new(), "in > out : int");
    check(
        &graph,
        "0=\"a\" 0=1 0=1.0",
        "!input_type_mismatch | 0=1 | !input_type_mismatch",
    );
}

#[test]
fn copy_and_merge() {
    let nodes = vec![
        ("in", Kind::Input),
        ("copy", Kind::Copy),
        ("plus", map(plus(1))),
        ("id", Kind::Id),
        ("merge", Kind::Merge),
        ("out", Kind::Output),
    ];
    let joints = "in > copy, copy.0 > plus, copy.1 > id, plus > merge.0, id > merge.1, merge > out";
    check(
        &net(nodes, Vec::new(), joints),
        "0=1 0=5 0.",
        "0=2 0=1 | 0=6 0=5 | 0.",
    );
}

#[test]
fn merge_keeps_the_order_of_arrival() {
    // The second input of the merge is written to first.
    let nodes = vec![
        ("in", Kind::Input),
        ("copy", Kind::Copy),
        ("merge", Kind::Merge),
        ("out", Kind::Output),
    ];
    let joints = "in > copy, copy.0 > merge.1, copy.1 > merge.0, merge > out";
    check(
        &net(nodes, Vec::new(), joints),
        "0=1 0=2",
        "0=1 0=1 | 0=2 0=2",
    );
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("merge", Kind::Merge),
        ("out", Kind::Output),
    ];
    let graph = net(nodes, Vec::new(), "a > merge.0, b > merge.1, merge > out");
    check(
        &graph,
        "1=1 0=2 1=3 1. 0=4 0.",
        "0=1 | 0=2 | 0=3 |  | 0=4 | 0.",
    );
}

#[test]
fn discard_empty_and_once() {
    let nodes = vec![
        ("in", Kind::Input),
        ("discard", Kind::Discard),
        ("empty", Kind::Empty),
        ("first", Kind::Output),
        ("once", Kind::Once(super::net::value("7"))),
        ("second", Kind::Output),
    ];
    let graph = net(
        nodes,
        Vec::new(),
        "in > discard, empty > first, once > second",
    );
    check(&graph, "0=1 0.", "1=7 0. 1. | ");
}

#[test]
fn barrier_pairs_in_order() {
    let nodes = vec![
        ("a", Kind::Input),
        ("b", Kind::Input),
        ("both", Kind::Barrier),
        ("out", Kind::Output),
    ];
    let graph = net(nodes, Vec::new(), "a > both.0, b > both.1, both > out");
    check(&graph, "0=1 0=2 1=3 1=4 1=5", " |  | 0=[1,3] | 0=[2,4] | ");
}

#[test]
fn a_loop_goes_round_until_a_filter_stops_it() {
    let nodes = vec![
        ("in", Kind::Input),
        ("merge", Kind::Merge),
        ("plus", map(plus(1))),
        ("copy", Kind::Copy),
        ("again", filter(below(4))),
        ("out", Kind::Output),
    ];
    let joints =
        "in > merge.0, merge > plus, plus > copy, copy.0 > out, copy.1 > again, again > merge.1";
    check(
        &net(nodes, Vec::new(), joints),
        "0=1 0=9 0.",
        "0=2 0=3 0=4 | 0=10 | 0.",
    );
}

#[test]
fn a_state_goes_round_through_a_barrier() {
    // Numbers its messages: the state is the count so far.
    let nodes = vec![
        ("in", Kind::Input),
        ("once", Kind::Once(super::net::value("0"))),
        ("state", Kind::Merge),
        ("both", Kind::Barrier),
        ("copy", Kind::Copy),
        ("count", Kind::Project(0)),
        ("next", map(plus(1))),
        ("out", Kind::Output),
    ];
    let joints = "once > state.0, state > both.0, in > both.1, both > copy, copy.0 > count, \
                  count > next, next > state.1, copy.1 > out";
    let graph = net(nodes, Vec::new(), joints);
    check(
        &graph,
        "0=\"a\" 0=\"b\" 0=\"c\" 0.",
        r#"0=[0,"a"] | 0=[1,"b"] | 0=[2,"c"] | 0."#,
    );
}
