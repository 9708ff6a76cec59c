//! Graphs as pictures: DOT for other programs, SVG by itself.
//!
//! Both show the operation of every node and the type of the messages on every edge. Checked narrowings are
//! nodes, so a picture shows where the compiler inserted one. Each session can be shown as one node instead of the
//! hundred that it becomes. Feedback has another color: in DOT all edges of a cycle, in SVG those that lead back
//! up.

mod dot;
mod layout;
mod look;
mod svg;
#[cfg(test)]
mod tests;
mod view;

use std::sync::Arc;

use crate::graph::Graph;
use crate::span::Span;
use view::View;

/// A session that is to be shown as one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The span of the binding; its translation has the same span.
    pub span: Span,
    /// The label: `Compaction as session`.
    pub text: Arc<str>,
}

/// A graph in DOT, all of it.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    dot_of(graph, &[])
}

/// A graph in DOT, these sessions as one node each.
#[must_use]
pub fn dot_of(graph: &Graph, sessions: &[Session]) -> String {
    dot::dot(&graph.name, &View::of(graph, sessions))
}

/// A graph in SVG, all of it: a whole document, which can also stand within HTML. It follows the reader's
/// choice of a light or a dark page, and names everything in full when it is pointed at.
#[must_use]
pub fn svg(graph: &Graph) -> String {
    svg_of(graph, &[])
}

/// A graph in SVG, these sessions as one node each.
#[must_use]
pub fn svg_of(graph: &Graph, sessions: &[Session]) -> String {
    svg::svg(&graph.name, &View::of(graph, sessions))
}
