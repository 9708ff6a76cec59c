//! A checked body: nodes and edges, with other processes still as calls.

use std::sync::Arc;

use crate::graph::{Code, ExternalPort, Kind};
use crate::span::Span;
use crate::syntax::ast::Expr;
use crate::types::Type;

use super::draft::{Draft, Part, PartId, Stage};
use super::infer::{Ports, Types};
use super::process::{Process, ProcessId, Role};

/// A checked body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragment {
    pub nodes: Vec<Step>,
    pub edges: Vec<Way>,
}

/// A node of a fragment.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub kind: StepKind,
    pub name: Arc<str>,
    pub span: Span,
    /// True if its port `error` is wired: output [`FAILURES`].
    pub failures: bool,
}

/// The number of the output `error` of a [`Step`].
pub(crate) const FAILURES: u32 = u32::MAX;

/// The action of a node of a fragment.
#[derive(Clone, Debug)]
pub(crate) enum StepKind {
    /// The boundary input with this number.
    Input(usize),
    /// The boundary output with this number.
    Output(usize),
    /// A built-in morphism.
    Plain(Kind),
    /// A `plumb` or a morphism, whose fragment takes this place.
    Call(ProcessId),
    /// An agent or a tool, with the ports that are used, in order.
    External(ProcessId, Vec<ExternalPort>, Vec<ExternalPort>),
}

/// An edge of a fragment.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub from: (usize, u32),
    pub to: (usize, u32),
    pub kind: Type,
}

/// Makes the fragment of a draft without errors.
pub(super) fn assemble(
    draft: &Draft<'_>,
    ports: &Ports,
    types: Types,
    (processes, process): (&[Process], &Process),
    text: &dyn Fn(&Expr) -> Arc<str>,
) -> Fragment {
    let count = draft.parts.len();
    let mut assembly = Assembly {
        draft,
        ports,
        types,
        processes,
        process,
        text,
        fragment: Fragment::default(),
        starts: vec![Vec::new(); count],
        ends: vec![None; draft.links.len()],
    };
    let mut order: Vec<PartId> = (0..count).collect();
    order.sort_by_key(|part| {
        draft.parts.get(*part).map(|part| match part.stage {
            Stage::Output(_) => u32::MAX,
            _ => part.statement,
        })
    });
    for part in order {
        assembly.place(part);
    }
    assembly.ways();
    assembly.fragment
}

struct Assembly<'a, 'd> {
    draft: &'d Draft<'a>,
    ports: &'d Ports,
    types: Types,
    processes: &'d [Process],
    process: &'d Process,
    text: &'d dyn Fn(&Expr) -> Arc<str>,
    fragment: Fragment,
    /// Per part and output: the node ends at which its links begin, in order.
    starts: Vec<Vec<Vec<(usize, u32)>>>,
    /// Per link: the end that it leads to.
    ends: Vec<Option<(usize, u32)>>,
}

impl Assembly<'_, '_> {
    fn node(&mut self, kind: StepKind, name: &str, span: Span) -> usize {
        self.fragment.nodes.push(Step {
            kind,
            name: name.into(),
            span,
            failures: false,
        });
        self.fragment.nodes.len() - 1
    }

    fn plain(&mut self, kind: Kind, span: Span) -> usize {
        let name = match &kind {
            Kind::Copy => "copy",
            Kind::Merge => "merge",
            _ => "discard",
        };
        self.node(StepKind::Plain(kind), name, span)
    }

    fn way(&mut self, from: (usize, u32), to: (usize, u32), kind: Type) {
        self.fragment.edges.push(Way { from, to, kind });
    }

    /// Adds a part, with the nodes that it needs in front and behind.
    fn place(&mut self, part: PartId) {
        let Some(drafted) = self.draft.parts.get(part) else {
            return;
        };
        let unused = matches!(drafted.stage, Stage::Channel(_))
            && self.ports.into(part, 0).is_empty()
            && self.ports.out_of(part, 0).is_empty();
        if unused {
            return;
        }
        let fronts: Vec<Front> = (0..drafted.ins as usize)
            .map(|port| self.front(part, port, drafted))
            .collect();
        let (kind, inputs, outputs) = self.step(part, drafted);
        let node = self.node(kind, &drafted.name, drafted.span);
        let mut next = 0;
        for (port, front) in fronts.into_iter().enumerate() {
            if inputs.as_ref().is_some_and(|used| !used.contains(&port)) {
                continue;
            }
            self.lead(&front, (node, next), part, port);
            next += 1;
        }
        self.behind(part, drafted, node, outputs.as_ref());
    }

