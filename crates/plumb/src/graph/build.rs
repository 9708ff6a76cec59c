//! Building graphs: ports are joined in any order; the builder derives the rest.

use std::sync::Arc;

use super::walk::{components, successors};
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
    handler: Option<NodeId>,
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
                gates: Vec::new(),
            },
            handler: None,
        }
    }

    /// Sets the node that tells of the failures of nodes that are added from now on. Returns the one before.
    pub fn handle(&mut self, handler: Option<NodeId>) -> Option<NodeId> {
        std::mem::replace(&mut self.handler, handler)
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
            handler: self.handler,
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

/// Marks the edges that lie on a cycle: both their ends are in one strongly connected component.
fn mark(graph: &mut Graph) {
    let ends = |edge: &Edge| (edge.from.0.0 as usize, edge.to.0.0 as usize);
    let told = (0..).zip(&graph.nodes);
    let told = told.filter_map(|(at, node)| Some((at, node.handler?.0 as usize)));
    let edges = graph.edges.iter().map(ends).chain(told);
    let next = successors(graph.nodes.len(), edges);
    let component = components(&next);
    for edge in &mut graph.edges {
        let (from, to) = ends(edge);
        if component.get(from) == component.get(to) {
            edge.flow = Flow::Cycle;
        }
    }
}
