//! A graph, made ready for running: checked once, shared by all machines that run it.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use super::expression::Expression;
use super::fan::Fan;
use super::record::Names;
use super::shape::Shape;
use super::state::State;
use crate::graph::{
    Code, Edge, External, ExternalId, Flow, Gate, Graph, Kind, Node, NodeId, Selector,
};
use crate::span::Span;
use crate::types::Type;
use crate::value::Value;

/// Limits of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of steps after one call (a push, an answer) before the network must be at rest. A
    /// step is one message at one node, and each 4 KiB that an expression looks at.
    pub fuel: u64,
    /// The maximum number of messages on an edge, at least 1; also the maximum number of requests that an
    /// agent or tool may have in flight.
    pub queue: u32,
    /// The length of a queue in a feedback loop that causes a warning; another warning follows at each
    /// doubling.
    pub high_water: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 1_000_000,
            queue: 1_024,
            high_water: 1_024,
        }
    }
}

/// The identity of a program. Two graphs that run alike share it, wherever they are in their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgramId(pub u64);

/// A graph that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// An edge and its nodes do not say the same.
    #[error("edge {0} does not join what its nodes say")]
    Edge(usize),
    /// A node has not the inputs and outputs of its kind, or names something that is not there.
    #[error("node {0} has the wrong inputs or outputs for its kind")]
    Node(usize),
    /// An expression or a type is nested too deep.
    #[error("node {0} has an expression or a type that is nested too deep")]
    Deep(usize),
    /// Inputs or outputs of the graph are not those of its nodes.
    #[error("the inputs and outputs of the graph are not those of its nodes")]
    Boundary,
}

impl GraphError {
    /// Its stable code.
    #[must_use]
    pub const fn code(&self) -> crate::diagnostic::Code {
        super::fault::GRAPH
    }
}

/// A graph, made ready for running. Share it: `Arc<Program>`.
#[derive(Debug)]
pub struct Program {
    pub(super) name: Arc<str>,
    pub(super) id: ProgramId,
    pub(super) limits: Limits,
    /// The out edge of each input of the graph.
    pub(super) inputs: Box<[u32]>,
    pub(super) units: Box<[Unit]>,
    pub(super) pipes: Box<[Pipe]>,
    pub(super) externals: Box<[External]>,
    outputs: usize,
    /// Per node: the index of the filters behind a copy.
    pub(super) fans: Box<[Option<Fan>]>,
    /// The sessions, by the node of their gate.
    pub(super) gates: Box<[Gate]>,
    /// The state of every network after its start, if the start has no output.
    pub(super) started: OnceLock<Option<State>>,
}

/// A node.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) number: NodeId,
    pub(super) act: Act,
    pub(super) inputs: Box<[u32]>,
    pub(super) outputs: Box<[u32]>,
    /// The nodes at the other ends of its inputs.
    pub(super) before: Box<[u32]>,
    /// The nodes at the other ends of its outputs that do not stand behind it in the graph.
    pub(super) back: Box<[u32]>,
    pub(super) name: Arc<str>,
    pub(super) span: Span,
    /// The node that tells of its failures.
    pub(super) handler: Option<u32>,
    /// The edge behind that node.
    pub(super) told: Option<u32>,
}

/// The operation of a node.
#[derive(Debug)]
pub(super) enum Act {
    Input,
    /// The number of the output.
    Output(u32),
    Id,
    Copy,
    Merge,
    Discard,
    /// The end of a session's reports that nothing reads; the number of the session.
    Unheard(usize),
    Empty,
    Once(Value),
    Barrier,
    /// A `map`, a `project` or a `tag`.
    Map(Expression),
    Filter(Expression, Selector),
    Narrow(Shape, Type),
    External(ExternalId),
    Timer,
    /// The port `error`: `before` are the nodes that it tells of.
    Failures,
}

/// An edge.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) flow: Flow,
    /// Tests messages from outside.
    pub(super) shape: Shape,
    pub(super) kind: Type,
    /// True if it leads to the side of a barrier that holds the state of a loop; found out when a message has
    /// failed.
    pub(super) state: OnceLock<bool>,
}

impl Program {
    /// Makes a graph ready, with the usual limits.
    ///
    /// # Errors
    /// If the graph does not hold together; those of the checker do.
    pub fn new(graph: &Graph) -> Result<Self, GraphError> {
        Self::with_limits(graph, Limits::default())
    }

