//! The wires of a body: which streams a sequence connects.

use crate::diagnostic::Diagnostic;
use crate::names::Sort;
use crate::nearest::nearest;
use crate::span::Span;
use crate::syntax::ast::{Expr, ExprKind, Name, Path, Spawn, Wire};

use super::codes;
use super::draft::{Drafter, End, Ends, Instances, Kept, Local, PartId, Stage, end};
use super::process::{Port, PortState, Process, ProcessId, Role};

impl<'a> Drafter<'a, '_> {
    /// A wire, where so many streams come from its left, and so many are taken on its right, as far as that
    /// is known. `None` if it could not be read: any number of streams may have been meant.
    pub(super) fn wire(
        &mut self,
        wire: &'a Wire,
        left: Option<usize>,
        right: Option<usize>,
    ) -> Option<Ends> {
        let span = wire.span();
        let (stage, name, ins, outs) = match wire {
            Wire::Sequence(parts) => return self.sequence(parts, left, right),
            Wire::Parallel(_, parts) => return self.parallel(parts),
            Wire::Field(inner, name) => return self.field(inner, name, left),
            Wire::Named(path) => return self.named(path, left, right),
            Wire::Port(process, port) => return self.port(process, port),
            Wire::Keep(span, inner) => return self.keep(*span, inner),
            Wire::Step(_) | Wire::Broken(_) => {
                self.draft.suspect = true;
                return None;
            }
            Wire::Id(_) => (Stage::Id, "id", 1, 1),
            Wire::Copy(_) => (Stage::Copy, "copy", 1, right.unwrap_or(2).max(2)),
            Wire::Merge(_) => (Stage::Merge, "merge", left.unwrap_or(2).max(2), 1),
            Wire::Discard(_) => (Stage::Discard, "discard", left.unwrap_or(1).max(1), 0),
            Wire::Empty(_) => (Stage::Empty, "empty", 0, 1),
            Wire::Once(_, expr) => (Stage::Once(expr), "once", 0, 1),
            Wire::Barrier(_) => (Stage::Barrier, "barrier", left.unwrap_or(2).max(2), 1),
            Wire::Map(_, expr) => (Stage::Map(expr), "map", 1, 1),
            Wire::Filter(_, expr) => (Stage::Filter(expr), "filter", 1, 1),
            Wire::Project(_, index) => (Stage::Project(*index), "project", 1, 1),
            Wire::Tag(_, label) => (Stage::Tag(label.text.clone()), "tag", 1, 1),
        };
        if let Wire::Once(_, expr) | Wire::Map(_, expr) | Wire::Filter(_, expr) = wire {
            self.types_in(expr);
        }
        let part = self.part(stage, name, span, (ins, outs));
        Some(all(part, (ins, outs), span))
    }

    /// Reports mistakes in the types that an expression names.
    fn types_in(&mut self, expr: &Expr) {
        if let ExprKind::Is(_, kind) = &expr.kind {
            let (units, types) = (self.context.units, self.context.types);
            types.plain(units, self.unit, kind, self.out);
        }
        for inner in expr.parts() {
            self.types_in(inner);
        }
    }

    fn sequence(
        &mut self,
        parts: &'a [Wire],
        left: Option<usize>,
        right: Option<usize>,
    ) -> Option<Ends> {
        let mut whole = Ends::default();
        let mut broken = false;
        let mut before: Option<(Vec<End>, Span)> = None;
        // If the left side of a wire is wrong, its output may be wrong too: that is not reported again.
        let mut told = false;
        let mut coming = left;
        for (index, wire) in parts.iter().enumerate() {
            let takes = match parts.get(index + 1) {
                Some(next) => self.takes(next),
                None => right,
            };
            let ends = self.wire(wire, coming, takes);
            if let Some((outs, span)) = before.take() {
                match &ends {
                    Some(ends) if told && outs.len() != ends.ins.len() => {
                        self.dangling(&outs, wire.span());
                        self.fed(&ends.ins, span);
                    }
                    Some(ends) => {
                        told = outs.len() != ends.ins.len();
                        let before = index.checked_sub(1).and_then(|at| parts.get(at));
                        if outs.is_empty() && ends.ins.is_empty() {
                            self.backwards(before, wire);
                        }
                        self.connect(&outs, &ends.ins, (span, wire.span()));
                    }
                    None => self.dangling(&outs, wire.span()),
                }
            } else if index == 0 {
                match &ends {
                    Some(ends) => whole.ins.clone_from(&ends.ins),
                    None => broken = true,
                }
            } else if let Some(ends) = &ends {
                self.fed(&ends.ins, wire.span());
            }
            coming = ends.as_ref().map(|ends| ends.outs.len());
            if index + 1 == parts.len() {
                match ends {
                    Some(ends) => whole.outs = ends.outs,
                    None => broken = true,
                }
            } else if let Some(ends) = ends {
                before = Some((ends.outs, wire.span()));
            }
        }
        (!broken).then_some(whole)
    }

    /// Reports an output that is read where nothing is taken, or an input that is fed where nothing comes.
    fn backwards(&mut self, before: Option<&Wire>, wire: &Wire) {
        let local = |wire: &Wire| match wire {
            Wire::Named(path) if path.module.is_none() => self.locals.get(&path.name.text),
            _ => None,
        };
        let told = match (before, before.and_then(local), local(wire)) {
            (Some(before), Some(_), _) => codes::read_output(before.span(), &named(before)),
            (_, _, Some(_)) => codes::fed_input(wire.span(), &named(wire)),
            _ => return,
        };
        self.wrong(told);
    }

    /// The number of streams that a wire takes, if it does not depend on the input.
    fn takes(&self, wire: &Wire) -> Option<usize> {
        match wire {
            Wire::Parallel(_, parts) => parts.iter().map(|part| self.takes(part)).sum(),
            Wire::Sequence(parts) => self.takes(parts.first()?),
            Wire::Field(inner, _) => self.takes(inner),
            Wire::Merge(_) | Wire::Barrier(_) | Wire::Discard(_) => None,
            Wire::Named(path)
                if path.module.is_none() && self.locals.contains_key(&path.name.text) =>
            {
                Some(1)
            }
            Wire::Named(path) => {
                let process = self.context.process(self.unit, path).ok()?;
                let process = self.context.processes.get(process)?;
                match process.role {
                    Role::Broken => None,
                    Role::Agent => Some(1),
                    _ => Some(process.inputs.len()),
                }
            }
            Wire::Empty(_) | Wire::Once(..) => Some(0),
            _ => Some(1),
        }
    }

    fn parallel(&mut self, parts: &'a [Wire]) -> Option<Ends> {
        let mut whole = Ends::default();
        let mut broken = false;
        for wire in parts {
            match self.wire(wire, None, None) {
                Some(ends) => {
                    whole.ins.extend(ends.ins);
                    whole.outs.extend(ends.outs);
                }
                None => broken = true,
            }
        }
        if broken {
            self.fed(&whole.ins, Span::default());
            self.dangling(&whole.outs, Span::default());
            return None;
        }
        Some(whole)
    }

    fn field(&mut self, inner: &'a Wire, name: &'a Name, left: Option<usize>) -> Option<Ends> {
        let ends = self.wire(inner, left, Some(1))?;
        let part = self.part(Stage::Take(name), &name.text, name.span, (1, 1));
        let taken = all(part, (1, 1), name.span);
        self.connect(&ends.outs, &taken.ins, (inner.span(), name.span));
        Some(Ends {
            ins: ends.ins,
            outs: taken.outs,
        })
    }

    /// `keep(p)`: a copy of each message waits at a barrier for what `p` makes of it.
    fn keep(&mut self, span: Span, inner: &'a Wire) -> Option<Ends> {
        let copy = self.part(Stage::Copy, "keep", span, (1, 2));
        let ends = self.wire(inner, Some(1), Some(1));
        let barrier = self.part(Stage::Barrier, "keep", span, (2, 1));
        self.link(at(copy, 0, span), at(barrier, 0, span));
        let (out, into) = ([at(copy, 1, span)], [at(barrier, 1, span)]);
        match ends {
            Some(ends) => {
                self.connect(&out, &ends.ins, (span, inner.span()));
                self.connect(&ends.outs, &into, (inner.span(), span));
                let span = inner.span();
                self.draft.kept.push(Kept {
                    copy,
                    barrier,
                    span,
                });
            }
            None => {
                self.dangling(&out, span);
                self.fed(&into, span);
            }
        }
        Some(Ends {
            ins: vec![at(copy, 0, span)],
            outs: vec![at(barrier, 0, span)],
        })
    }

    /// Connects outputs to inputs, one by one.
    pub(super) fn connect(&mut self, outs: &[End], ins: &[End], spans: (Span, Span)) {
        if outs.len() == ins.len() {
            for (from, to) in outs.iter().zip(ins) {
                self.link(*from, *to);
            }
            return;
        }
        let (from, to) = spans;
        let diagnostic = if ins.is_empty() {
            codes::nothing_goes_in(to).label(from, "from here")
        } else if outs.is_empty() {
            codes::nothing_comes_out(from).label(to, "wanted here")
        } else {
            let hint = match (outs.len(), ins.len()) {
                (1, _) => "`copy` makes several of one stream.",
                (_, 1) => {
                    "`merge` makes one of several streams, `barrier` tuples of their messages."
                }
                _ => "Each stream on the left needs one on the right.",
            };
            let come = counted(outs.len(), "goes", "go");
            let taken = counted(ins.len(), "is", "are");
            codes::arity(to, &come, &taken, &hint).label(from, "from here")
        };
        self.wrong(diagnostic);
        self.dangling(outs, to);
        self.fed(ins, from);
    }

    /// Leads these into something unknown.
    fn dangling(&mut self, outs: &[End], span: Span) {
        self.draft.suspect = true;
        if !outs.is_empty() {
            let sink = self.part(Stage::Broken, "?", span, (1, 0));
            for from in outs {
                self.link(*from, end(sink, span));
            }
        }
    }

    /// Feeds these from something unknown.
    fn fed(&mut self, ins: &[End], span: Span) {
        self.draft.suspect = true;
        if !ins.is_empty() {
            let source = self.part(Stage::Broken, "?", span, (0, 1));
            for to in ins {
                self.link(end(source, span), *to);
            }
        }
    }

    fn named(&mut self, path: &Path, left: Option<usize>, right: Option<usize>) -> Option<Ends> {
        let span = path.span();
        if path.module.is_none()
            && let Some(declared) = self.locals.get(&path.name.text)
        {
            let name = &path.name.text;
            let notes = self.context.notes;
            notes.stream(span, Some(declared.span), name, &declared.kind);
            let (part, ends) = match declared.local {
                Local::Input(part) => (part, (0, 1)),
                Local::Output(part) => (part, (1, 0)),
                Local::Channel(part) => (part, (1, 1)),
            };
            return Some(all(part, ends, span));
        }
        let process = match self.context.process(self.unit, path) {
            Ok(process) => process,
            Err(diagnostic) => {
                let diagnostic = self.also_local(path, diagnostic);
                self.wrong(diagnostic);
                return None;
            }
        };
        self.note_process(process, span);
        let part = self.instance_of(process, span)?;
        let found = self.context.processes.get(process)?;
        if found.role == Role::Broken {
            return None;
        }
        Some(Ends {
            ins: bare((&found.inputs, "input"), found.role, left, part, span),
            outs: bare((&found.outputs, "output"), found.role, right, part, span),
        })
    }

    /// Adds the channels and ports to what an unknown name may have meant.
    fn also_local(&self, path: &Path, diagnostic: Diagnostic) -> Diagnostic {
        let mut diagnostic = self.nearest_local(path, diagnostic);
        if path.module.is_none() && diagnostic.code == codes::UNKNOWN_NAME {
            diagnostic.message =
                format!("no process, channel or port is called `{}`", path.name.text);
            if &*path.name.text == "once" {
                diagnostic = diagnostic.hint("`once(e)` gives one message at the start.");
            }
        }
        diagnostic
    }

    fn nearest_local(&self, path: &Path, mut diagnostic: Diagnostic) -> Diagnostic {
        if path.module.is_none() && diagnostic.hint.is_none() {
            let mut names: Vec<&str> = self.locals.keys().map(|name| &**name).collect();
            names.sort_unstable();
            let near = nearest(&path.name.text, names);
            diagnostic = diagnostic.meant(near);
        }
        diagnostic
    }

    fn instance_of(&mut self, process: ProcessId, span: Span) -> Option<PartId> {
        let told = self.composed.told.contains(&process);
        if told {
            self.draft.suspect = true;
            return None;
        }
        if !self.shared || self.composed.has(self.statement, process) {
            return Some(self.call(process, span));
        }
        match self.instances.get(&process) {
            Some(Instances::One(part)) => Some(*part),
            Some(Instances::Several) => {
                let name = self.context.processes.get(process)?.name.clone();
                self.wrong(codes::ambiguous(span, &name));
                None
            }
            None => {
                let part = self.call(process, span);
                self.instances.insert(process, Instances::One(part));
                Some(part)
            }
        }
    }

    /// `p@port`.
    fn port(&mut self, name: &Name, port: &Name) -> Option<Ends> {
        let path = Path::bare(name.clone());
        if let Some(declared) = self.locals.get(&name.text) {
            let told = codes::port_of_channel(port.span, &name.text);
            let told = told.label(declared.span, "declared here");
            self.wrong(told);
            return None;
        }
        let process = match self.context.process(self.unit, &path) {
            Ok(process) => process,
            Err(diagnostic) => {
                let diagnostic = self.also_local(&path, diagnostic);
                self.wrong(diagnostic);
                return None;
            }
        };
        self.note_process(process, name.span);
        let part = self.instance_of(process, name.span)?;
        let found = self.context.processes.get(process)?;
        let span = name.span.to(port.span);
        if let Some(side) = addressed(found, &port.text) {
            self.note_port(found, side, port.span);
        }
        match addressed(found, &port.text) {
            Some(Side::In(index)) => Some(Ends {
                ins: vec![at(part, index, span)],
                outs: Vec::new(),
            }),
            Some(Side::Out(index)) => Some(Ends {
                ins: Vec::new(),
                outs: vec![at(part, index, span)],
            }),
            None => {
                if found.role != Role::Broken {
                    self.wrong(no_port(found, port));
                }
                None
            }
        }
    }

    fn note_port(&self, process: &Process, side: Side, span: Span) {
        let port = match side {
            Side::In(index) => process.inputs.get(index),
            Side::Out(index) => process.outputs.get(index),
        };
        if let Some(port) = port {
            let notes = self.context.notes;
            notes.stream(span, Some(port.span), &port.name, &port.kind);
        }
    }

    /// Joins the ports of a spawned process to channels.
    pub(super) fn join(&mut self, spawn: &Spawn, process: ProcessId, part: PartId) {
        let Some(found) = self.context.processes.get(process) else {
            return;
        };
        if found.role == Role::Broken {
            return;
        }
        let mut joined: Vec<Side> = Vec::new();
        let positional = positional(found);
        let named = spawn
            .arguments
            .iter()
            .any(|argument| argument.port.is_some());
        let expected = positional.len();
        if !named && spawn.arguments.len() != expected {
            let joined = match spawn.arguments.len() {
                0 => "no port is".to_owned(),
                1 => "1 port is".to_owned(),
                several => format!("{several} ports are"),
            };
            let (span, names) = (spawn.process.span(), port_names(found));
            let told = codes::spawn_count(span, &joined, &found.name, &expected, &names);
            self.wrong(told.label(found.span, "declared here"));
            return;
        }
        for (index, argument) in spawn.arguments.iter().enumerate() {
            let (side, span) = match &argument.port {
                Some(port) => match addressed(found, &port.text) {
                    Some(side) => {
                        self.note_port(found, side, port.span);
                        (side, port.span)
                    }
                    None => {
                        self.wrong(no_port(found, port));
                        continue;
                    }
                },
                None => match positional.get(index) {
                    Some(side) if !named => (*side, argument.channel.span),
                    _ => {
                        self.wrong(codes::spawn_mixed(argument.channel.span));
                        continue;
                    }
                },
            };
            if joined.contains(&side) {
                self.wrong(codes::joined_twice(span));
                continue;
            }
            joined.push(side);
            self.argument(part, side, &argument.channel, span);
        }
    }

    fn argument(&mut self, part: PartId, side: Side, channel: &Name, span: Span) {
        let Some(declared) = self.locals.get(&channel.text).cloned() else {
            let path = Path::bare(channel.clone());
            let known = self.context.units.find(self.unit, &path, Sort::Process);
            let unknown = codes::unknown_channel(channel.span, &channel.text);
            let mut diagnostic = self.nearest_local(&path, unknown);
            if known.is_ok() {
                diagnostic =
                    diagnostic.hint("Ports are joined to channels; a process is led to with `;`.");
            }
            self.wrong(diagnostic);
            return;
        };
        let notes = self.context.notes;
        notes.stream(
            channel.span,
            Some(declared.span),
            &channel.text,
            &declared.kind,
        );
        match (side, declared.local) {
            (Side::In(index), Local::Input(from) | Local::Channel(from)) => {
                self.link(end(from, channel.span), at(part, index, span));
            }
            (Side::Out(index), Local::Output(to) | Local::Channel(to)) => {
                self.link(at(part, index, span), end(to, channel.span));
            }
            (Side::In(_), Local::Output(_)) => {
                self.wrong(codes::read_output(channel.span, &channel.text));
            }
            (Side::Out(_), Local::Input(_)) => {
                self.wrong(codes::fed_input(channel.span, &channel.text));
            }
        }
    }
}

