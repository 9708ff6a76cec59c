//! Fragments put together to one graph.

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::{Builder, External, ExternalKind, ExternalPort, Graph, Kind, NodeId};
use crate::span::Span;
use crate::types::Type;
use crate::value::Value;

use super::fragment::{FAILURES, Fragment, Step, StepKind};
use super::process::{PortState, Process, ProcessId, Role};

/// The settings of an agent or a tool, as values.
pub(super) type Settings = Vec<(Arc<str>, Value)>;

/// Inlines fragments into one graph.
pub(super) struct Inline<'a> {
    processes: &'a [Process],
    fragments: &'a [Fragment],
    settings: &'a HashMap<ProcessId, Settings>,
    graph: Builder,
}

/// One end of an edge.
type End = (NodeId, u32);

/// A fragment in the graph, with the targets of its inputs and outputs.
#[derive(Default)]
struct Placed {
    ins: Vec<Option<End>>,
    outs: Vec<Option<End>>,
}

/// A node of a fragment in the graph.
enum Inlined {
    /// The node became this one; its outputs from a number on became another.
    Node(NodeId, Option<(u32, NodeId)>),
    /// Its fragment stands in its place.
    Placed(Placed),
    /// A part of the graph whose failures another node tells.
    Handled(Box<Self>, NodeId),
    /// The node is an input or output of an inlined fragment.
    Input(usize),
    Output(usize),
}

impl<'a> Inline<'a> {
    /// Inlines everything in `root`. An agent or a tool alone is a graph of one node.
    pub(super) fn graph(
        processes: &'a [Process],
        fragments: &'a [Fragment],
        settings: &'a HashMap<ProcessId, Settings>,
        root: ProcessId,
    ) -> Option<Graph> {
        let process = processes.get(root)?;
        let mut inline = Self {
            processes,
            fragments,
            settings,
            graph: Builder::new(&process.name),
        };
        match process.role {
            Role::Agent | Role::Tool | Role::Timer => inline.alone(root, process),
            _ => {
                inline.place(root, None)?;
            }
        }
        Some(inline.graph.finish())
    }

    /// An agent or a tool as the whole of a graph.
    fn alone(&mut self, root: ProcessId, process: &Process) {
        let span = process.span;
        let declared = |ports: &[super::process::Port]| -> Vec<ExternalPort> {
            Process::positional(ports).map(outside).collect()
        };
        let (ins, outs) = (declared(&process.inputs), declared(&process.outputs));
        let starts: Vec<NodeId> = ins
            .iter()
            .map(|port| self.graph.node(Kind::Input, port.name.clone(), span))
            .collect();
        let stood = self.external(
            root,
            (ins.clone(), outs.clone()),
            process.name.clone(),
            span,
        );
        for ((port, from), number) in ins.into_iter().zip(starts).zip(0..) {
            if let Some(to) = into(&stood, number) {
                self.graph.edge((from, 0), to, port.kind);
            }
        }
        for (port, number) in outs.into_iter().zip(0..) {
            let to = self.graph.node(Kind::Output, port.name.clone(), span);
            if let Some(from) = out_of(&stood, number) {
                self.graph.edge(from, (to, 0), port.kind);
            }
        }
    }

    /// Inlines a fragment into the graph; without `place`, it is the whole graph.
    fn place(&mut self, process: ProcessId, place: Option<&str>) -> Option<Placed> {
        let fragment = self.fragments.get(process)?;
        let mut placed = Placed::default();
        let mut stood = Vec::with_capacity(fragment.nodes.len());
        for step in &fragment.nodes {
            let name: Arc<str> = match place {
                Some(place) => format!("{place}.{}", step.name).into(),
                None => step.name.clone(),
            };
            stood.push(if step.failures {
                let told = Arc::from(format!("{name}@error"));
                let told = self.graph.node(Kind::Failures, told, step.span);
                let before = self.graph.handle(Some(told));
                let inner = self.step(step, name, place);
                self.graph.handle(before);
                Inlined::Handled(Box::new(inner?), told)
            } else {
                self.step(step, name, place)?
            });
        }
        for way in &fragment.edges {
            self.way(way, &stood, &mut placed)?;
        }
        Some(placed)
    }

    /// One node of a fragment in the graph.
    fn step(&mut self, step: &Step, name: Arc<str>, place: Option<&str>) -> Option<Inlined> {
        Some(match (&step.kind, place) {
            (StepKind::Input(_), None) => {
                Inlined::Node(self.graph.node(Kind::Input, name, step.span), None)
            }
            (StepKind::Output(_), None) => {
                Inlined::Node(self.graph.node(Kind::Output, name, step.span), None)
            }
            (StepKind::Input(index), Some(_)) => Inlined::Input(*index),
            (StepKind::Output(index), Some(_)) => Inlined::Output(*index),
            (StepKind::Plain(kind), _) => {
                Inlined::Node(self.graph.node(kind.clone(), name, step.span), None)
            }
            (StepKind::External(process, ins, outs), _) => {
                self.external(*process, (ins.clone(), outs.clone()), name, step.span)
            }
            (StepKind::Call(process), _) => Inlined::Placed(self.place(*process, Some(&name))?),
        })
    }