    /// Makes a graph ready, with other limits; they are no part of its identity.
    ///
    /// # Errors
    /// If the graph does not hold together; those of the checker do.
    pub fn with_limits(graph: &Graph, limits: Limits) -> Result<Self, GraphError> {
        let mut pipes = Vec::with_capacity(graph.edges.len());
        for (at, edge) in graph.edges.iter().enumerate() {
            pipes.push(pipe(graph, at, edge)?);
        }
        let names = Names::default();
        let mut units = Vec::with_capacity(graph.nodes.len());
        for (at, node) in graph.nodes.iter().enumerate() {
            units.push(unit(graph, at, node, &names)?);
        }
        let fans = units.iter().map(|unit| Fan::new(unit, &units, &pipes));
        Ok(Self {
            fans: fans.collect(),
            gates: graph.gates.clone().into(),
            name: Arc::clone(&graph.name),
            id: identity(graph),
            limits: Limits {
                queue: limits.queue.max(1),
                high_water: limits.high_water.max(1),
                ..limits
            },
            inputs: boundary(graph, &units)?,
            units: units.into(),
            pipes: pipes.into(),
            externals: graph.externals.clone().into(),
            outputs: graph.outputs.len(),
            started: OnceLock::new(),
        })
    }

    /// The process that it runs.
    #[must_use]
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The identity of the program.
    #[must_use]
    pub const fn id(&self) -> ProgramId {
        self.id
    }

    /// The number of inputs.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The number of outputs.
    #[must_use]
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// An agent or a tool.
    #[must_use]
    pub fn external(&self, id: ExternalId) -> Option<&External> {
        self.externals.get(id.0 as usize)
    }

    /// The agents and tools.
    #[must_use]
    pub const fn externals(&self) -> &[External] {
        &self.externals
    }

    pub(super) fn unit(&self, node: u32) -> Option<&Unit> {
        self.units.get(node as usize)
    }

    /// The session whose gate this node is.
    pub(super) fn gate(&self, node: u32) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.barrier.0 == node)
    }

    pub(super) fn fan(&self, node: u32) -> Option<&Fan> {
        self.fans.get(node as usize)?.as_ref()
    }

    pub(super) fn pipe(&self, edge: u32) -> Option<&Pipe> {
        self.pipes.get(edge as usize)
    }
}

fn pipe(graph: &Graph, at: usize, edge: &Edge) -> Result<Pipe, GraphError> {
    let node = |id: NodeId| graph.nodes.get(id.0 as usize);
    let from = node(edge.from.0).and_then(|it| it.outputs.get(edge.from.1 as usize));
    let to = node(edge.to.0).and_then(|it| it.inputs.get(edge.to.1 as usize));
    let here = |it: Option<&crate::graph::EdgeId>| it.is_some_and(|it| it.0 as usize == at);
    if !(here(from) && here(to)) {
        return Err(GraphError::Edge(at));
    }
    Ok(Pipe {
        from: edge.from.0.0,
        to: edge.to.0.0,
        flow: edge.flow,
        shape: Shape::new(&edge.kind, Value::DEPTH)
            .ok_or(GraphError::Deep(edge.from.0.0 as usize))?,
        kind: edge.kind.clone(),
        state: OnceLock::new(),
    })
}

fn unit(graph: &Graph, at: usize, node: &Node, names: &Names) -> Result<Unit, GraphError> {
    let ends = |edges: &[crate::graph::EdgeId], outgoing: bool| {
        let joined = |(port, edge): (usize, &crate::graph::EdgeId)| {
            let there = graph.edges.get(edge.0 as usize)?;
            let (node, number) = if outgoing { there.from } else { there.to };
            (node.0 as usize == at && number as usize == port).then_some(edge.0)
        };
        edges
            .iter()
            .enumerate()
            .map(joined)
            .collect::<Option<Box<[u32]>>>()
    };
    if !has_arity(graph, node) {
        return Err(GraphError::Node(at));
    }
    let edge = |id: &crate::graph::EdgeId| graph.edges.get(id.0 as usize);
    let before = node.inputs.iter().filter_map(edge).map(|it| it.from.0.0);
    let before: Vec<u32> = match node.kind {
        Kind::Failures => covered(graph, at),
        _ => before.collect(),
    };
    let handler = node.handler.map(|handler| handler.0);
    let told = handler.and_then(|it| graph.nodes.get(it as usize));
    let behind = node.outputs.iter().filter_map(edge).map(|it| it.to.0.0);
    let behind = behind.chain(handler);
    Ok(Unit {
        handler,
        told: told.and_then(|it| it.outputs.first()).map(|edge| edge.0),
        number: NodeId(u32::try_from(at).map_err(|_| GraphError::Node(at))?),
        before: before.into(),
        back: behind.filter(|to| *to as usize <= at).collect(),
        act: act(graph, at, node, names).ok_or(GraphError::Deep(at))?,
        inputs: ends(&node.inputs, false).ok_or(GraphError::Node(at))?,
        outputs: ends(&node.outputs, true).ok_or(GraphError::Node(at))?,
        name: Arc::clone(&node.name),
        span: node.span,
    })
}

