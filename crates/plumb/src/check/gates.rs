//! The sessions of a graph: where the state of each waits, and where violations end that nothing hears of.

use crate::graph::{Gate, Graph, Kind, Node, NodeId};

use super::scope::Watched;

/// Adds the sessions that a graph stems from.
pub(super) fn mark(mut graph: Graph, watched: &Watched) -> Graph {
    let sessions = watched.values().flat_map(|watch| watch.sessions());
    let mut gates = Vec::new();
    for session in sessions {
        let nodes = || (0..).map(NodeId).zip(&graph.nodes);
        let mine = |node: &Node| node.span == session.bound;
        // Each instance of the process has a gate, and the nodes of instances come one after the other.
        let barriers = nodes().filter(|(_, node)| {
            mine(node)
                && node.kind == Kind::Barrier
                && is_behind(&graph, node, &session.prefix, "state")
        });
        let unheard: Vec<NodeId> = nodes()
            .filter(|(_, node)| {
                mine(node)
                    && node.kind == Kind::Discard
                    && is_behind(&graph, node, &session.prefix, "error")
            })
            .map(|(id, _)| id)
            .collect();
        for (index, (barrier, _)) in barriers.enumerate() {
            gates.push(Gate {
                name: session.name.clone(),
                span: session.bound,
                barrier,
                unheard: unheard.get(index).copied(),
                steps: session.described(),
                rests: session.rests(),
            });
        }
    }
    gates.sort_by_key(|gate| gate.barrier);
    graph.gates = gates;
    graph
}

/// Returns true if the first input of a node comes from this channel of a session.
fn is_behind(graph: &Graph, node: &Node, prefix: &str, channel: &str) -> bool {
    let edge = node.inputs.first();
    let edge = edge.and_then(|edge| graph.edges.get(edge.0 as usize));
    let from = edge.and_then(|edge| graph.nodes.get(edge.from.0.0 as usize));
    from.is_some_and(|from| {
        let own = from.name.rsplit('.').next().unwrap_or_default();
        own.strip_prefix(prefix) == Some(channel)
    })
}
