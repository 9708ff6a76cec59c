//! A checked program as a graph: what the machine runs and what pictures show.
//!
//! Nodes have numbered inputs and outputs. Every input is the end of exactly one edge and every output the
//! start of exactly one: where the program fans out or in, a [`Kind::Copy`] or a [`Kind::Merge`] stands
//! here; unread outputs go to a [`Kind::Discard`]. A `plumb` process that is used in another is
//! inlined, once for each instance.

mod build;
pub(crate) mod walk;

use std::sync::Arc;

pub use build::Builder;

use crate::span::Span;
use crate::types::Type;

/// A network: all that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// The process that runs.
    pub name: Arc<str>,
    /// The nodes where messages enter, in the order of the signature: nodes of [`Kind::Input`].
    pub inputs: Vec<NodeId>,
    /// The nodes where messages leave, in the order of the signature: nodes of [`Kind::Output`].
    pub outputs: Vec<NodeId>,
    /// The nodes. Their order is that of the program, and the order in which ready ones run.
    pub nodes: Vec<Node>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// The agents and tools that nodes of [`Kind::External`] stand for.
    pub externals: Vec<External>,
    /// The sessions that it stems from, in the order of their gates.
    pub gates: Vec<Gate>,
}

/// A session in a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Its name.
    pub name: Arc<str>,
    /// The span of its binding.
    pub span: Span,
    /// The node at which its state waits for events, on the first input: `{ run, step, held, … }`, where the
    /// step counts from 1 and 0 is none.
    pub barrier: NodeId,
    /// The node that discards its reports of violations, if nothing reads them.
    pub unheard: Option<NodeId>,
    /// Its steps in words.
    pub steps: Vec<Arc<str>>,
    /// Per step: true if a run may rest there, since the protocol comes back to it.
    pub rests: Vec<bool>,
}

/// The number of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The number of an edge in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// The number of an agent or tool in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExternalId(pub u32);

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The operation.
    pub kind: Kind,
    /// The name in pictures and errors: the process, the channel, the step of the protocol.
    pub name: Arc<str>,
    /// The edges into it, in the order of its inputs.
    pub inputs: Vec<EdgeId>,
    /// The edges out of it, in the order of its outputs.
    pub outputs: Vec<EdgeId>,
    /// The place in the program that it comes from.
    pub span: Span,
    /// The node of [`Kind::Failures`] that tells of this node's failures, if a port `error` is wired.
    pub handler: Option<NodeId>,
}

/// An edge: a queue of messages, first in, first out.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node and which of its outputs.
    pub from: (NodeId, u32),
    /// The node and which of its inputs.
    pub to: (NodeId, u32),
    /// The type of its messages.
    pub kind: Type,
    /// The flow: the queue of an edge on a cycle has no bound.
    pub flow: Flow,
}

/// The position of an edge relative to cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flow {
    /// No way leads back.
    Forward,
    /// The edge is part of a cycle.
    Cycle,
}

/// The operation of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Messages come in from outside here. No inputs, one output. Each message is checked against the
    /// type of its edge.
    Input,
    /// Messages go out here. One input, no outputs.
    Output,
    /// Passes each message on; a channel is one.
    Id,
    /// To all outputs, the first one first.
    Copy,
    /// Passes on messages from all inputs, in order of arrival.
    Merge,
    /// Drops each message.
    Discard,
    /// No message ever, and ends at once.
    Empty,
    /// This message at the start, before any other moves, and ends.
    Once(Value),
    /// Joins one message from each input into a list, in their order.
    Barrier,
    /// A new message from each.
    Map(Arc<Code>),
    /// Passes on messages for which the expression is true.
    Filter(Arc<Code>, Selector),
    /// The part with this number of a list.
    Project(u32),
    /// `{ tag: l, value: message }`.
    Tag(Arc<str>),
    /// Passes on messages of this type. The others go to the error stream as
    /// [`P0801`](crate::diagnostic::Code).
    Narrow(Type),
    /// The port `error` of a process: a record for each message that one of its nodes could not handle. It has
    /// no inputs; those nodes name it as their [`Node::handler`].
    Failures,
    /// An agent or a tool: what comes in is an effect for the driver, which answers on its outputs.
    External(ExternalId),
    /// Time: a message `{ run, step, ms }` that comes in starts a wait, an effect for the driver, which
    /// gives the message back when the time has passed. A newer message replaces the wait. In a program it
    /// is a tool with the one setting `timer: true`.
    Timer,
}

/// The behavior of a filter if a message lacks a field that its expression reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selector {
    /// There is no such message: the type says so.
    Total,
    /// The message is dropped: the input is a sum or `json`.
    Partial,
}

/// An expression, checked, for the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The expression. Names are resolved: [`Op::Message`] and fields of it.
    pub op: Op,
    /// The source in canonical form, for pictures.
    pub text: Arc<str>,
    /// The place in the program.
    pub span: Span,
}

/// A checked expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The whole message.
    Message,
    /// A value that is the same each time, a literal or an expression of such.
    Constant(Value),
    /// A field of a record. If it is missing, a partial filter drops the message; elsewhere the message goes
    /// to the error stream.
    Field(Box<Op>, Arc<str>),
    /// A part of a list, from 0, as the type promises.
    Part(Box<Op>, u32),
    /// True if the whole value has this type: the test of [`Kind::Narrow`].
    Is(Box<Op>, Type),
    /// `{ k: e }`.
    Record(Vec<(Arc<str>, Op)>),
    /// `[e, …]`.
    List(Vec<Op>),
    /// `-e` or `not e`.
    Unary(crate::syntax::ast::Unary, Box<Op>),
    /// `a + b`.
    Binary(crate::syntax::ast::Binary, Box<Op>, Box<Op>),
    /// `if c then a else b`.
    If(Box<Op>, Box<Op>, Box<Op>),
    /// `len(e)`.
    Len(Box<Op>),
    /// `contains(s, t)`.
    Contains(Box<Op>, Box<Op>),
    /// True if the field exists.
    Defined(Box<Op>),
}

/// An agent or a tool as the program declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct External {
    /// The name in the program, with its module unless it is the program's own: `Mem.compressor`.
    pub name: Arc<str>,
    /// The number of the output.
    pub kind: ExternalKind,
    /// Its input ports, in the order of its node's inputs; those that nothing feeds are left out.
    pub inputs: Vec<ExternalPort>,
    /// The output ports, in the order of the node's outputs; those that nothing reads are left out.
    pub outputs: Vec<ExternalPort>,
    /// Its settings as they are written, checked: `provider`, `model`, `prompt` and so on.
    pub settings: Vec<(Arc<str>, Value)>,
    /// The span of its declaration.
    pub span: Span,
}

/// The kind of an external process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExternalKind {
    /// A language model with its memory.
    Agent,
    /// One answer for each message.
    Tool,
}

/// A port of an agent or a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalPort {
    /// `input`, `ctrl_in`, `output`, `ctrl_out`, `telemetry`.
    pub name: Arc<str>,
    /// The type of its messages.
    pub kind: Type,
}

pub use crate::value::Value;