/// The nodes whose failures a node tells of.
fn covered(graph: &Graph, at: usize) -> Vec<u32> {
    let nodes = (0..).zip(&graph.nodes);
    let its = nodes.filter(|(_, node)| node.handler.is_some_and(|it| it.0 as usize == at));
    its.map(|(node, _)| node).collect()
}

fn has_arity(graph: &Graph, node: &Node) -> bool {
    let (inputs, outputs) = (node.inputs.len(), node.outputs.len());
    match &node.kind {
        Kind::Input | Kind::Empty | Kind::Once(_) | Kind::Failures => (inputs, outputs) == (0, 1),
        Kind::Output | Kind::Discard => (inputs, outputs) == (1, 0),
        Kind::Copy => inputs == 1 && outputs > 0,
        Kind::Merge | Kind::Barrier => inputs > 0 && outputs == 1,
        Kind::External(id) => graph.externals.get(id.0 as usize).is_some_and(|external| {
            (inputs, outputs) == (external.inputs.len(), external.outputs.len())
        }),
        _ => (inputs, outputs) == (1, 1),
    }
}

fn act(graph: &Graph, at: usize, node: &Node, names: &Names) -> Option<Act> {
    let expression = |code: &Code| Expression::new(&code.op, 2 * Value::DEPTH, names);
    Some(match &node.kind {
        Kind::Input => Act::Input,
        Kind::Output => {
            let port = graph.outputs.iter().position(|id| id.0 as usize == at);
            Act::Output(u32::try_from(port.unwrap_or_default()).ok()?)
        }
        Kind::Id => Act::Id,
        Kind::Copy => Act::Copy,
        Kind::Merge => Act::Merge,
        Kind::Discard => {
            let mut gates = graph.gates.iter();
            let session = gates.position(|gate| gate.unheard.is_some_and(|it| it.0 as usize == at));
            session.map_or(Act::Discard, Act::Unheard)
        }
        Kind::Empty => Act::Empty,
        Kind::Once(value) => Act::Once(value.clone()),
        Kind::Barrier => Act::Barrier,
        Kind::Map(code) => Act::Map(expression(code)?),
        Kind::Filter(code, selector) => Act::Filter(expression(code)?, *selector),
        Kind::Project(part) => Act::Map(Expression::part(*part)),
        Kind::Tag(label) => Act::Map(Expression::tagged(label, names)),
        Kind::Narrow(kind) => Act::Narrow(Shape::new(kind, Value::DEPTH)?, kind.clone()),
        Kind::External(id) => Act::External(*id),
        Kind::Timer => Act::Timer,
        Kind::Failures => Act::Failures,
    })
}

/// The out edges of the graph's inputs, once inputs and outputs are seen to be right: every node of the
/// kind is named, once.
fn boundary(graph: &Graph, units: &[Unit]) -> Result<Box<[u32]>, GraphError> {
    let named = |list: &[NodeId], wanted: fn(&Act) -> bool| {
        let mut numbers: Vec<usize> = list.iter().map(|id| id.0 as usize).collect();
        numbers.sort_unstable();
        let there = units
            .iter()
            .enumerate()
            .filter(|(_, unit)| wanted(&unit.act));
        there.map(|(at, _)| at).eq(numbers)
    };
    if !named(&graph.inputs, |act| matches!(act, Act::Input))
        || !named(&graph.outputs, |act| matches!(act, Act::Output(_)))
    {
        return Err(GraphError::Boundary);
    }
    let out = |id: &NodeId| units.get(id.0 as usize)?.outputs.first().copied();
    let edges: Option<Box<[u32]>> = graph.inputs.iter().map(out).collect();
    edges.ok_or(GraphError::Boundary)
}

/// FNV-1a, 64 bits. It detects accidental changes and does not have to resist attacks.
struct Fnv(u64);

impl std::fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

/// Over everything that the machine sees, and not over where it stands in the source.
fn identity(graph: &Graph) -> ProgramId {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let mut put = |what: &dyn std::fmt::Debug| {
        // Writing to the hash cannot fail.
        let _ = write!(hash, "{what:?};");
    };
    put(&(&graph.name, &graph.inputs, &graph.outputs, &graph.edges));
    for node in &graph.nodes {
        match &node.kind {
            Kind::Map(code) => put(&("map", &code.op)),
            Kind::Filter(code, selector) => put(&("filter", &code.op, selector)),
            kind => put(kind),
        }
        put(&(&node.name, &node.inputs, &node.outputs));
        if let Some(handler) = node.handler {
            put(&("told by", handler));
        }
    }
    for external in &graph.externals {
        put(&(&external.name, external.kind, &external.settings));
        put(&(&external.inputs, &external.outputs));
    }
    ProgramId(hash.0)
}