/// The name that a wire is.
fn named(wire: &Wire) -> &str {
    match wire {
        Wire::Named(path) => &path.name.text,
        _ => "",
    }
}

/// A port of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    In(usize),
    Out(usize),
}

/// The port of this name.
fn addressed(process: &Process, name: &str) -> Option<Side> {
    let of = |ports: &[Port]| ports.iter().position(|port| port.is_called(name));
    let input = of(&process.inputs).map(Side::In);
    input.or_else(|| of(&process.outputs).map(Side::Out))
}

/// The ports of the signature, in order.
fn positional(process: &Process) -> Vec<Side> {
    let declared = |ports: &[Port]| Process::positional(ports).count();
    let inputs = (0..declared(&process.inputs)).map(Side::In);
    inputs
        .chain((0..declared(&process.outputs)).map(Side::Out))
        .collect()
}

fn port_names(process: &Process) -> String {
    let is_agent = process.role == Role::Agent;
    let all = process.inputs.iter().chain(&process.outputs);
    let all = all.filter(|port| is_agent || port.state != PortState::Implied);
    let names: Vec<String> = all.map(|port| format!("`{}`", port.name)).collect();
    names.join(", ")
}

fn no_port(process: &Process, port: &Name) -> Diagnostic {
    let all = process.inputs.iter().chain(&process.outputs);
    let near = nearest(&port.text, all.map(|port| &*port.name));
    codes::unknown_port(port.span, &process.name, &port.text)
        .hint(format!("Its ports are {}.", port_names(process)))
        .meant(near)
}