    /// Adds the nodes in front of an input: checks, and a merge if several links lead there.
    fn front(&mut self, part: PartId, port: usize, drafted: &Part<'_>) -> Front {
        let links = self.ports.into(part, port);
        let wanted = self.draft.wanted(part, port, self.process, self.processes);
        let wanted = wanted.cloned();
        let mut checks = Vec::with_capacity(links.len());
        for link in links {
            let checked = self.types.checked.get(*link).copied().unwrap_or_default();
            checks.push(match (&wanted, checked) {
                (Some(kind), true) => {
                    let span = self
                        .draft
                        .links
                        .get(*link)
                        .map_or(drafted.span, |link| link.to_span);
                    let kind = StepKind::Plain(Kind::Narrow(kind.clone()));
                    Some(self.node(kind, &drafted.name, span))
                }
                _ => None,
            });
        }
        let merge = (links.len() > 1).then(|| self.plain(Kind::Merge, drafted.span));
        Front {
            links: links.to_vec(),
            checks,
            merge,
            wanted,
        }
    }

    /// Leads all links of a front to one end of a node.
    fn lead(&mut self, front: &Front, to: (usize, u32), part: PartId, port: usize) {
        let inferred = self.types.ins.get(part).and_then(|ins| ins.get(port));
        let kind = front
            .wanted
            .as_ref()
            .or(inferred)
            .cloned()
            .unwrap_or(Type::Json);
        if let Some(merge) = front.merge {
            self.way((merge, 0), to, kind.clone());
        }
        for (number, (link, check)) in (0..).zip(front.links.iter().zip(&front.checks)) {
            let mut target = match front.merge {
                Some(merge) => (merge, number),
                None => to,
            };
            if let Some(check) = check {
                self.way((*check, 0), target, kind.clone());
                target = (*check, 0);
            }
            if let Some(end) = self.ends.get_mut(*link) {
                *end = Some(target);
            }
        }
    }

    /// Adds the nodes behind the outputs: a copy if several links begin there, a discard if none does.
    fn behind(&mut self, part: PartId, drafted: &Part<'_>, node: usize, used: Option<&Vec<usize>>) {
        let mut starts = Vec::with_capacity(drafted.outs as usize);
        let mut next = 0;
        let failures = self.failures(drafted);
        for port in 0..drafted.outs as usize {
            if failures == Some(port) {
                let told = self.told(part, port, drafted, node);
                starts.push(told);
                continue;
            }
            if used.is_some_and(|used| !used.contains(&port)) {
                starts.push(Vec::new());
                continue;
            }
            let links = self.ports.out_of(part, port).len();
            let kind = self.out_kind(part, port);
            let from = (node, next);
            next += 1;
            starts.push(match links {
                0 => {
                    let discard = self.plain(Kind::Discard, drafted.span);
                    self.way(from, (discard, 0), kind);
                    Vec::new()
                }
                1 => vec![from],
                _ => {
                    let copy = self.plain(Kind::Copy, drafted.span);
                    self.way(from, (copy, 0), kind);
                    (0..links).zip(0..).map(|(_, port)| (copy, port)).collect()
                }
            });
        }
        if let Some(slot) = self.starts.get_mut(part) {
            *slot = starts;
        }
    }

    /// The number of the output `error` of a part.
    fn failures(&self, drafted: &Part<'_>) -> Option<usize> {
        match drafted.stage {
            Stage::Call(process) => self.processes.get(process)?.failures(),
            _ => None,
        }
    }

    /// The starts of the links out of the port `error`; nothing stands there if nothing reads it.
    fn told(
        &mut self,
        part: PartId,
        port: usize,
        drafted: &Part<'_>,
        node: usize,
    ) -> Vec<(usize, u32)> {
        let links = self.ports.out_of(part, port).len();
        if let Some(step) = self.fragment.nodes.get_mut(node) {
            step.failures = links > 0;
        }
        let from = (node, FAILURES);
        if links < 2 {
            return vec![from; links];
        }
        let copy = self.plain(Kind::Copy, drafted.span);
        self.way(from, (copy, 0), crate::types::failed());
        (0..links).zip(0..).map(|(_, port)| (copy, port)).collect()
    }

    fn out_kind(&self, part: PartId, port: usize) -> Type {
        let outs = self.types.outs.get(part);
        outs.and_then(|outs| outs.get(port))
            .cloned()
            .unwrap_or(Type::Json)
    }

