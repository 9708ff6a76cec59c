//! The view of a graph that a picture shows: all of it, or each session as one node.

use std::collections::BTreeMap;

use super::Session;
use super::look::{Appearance, Form, beside, look};
use crate::graph::{Edge, Flow, Graph};

/// Nodes and edges as they are shown.
pub(super) struct View {
    pub(super) nodes: Vec<Seen>,
    pub(super) edges: Vec<Joint>,
}

/// A node.
pub(super) struct Seen {
    pub(super) look: Appearance,
    /// The number of edges in and out.
    pub(super) ports: (u32, u32),
}

/// An edge: node and port at both ends.
pub(super) struct Joint {
    pub(super) from: (usize, u32),
    pub(super) to: (usize, u32),
    /// The type of its messages, shortened and in full.
    pub(super) label: (String, String),
    pub(super) flow: Flow,
}

impl View {
    /// Shows a graph. Each session is shown as one node: the nodes that stem from a binding and hang
    /// together, so that two instances of a process have a session each.
    pub(super) fn of(graph: &Graph, sessions: &[Session]) -> Self {
        let session = |node: usize| {
            let span = graph.nodes.get(node)?.span;
            sessions.iter().position(|session| session.span == span)
        };
        let groups = together(graph, &session);
        let mut nodes = Vec::new();
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, node) in graph.nodes.iter().enumerate() {
            let group = groups.get(number).copied().unwrap_or(number);
            if places.contains_key(&group) {
                continue;
            }
            places.insert(group, nodes.len());
            let session = session(number).and_then(|session| sessions.get(session));
            nodes.push(Seen {
                look: session.map_or_else(|| look(graph, node), of_session),
                ports: (0, 0),
            });
        }
        let mut view = Self {
            nodes,
            edges: Vec::new(),
        };
        let place = |node: usize| {
            let group = groups.get(node)?;
            places.get(group).copied()
        };
        for edge in &graph.edges {
            let ends = (place(edge.from.0.0 as usize), place(edge.to.0.0 as usize));
            if let (Some(from), Some(to)) = ends {
                let within = from == to && session(edge.from.0.0 as usize).is_some();
                if !within {
                    view.join(edge, (from, to), |node| session(node).is_some());
                }
            }
        }
        view
    }

    /// Adds an edge. Ports of a session are numbered as its edges come.
    fn join(&mut self, edge: &Edge, (from, to): (usize, usize), folded: impl Fn(usize) -> bool) {
        let port = |count: &mut u32, number: u32, folded: bool| {
            let number = if folded { *count } else { number };
            *count = (*count).max(number + 1);
            number
        };
        let (out, into) = (edge.from.0.0 as usize, edge.to.0.0 as usize);
        let leaves = self.nodes.get_mut(from);
        let leaves = leaves.map_or(0, |node| port(&mut node.ports.1, edge.from.1, folded(out)));
        let enters = self.nodes.get_mut(to);
        let enters = enters.map_or(0, |node| port(&mut node.ports.0, edge.to.1, folded(into)));
        self.edges.push(Joint {
            from: (from, leaves),
            to: (to, enters),
            label: beside(edge),
            flow: edge.flow,
        });
    }
}

/// Per node: the first node of its group.
fn together(graph: &Graph, session: &dyn Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..graph.nodes.len()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for edge in &graph.edges {
            let (from, to) = (edge.from.0.0 as usize, edge.to.0.0 as usize);
            if session(from).is_none() || session(from) != session(to) {
                continue;
            }
            let of = |node: usize| groups.get(node).copied().unwrap_or(node);
            let first = of(from).min(of(to));
            for node in [from, to] {
                if let Some(group) = groups.get_mut(node).filter(|group| **group != first) {
                    *group = first;
                    changed = true;
                }
            }
        }
    }
    groups
}

fn of_session(session: &Session) -> Appearance {
    Appearance {
        form: Form::Session,
        word: Some("session".to_owned()),
        text: session.text.to_string(),
        whole: format!("session {}", session.text),
    }
}