    fn way(
        &mut self,
        way: &super::fragment::Way,
        stood: &[Inlined],
        placed: &mut Placed,
    ) -> Option<()> {
        let from = stood.get(way.from.0)?;
        let to = stood.get(way.to.0)?;
        match (from, to) {
            (Inlined::Input(input), Inlined::Output(output)) => {
                let node = self.graph.node(Kind::Id, Arc::from("id"), Span::default());
                put(&mut placed.ins, *input, (node, 0));
                put(&mut placed.outs, *output, (node, 0));
            }
            (Inlined::Input(input), to) => put(&mut placed.ins, *input, into(to, way.to.1)?),
            (from, Inlined::Output(output)) => {
                put(&mut placed.outs, *output, out_of(from, way.from.1)?);
            }
            (from, to) => {
                let (from, to) = (out_of(from, way.from.1)?, into(to, way.to.1)?);
                self.graph.edge(from, to, way.kind.clone());
            }
        }
        Some(())
    }

    /// An agent or a tool; its one output for everything is two that are merged.
    fn external(
        &mut self,
        process: ProcessId,
        (inputs, mut outputs): (Vec<ExternalPort>, Vec<ExternalPort>),
        name: Arc<str>,
        span: Span,
    ) -> Inlined {
        let Some(declared) = self.processes.get(process) else {
            return Inlined::Node(self.graph.node(Kind::Id, name, span), None);
        };
        if declared.role == Role::Timer {
            return Inlined::Node(self.graph.node(Kind::Timer, name, span), None);
        }
        let reports = outputs.iter().position(|port| &*port.name == REPORTS);
        if let Some(at) = reports {
            let part = |name: &str| ExternalPort {
                name: name.into(),
                kind: Type::Json,
            };
            outputs.splice(at..=at, [part("ctrl_out"), part("telemetry")]);
        }
        let id = self.graph.external(External {
            name: declared.name.clone(),
            kind: match declared.role {
                Role::Agent => ExternalKind::Agent,
                _ => ExternalKind::Tool,
            },
            inputs,
            outputs,
            settings: self.settings.get(&process).cloned().unwrap_or_default(),
            span: declared.span,
        });
        let node = self.graph.node(Kind::External(id), name, span);
        let merged = reports.map(|at| {
            let first = u32::try_from(at).unwrap_or(u32::MAX);
            let merge = self.graph.node(Kind::Merge, Arc::from("merge"), span);
            self.graph.edge((node, first), (merge, 0), Type::Json);
            self.graph
                .edge((node, first.saturating_add(1)), (merge, 1), Type::Json);
            (first, merge)
        });
        Inlined::Node(node, merged)
    }
}

/// The compiler's name of an agent's single combined output.
pub(super) const REPORTS: &str = "reports";

/// A port as the driver knows it.
pub(super) fn outside(port: &super::process::Port) -> ExternalPort {
    ExternalPort {
        name: match port.state {
            PortState::Both => Arc::from(REPORTS),
            _ => port.name.clone(),
        },
        kind: port.kind.clone(),
    }
}

fn put(ends: &mut Vec<Option<End>>, index: usize, end: End) {
    if ends.len() <= index {
        ends.resize(index + 1, None);
    }
    if let Some(slot) = ends.get_mut(index) {
        *slot = Some(end);
    }
}

/// The end in the graph of an input of a fragment's node.
fn into(stood: &Inlined, port: u32) -> Option<End> {
    match stood {
        Inlined::Node(node, _) => Some((*node, port)),
        Inlined::Placed(placed) => placed.ins.get(port as usize).copied().flatten(),
        Inlined::Handled(inner, _) => into(inner, port),
        Inlined::Input(_) | Inlined::Output(_) => None,
    }
}

/// The end in the graph of an output of a fragment's node.
fn out_of(stood: &Inlined, port: u32) -> Option<End> {
    match stood {
        Inlined::Handled(_, told) if port == FAILURES => Some((*told, 0)),
        Inlined::Handled(inner, _) => out_of(inner, port),
        Inlined::Node(_, Some((first, merge))) if port >= *first => Some((*merge, port - first)),
        Inlined::Node(node, _) => Some((*node, port)),
        Inlined::Placed(placed) => placed.outs.get(port as usize).copied().flatten(),
        Inlined::Input(_) | Inlined::Output(_) => None,
    }
}