    /// The node of a part; of an agent or a tool also the ports that are used.
    fn step(
        &mut self,
        part: PartId,
        drafted: &Part<'_>,
    ) -> (StepKind, Option<Vec<usize>>, Option<Vec<usize>>) {
        let kind = match &drafted.stage {
            Stage::Input(index) => StepKind::Input(*index),
            Stage::Output(index) => StepKind::Output(*index),
            Stage::Channel(_) | Stage::Id | Stage::Broken => StepKind::Plain(Kind::Id),
            Stage::Copy => StepKind::Plain(Kind::Copy),
            Stage::Merge => StepKind::Plain(Kind::Merge),
            Stage::Discard => StepKind::Plain(Kind::Discard),
            Stage::Empty => StepKind::Plain(Kind::Empty),
            Stage::Once(_) => {
                let value = self.types.values.get_mut(part).and_then(Option::take);
                StepKind::Plain(value.map_or(Kind::Empty, Kind::Once))
            }
            Stage::Barrier => StepKind::Plain(Kind::Barrier),
            Stage::Project(index) => StepKind::Plain(Kind::Project(*index)),
            Stage::Tag(label) => StepKind::Plain(Kind::Tag(label.clone())),
            Stage::Map(expr) | Stage::Filter(expr) => {
                let text = (self.text)(expr);
                StepKind::Plain(self.code(part, drafted, text, expr.span))
            }
            Stage::Take(name) => {
                StepKind::Plain(self.code(part, drafted, name.text.clone(), name.span))
            }
            Stage::Call(process) => return self.called(part, *process),
        };
        (kind, None, None)
    }

    fn code(&mut self, part: PartId, drafted: &Part<'_>, text: Arc<str>, span: Span) -> Kind {
        let typed = self.types.typed.get_mut(part).and_then(Option::take);
        let Some(typed) = typed else {
            return Kind::Id;
        };
        let code = Arc::new(Code {
            op: typed.op,
            text,
            span,
        });
        match drafted.stage {
            Stage::Filter(_) => Kind::Filter(code, typed.selector),
            _ => Kind::Map(code),
        }
    }

    fn called(
        &mut self,
        part: PartId,
        id: ProcessId,
    ) -> (StepKind, Option<Vec<usize>>, Option<Vec<usize>>) {
        let Some(process) = self.processes.get(id) else {
            return (StepKind::Plain(Kind::Id), None, None);
        };
        match process.role {
            Role::Timer => (StepKind::Plain(Kind::Timer), None, None),
            Role::Agent | Role::Tool => {
                let used = |links: &[Vec<Vec<usize>>]| -> Vec<usize> {
                    let ports = links.get(part).into_iter().flatten().enumerate();
                    let used = ports.filter(|(_, links)| !links.is_empty());
                    used.map(|(port, _)| port).collect()
                };
                let (ins, mut outs) = (used(&self.ports.ins), used(&self.ports.outs));
                let failures = process.failures();
                outs.retain(|port| Some(*port) != failures);
                let of = |ports: &[super::process::Port], used: &[usize]| -> Vec<ExternalPort> {
                    let used = used.iter().filter_map(|port| ports.get(*port));
                    used.map(super::inline::outside).collect()
                };
                let inputs = of(&process.inputs, &ins);
                let outputs = of(&process.outputs, &outs);
                (
                    StepKind::External(id, inputs, outputs),
                    Some(ins),
                    Some(outs),
                )
            }
            _ => (StepKind::Call(id), None, None),
        }
    }

    /// The edges of all links, each from its start to its end.
    fn ways(&mut self) {
        let mut next: Vec<Vec<usize>> = self
            .starts
            .iter()
            .map(|ports| vec![0; ports.len()])
            .collect();
        for (index, link) in self.draft.links.iter().enumerate() {
            let (part, port) = (link.from.0, link.from.1 as usize);
            let Some(at) = next.get_mut(part).and_then(|part| part.get_mut(port)) else {
                continue;
            };
            let starts = self.starts.get(part).and_then(|part| part.get(port));
            let start = starts.and_then(|starts| starts.get(*at)).copied();
            *at += 1;
            let end = self.ends.get(index).copied().flatten();
            if let (Some(from), Some(to)) = (start, end) {
                let kind = self.out_kind(part, port);
                self.way(from, to, kind);
            }
        }
    }
}

/// The nodes in front of an input.
struct Front {
    links: Vec<usize>,
    /// Per link: the node that checks it.
    checks: Vec<Option<usize>>,
    merge: Option<usize>,
    wanted: Option<Type>,
}
