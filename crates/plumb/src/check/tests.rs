//! Programs, each with the codes of what is wrong with it.

mod editors;
mod listings;
mod names;
mod once;
mod outside;
mod sessions;
mod typing;
mod wiring;

use super::*;
use crate::graph::{Kind, NodeId};
use crate::modules::BuiltIn;

fn codes_of(checked: &Checked) -> Vec<&'static str> {
    checked.diagnostics.iter().map(|one| one.code.0).collect()
}

/// Checks that each program has exactly these diagnostics, in the order of the text, and where none is an
/// error that each of its processes has a graph whose nodes and edges go together.
#[track_caller]
fn check_all(cases: &[(&str, &[&str])]) {
    let mut failed = String::new();
    for (text, codes) in cases {
        let checked = super::check("test.plumb", text, &BuiltIn);
        if codes_of(&checked) != *codes {
            failed += &format!("{text}\nwanted {codes:?}\n{}\n", told(&checked));
        } else if checked.is_sound() {
            for name in checked.names() {
                well_formed(&checked.graph(name).expect("a sound program has graphs"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

/// The diagnostics, one a line.
fn told(checked: &Checked) -> String {
    let lines = checked.diagnostics.iter().map(|one| {
        let source = checked.sources.get(one.span.source).expect("a source");
        let at = source.text.get(one.span.range()).unwrap_or("?");
        let hint = one.hint.as_deref().unwrap_or_default();
        format!("  {} `{at}`: {}. {hint}", one.code, one.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Each input of a node is the end of one edge, each output the start of one.
#[track_caller]
fn well_formed(graph: &Graph) {
    for (id, node) in (0..).map(NodeId).zip(&graph.nodes) {
        for (port, edge) in (0..).zip(&node.inputs) {
            assert_eq!(graph.edges[edge.0 as usize].to, (id, port), "{graph:#?}");
        }
        for (port, edge) in (0..).zip(&node.outputs) {
            assert_eq!(graph.edges[edge.0 as usize].from, (id, port), "{graph:#?}");
        }
        let ends = (node.inputs.len(), node.outputs.len());
        match &node.kind {
            Kind::Input | Kind::Empty | Kind::Once(_) => assert_eq!(ends, (0, 1)),
            Kind::Output | Kind::Discard => assert_eq!((ends.0 > 0, ends.1), (true, 0)),
            Kind::Copy => assert!(ends.0 == 1 && ends.1 >= 2),
            Kind::Merge | Kind::Barrier => assert!(ends.0 >= 2 && ends.1 == 1),
            Kind::External(id) => {
                let external = &graph.externals[id.0 as usize];
                assert_eq!(ends, (external.inputs.len(), external.outputs.len()));
            }
            _ => assert_eq!(ends, (1, 1), "{node:?}"),
        }
    }
    let ends: usize = graph.nodes.iter().map(|node| node.inputs.len()).sum();
    assert_eq!(ends, graph.edges.len());
}

/// A `main` from strings to strings with this body.
fn body(statements: &str) -> String {
    format!("let main : !string -> !string = plumb(input, output) {{\n{statements}\n}}")
}

/// Like [`check_all`], for bodies.
#[track_caller]
fn check_bodies(cases: &[(&str, &[&str])]) {
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(text, codes)| (body(text), *codes))
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    check_all(&cases);
}

/// The graph of `main`, one line a node: what it is, where its messages come from.
fn drawn(text: &str) -> String {
    let checked = super::check("test.plumb", text, &BuiltIn);
    assert!(checked.is_sound(), "{}", told(&checked));
    let graph = checked.graph("main").expect("main");
    well_formed(&graph);
    let mut lines = String::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        let kind = format!("{:?}", node.kind);
        let kind = kind.split(['(', ' ']).next().unwrap_or_default();
        let from: Vec<String> = node
            .inputs
            .iter()
            .map(|edge| {
                let edge = &graph.edges[edge.0 as usize];
                format!("{}.{}: {}", edge.from.0.0, edge.from.1, edge.kind)
            })
            .collect();
        lines += &format!("{number} {kind} {} ({})\n", node.name, from.join(", "));
    }
    lines
}
