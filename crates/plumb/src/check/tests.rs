//! Programs, each with the codes of what is wrong with it.

use super::*;
use crate::modules::BuiltIn;

fn codes_of(checked: &Checked) -> Vec<&'static str> {
    checked.diagnostics.iter().map(|one| one.code.0).collect()
}

/// Checks that a program has exactly these diagnostics, in the order of the text, and where there are no
/// errors that each of its processes has a graph whose nodes and edges go together.
#[track_caller]
fn check(text: &str, codes: &[&str]) -> Checked {
    let checked = super::check("test.plumb", text, &BuiltIn);
    assert_eq!(
        codes_of(&checked),
        codes,
        "{text}\n{:#?}",
        checked.diagnostics
    );
    if checked.is_sound() {
        for name in checked.names() {
            well_formed(&checked.graph(name).expect("a sound program has graphs"));
        }
    }
    checked
}

/// Each input of a node is the end of one edge, each output the start of one.
#[track_caller]
fn well_formed(graph: &Graph) {
    for (id, node) in (0..).map(crate::graph::NodeId).zip(&graph.nodes) {
        for (port, edge) in (0..).zip(&node.inputs) {
            let edge = &graph.edges[edge.0 as usize];
            assert_eq!(edge.to, (id, port), "{graph:#?}");
        }
        for (port, edge) in (0..).zip(&node.outputs) {
            let edge = &graph.edges[edge.0 as usize];
            assert_eq!(edge.from, (id, port), "{graph:#?}");
        }
    }
    let ends: usize = graph.nodes.iter().map(|node| node.inputs.len()).sum();
    assert_eq!(ends, graph.edges.len());
}

/// A `main` from strings to strings with this body.
fn body(statements: &str) -> String {
    format!("let main : !string -> !string = plumb(input, output) {{\n{statements}\n}}")
}

#[test]
fn the_memory_module_checks() {
    check("use mem", &[]);
    let checked = super::check("mem.plumb", crate::modules::MEM, &BuiltIn);
    assert_eq!(
        codes_of(&checked),
        [] as [&str; 0],
        "{:#?}",
        checked.diagnostics
    );
}

#[test]
fn wiring() {
    check(&body("input ; output"), &[]);
    check(&body("input ; id ; output"), &[]);
    check(&body("input ; map(len(value)) ; output"), &["P0301"]);
}
