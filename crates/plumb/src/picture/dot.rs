//! Graphs in DOT, the language of Graphviz.

use std::fmt::Write as _;

use super::look::Form;
use super::view::View;
use crate::graph::Flow;

/// A graph in DOT.
pub(super) fn dot(name: &str, view: &View) -> String {
    let mut out = format!("digraph {} {{\n", quoted(name));
    out.push_str("  node [fontname=\"monospace\", fontsize=11];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=9];\n");
    for (at, node) in view.nodes.iter().enumerate() {
        let look = &node.look;
        let shape = match look.form {
            Form::Port => "shape=box, style=rounded",
            Form::Outside => "shape=box, peripheries=2",
            Form::Session => "shape=component",
            Form::Box => "shape=box",
            Form::Check => "shape=box, style=dashed",
            Form::Bar => "shape=box, height=0.2",
            Form::Dot => "shape=ellipse, height=0.2",
        };
        let label = match &look.word {
            Some(word) => format!("{word}\n{}", look.text),
            None => look.text.clone(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  n{at} [label={}, tooltip={}, {shape}];",
            quoted(&label),
            quoted(&look.whole)
        );
    }
    for edge in &view.edges {
        let (label, whole) = &edge.label;
        let back = match edge.flow {
            Flow::Forward => "",
            Flow::Cycle => ", color=\"#b45309\"",
        };
        let _ = writeln!(
            out,
            "  n{} -> n{} [label={}, tooltip={}{back}];",
            edge.from.0,
            edge.to.0,
            quoted(label),
            quoted(whole)
        );
    }
    out.push_str("}\n");
    out
}

/// In double quotes. DOT has no escapes but `\"`, `\\` and, in labels, `\n`.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