/// The ends that a bare name has: of an agent, `input` and `output`; of others all, or the one that is
/// called so where one stream comes.
fn bare(
    (ports, name): (&[Port], &str),
    role: Role,
    streams: Option<usize>,
    part: PartId,
    span: Span,
) -> Vec<End> {
    let one = ports.iter().position(|port| &*port.name == name);
    match one {
        Some(index) if role == Role::Agent || streams == Some(1) => vec![at(part, index, span)],
        _ => {
            let declared = ports.iter().filter(|port| port.state != PortState::Implied);
            (0..declared.count())
                .map(|index| at(part, index, span))
                .collect()
        }
    }
}

fn at(part: PartId, port: usize, span: Span) -> End {
    End {
        part,
        port: u32::try_from(port).unwrap_or(u32::MAX),
        span,
    }
}

fn all(part: PartId, ends: (usize, usize), span: Span) -> Ends {
    Ends {
        ins: (0..ends.0).map(|port| at(part, port, span)).collect(),
        outs: (0..ends.1).map(|port| at(part, port, span)).collect(),
    }
}

/// `1 stream goes`, `2 streams go`.
fn counted(streams: usize, one: &str, several: &str) -> String {
    match streams {
        1 => format!("1 stream {one}"),
        _ => format!("{streams} streams {several}"),
    }
}
