//! Building graphs: ports are joined in any order, and what follows from the joints is worked out.

use std::sync::Arc;

use super::{Edge, EdgeId, External, ExternalId, Flow, Graph, Kind, Node, NodeId};
use crate::span::Span;
use crate::types::Type;

/// A graph in the making.
///
/// Nothing is checked here: a port that is joined twice or not at all gives a graph that does not hold
/// together, which [`Program::new`](crate::machine::Program::new) refuses.
#[derive(Clone, Debug)]
pub struct Builder {
    graph: Graph,
}

impl Builder {
    /// An empty graph for the process of this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            graph: Graph {
                name: name.into(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                nodes: Vec::new(),
                edges: Vec::new(),
                externals: Vec::new(),
            },
        }
    }

    /// An agent or a tool, for nodes to stand for.
    pub fn external(&mut self, external: External) -> ExternalId {
        self.graph.externals.push(external);
        ExternalId(number(self.graph.externals.len() - 1))
    }

    /// A node. Inputs and outputs of the graph are numbered in the order in which they come.
    pub fn node(&mut self, kind: Kind, name: impl Into<Arc<str>>, span: Span) -> NodeId {
        let id = NodeId(number(self.graph.nodes.len()));
        match kind {
            Kind::Input => self.graph.inputs.push(id),
            Kind::Output => self.graph.outputs.push(id),
            _ => {}
        }
        self.graph.nodes.push(Node {
            kind,
            name: name.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            span,
        });
        id
    }

    /// An edge from an output of a node to an input of another.
    pub fn edge(&mut self, from: (NodeId, u32), to: (NodeId, u32), kind: Type) -> EdgeId {
        let id = EdgeId(number(self.graph.edges.len()));
        self.graph.edges.push(Edge {
            from,
            to,
            kind,
            flow: Flow::Forward,
        });
        id
    }

    /// The graph, with the edges at their nodes and the cycles marked.
    #[must_use]
    pub fn finish(self) -> Graph {
        let mut graph = self.graph;
        attach(&mut graph);
        mark(&mut graph);
        graph
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn attach(graph: &mut Graph) {
    let mut ends: Vec<(NodeId, bool, u32, EdgeId)> = Vec::with_capacity(graph.edges.len() * 2);
    for (id, edge) in (0..).map(EdgeId).zip(&graph.edges) {
        ends.push((edge.from.0, true, edge.from.1, id));
        ends.push((edge.to.0, false, edge.to.1, id));
    }
    ends.sort_unstable();
    for (node, outgoing, _, edge) in ends {
        if let Some(node) = graph.nodes.get_mut(node.0 as usize) {
            let list = if outgoing {
                &mut node.outputs
            } else {
                &mut node.inputs
            };
            list.push(edge);
        }
    }
}

/// An edge lies on a cycle when both its ends are in one strongly connected component.
fn mark(graph: &mut Graph) {
    let component = components(graph);
    for edge in &mut graph.edges {
        let of = |node: NodeId| component.get(node.0 as usize);
        edge.flow = if of(edge.from.0) == of(edge.to.0) {
            Flow::Cycle
        } else {
            Flow::Forward
        };
    }
}

/// The strongly connected component of each node, after Kosaraju and Sharir: depth first along the edges
/// for the order in which nodes are left, then against the edges from the last one left.
fn components(graph: &Graph) -> Vec<Option<u32>> {
    let count = graph.nodes.len();
    let (mut ahead, mut back) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for edge in &graph.edges {
        let (from, to) = (edge.from.0.0, edge.to.0.0);
        if let Some(list) = ahead.get_mut(from as usize) {
            list.push(to);
        }
        if let Some(list) = back.get_mut(to as usize) {
            list.push(from);
        }
    }
    let mut component = vec![None; count];
    let order = left(&ahead);
    for (label, start) in (0..).zip(order.into_iter().rev()) {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if let Some(place @ None) = component.get_mut(node as usize) {
                *place = Some(label);
                open.extend(back.get(node as usize).into_iter().flatten());
            }
        }
    }
    component
}

/// All nodes in the order in which a depth-first walk leaves them.
fn left(ahead: &[Vec<u32>]) -> Vec<u32> {
    let mut seen = vec![false; ahead.len()];
    let mut order = Vec::with_capacity(ahead.len());
    for start in 0..number(ahead.len()) {
        let mut open = vec![(start, false)];
        while let Some((node, leaving)) = open.pop() {
            if leaving {
                order.push(node);
                continue;
            }
            if let Some(seen) = seen.get_mut(node as usize)
                && !std::mem::replace(seen, true)
            {
                open.push((node, true));
                let next = ahead.get(node as usize).into_iter().flatten();
                open.extend(next.map(|next| (*next, false)));
            }
        }
    }
    order
}
