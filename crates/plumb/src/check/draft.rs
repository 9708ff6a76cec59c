//! A body as nodes and links, before anything is known of types.
//!
//! ```text
//!  statements ──wires──► Draft { parts, links } ──infer──► types ──assemble──► Fragment
//! ```
//!
//! Ports of parts may have any number of links here: what fans out or in gets its node when the fragment is
//! assembled.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::names::{Sort, TypeNames, UnitId, Units, twice};
use crate::span::Span;
use crate::syntax::ast::{
    Expr, Name, Path, Plumb, Signature, Spawn, Statement, StatementKind, Wire,
};
use crate::types::Type;

use super::codes;
use super::composed::Composed;
use super::notes::{Notes, Shows};
use super::process::{Process, ProcessId};

/// The number of a part in its draft.
pub(super) type PartId = usize;

/// The action of a part.
#[derive(Clone, Debug)]
pub(super) enum Stage<'a> {
    /// The boundary input with this number.
    Input(usize),
    /// The boundary output with this number.
    Output(usize),
    Channel(Type),
    Id,
    Copy,
    Merge,
    Discard,
    Empty,
    Once(&'a Expr),
    Barrier,
    Map(&'a Expr),
    Filter(&'a Expr),
    Take(&'a Name),
    Project(u32),
    Tag(Arc<str>),
    /// Another process.
    Call(ProcessId),
    /// Something that could not be read or does not exist: it takes and gives anything.
    Broken,
}

/// A node that is to be.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    pub stage: Stage<'a>,
    pub name: Arc<str>,
    pub span: Span,
    /// The statement it comes from, from 1; 0 are the inputs and channels.
    pub statement: u32,
    /// The number of inputs.
    pub ins: u32,
    /// The number of outputs.
    pub outs: u32,
}

/// A way from an output of one part to an input of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub from: (PartId, u32),
    pub to: (PartId, u32),
    /// The span of its source at this place.
    pub from_span: Span,
    /// The span of its target.
    pub to_span: Span,
    pub statement: u32,
}

/// A `keep(p)`: a copy and a barrier around `p`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub copy: PartId,
    pub barrier: PartId,
    /// The span of `p`.
    pub span: Span,
}

/// A body as parts and links.
#[derive(Debug, Default)]
pub(super) struct Draft<'a> {
    pub parts: Vec<Part<'a>>,
    pub links: Vec<Link>,
    /// The span of each statement; numbers start at 1.
    pub statements: Vec<Span>,
    /// The statements of `keep`.
    pub kept: Vec<Kept>,
    /// True if a part could not be parsed. A name that seems to be missing may be in that part.
    pub suspect: bool,
}

impl Draft<'_> {
    /// The type that an input of a part declares.
    pub(super) fn wanted<'a>(
        &'a self,
        part: PartId,
        port: usize,
        process: &'a Process,
        processes: &'a [Process],
    ) -> Option<&'a Type> {
        match &self.parts.get(part)?.stage {
            Stage::Output(index) => Some(&process.outputs.get(*index)?.kind),
            Stage::Channel(kind) => Some(kind),
            Stage::Call(process) => Some(&processes.get(*process)?.inputs.get(port)?.kind),
            _ => None,
        }
    }
}

/// The data that all bodies of one check share.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub units: &'a Units,
    pub types: &'a TypeNames,
    pub processes: &'a [Process],
    pub by_definition: &'a HashMap<crate::names::Definition, ProcessId>,
    pub notes: &'a Notes,
}

impl<'a> Context<'a> {
    /// The process of this name.
    pub(super) fn process(&self, unit: UnitId, path: &Path) -> Result<ProcessId, Diagnostic> {
        let definition = self.units.find(unit, path, Sort::Process)?;
        match self.by_definition.get(&definition) {
            Some(process) => Ok(*process),
            None => Err(codes::not_a_process(path.span(), &path.name.text)),
        }
    }
}

/// The ends of a wire: where its streams go in and come out.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub ins: Vec<End>,
    pub outs: Vec<End>,
}

/// One instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub part: PartId,
    pub port: u32,
    pub span: Span,
}

/// The meaning of a name inside a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    Input(PartId),
    Output(PartId),
    Channel(PartId),
}

/// A name of a body, and how it is declared.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub local: Local,
    pub span: Span,
    pub kind: Type,
}

/// Builds the parts of one body.
pub(super) struct Drafter<'a, 'o> {
    pub context: Context<'a>,
    pub unit: UnitId,
    pub draft: Draft<'a>,
    pub locals: HashMap<Arc<str>, Declared>,
    /// The instances of processes that are named in the body.
    pub instances: HashMap<ProcessId, Instances>,
    /// The part that each `spawn` made, by its statement.
    pub spawned: HashMap<u32, (ProcessId, PartId)>,
    /// True if a name is the same instance each time: in a `plumb`, not in a morphism.
    pub shared: bool,
    pub statement: u32,
    pub composed: Composed,
    pub out: &'o mut Vec<Diagnostic>,
}

/// The instances of one process in a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instances {
    One(PartId),
    /// Spawned several times, or composed with itself, so that the name is ambiguous.
    Several,
}

impl<'a> Drafter<'a, '_> {
    pub(super) fn part(
        &mut self,
        stage: Stage<'a>,
        name: &str,
        span: Span,
        ends: (usize, usize),
    ) -> PartId {
        let count = |ends: usize| u32::try_from(ends).unwrap_or(u32::MAX);
        self.draft.parts.push(Part {
            stage,
            name: name.into(),
            span,
            statement: self.statement,
            ins: count(ends.0),
            outs: count(ends.1),
        });
        self.draft.parts.len() - 1
    }

    pub(super) fn wrong(&mut self, diagnostic: Diagnostic) {
        self.draft.suspect = true;
        self.out.push(diagnostic);
    }

    /// The inputs and outputs of the process itself.
    pub(super) fn boundary(&mut self, process: &Process) {
        for (index, port) in process.inputs.iter().enumerate() {
            let part = self.part(Stage::Input(index), &port.name, port.span, (0, 1));
            self.local(&port.name, Local::Input(part), port.span, port.kind.clone());
        }
        for (index, port) in process
            .outputs
            .iter()
            .enumerate()
            .take(process.own_outputs())
        {
            let part = self.part(Stage::Output(index), &port.name, port.span, (1, 0));
            self.local(
                &port.name,
                Local::Output(part),
                port.span,
                port.kind.clone(),
            );
        }
    }

    fn local(&mut self, name: &Arc<str>, local: Local, span: Span, kind: Type) {
        self.context.notes.stream(span, Some(span), name, &kind);
        let declared = Declared { local, span, kind };
        self.locals.entry(name.clone()).or_insert(declared);
    }

    /// The body of a `plumb`: channels and spawned processes first, since the order of statements says
    /// nothing.
    pub(super) fn plumb(&mut self, plumb: &'a Plumb) {
        let numbered = || (1..=u32::MAX).zip(&plumb.statements);
        self.draft.statements = plumb.statements.iter().map(|one| one.span).collect();
        for (number, statement) in numbered() {
            self.statement = number;
            match &statement.kind {
                StatementKind::Channel(name, kind) => self.channel(name, kind),
                StatementKind::Spawn(spawn) => self.instance(spawn),
                StatementKind::Wire(_) | StatementKind::Bind(_) => {}
                StatementKind::Broken => self.draft.suspect = true,
            }
        }
        self.compose(plumb);
        for (number, statement) in numbered() {
            self.statement = number;
            self.wiring(statement);
        }
    }

    fn wiring(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Wire(wire) => {
                self.wire(wire, None, None);
            }
            StatementKind::Spawn(spawn) => {
                if let Some((process, part)) = self.spawned.get(&self.statement).copied() {
                    self.join(spawn, process, part);
                }
            }
            _ => {}
        }
    }

    fn channel(&mut self, name: &Name, kind: &crate::syntax::ast::Type) {
        let (units, types) = (self.context.units, self.context.types);
        let (resolved, _) = types.stream(units, self.unit, kind, self.out);
        if let Some(first) = self.locals.get(&name.text) {
            let first = first.span;
            self.wrong(twice(name, Some(first)));
            return;
        }
        let stage = Stage::Channel(resolved.clone());
        let part = self.part(stage, &name.text, name.span, (1, 1));
        self.local(&name.text, Local::Channel(part), name.span, resolved);
    }

    fn instance(&mut self, spawn: &Spawn) {
        match self.context.process(self.unit, &spawn.process) {
            Ok(process) => {
                self.note_process(process, spawn.process.span());
                let part = self.call(process, spawn.process.span());
                self.spawned.insert(self.statement, (process, part));
                self.instances
                    .entry(process)
                    .and_modify(|instances| *instances = Instances::Several)
                    .or_insert(Instances::One(part));
            }
            Err(diagnostic) => self.wrong(diagnostic),
        }
    }

    /// A new instance of a process.
    pub(super) fn call(&mut self, process: ProcessId, span: Span) -> PartId {
        let Some(found) = self.context.processes.get(process) else {
            return self.part(Stage::Broken, "?", span, (0, 0));
        };
        let ends = (found.inputs.len(), found.outputs.len());
        let stage = if found.role == super::process::Role::Broken {
            self.draft.suspect = true;
            Stage::Broken
        } else {
            Stage::Call(process)
        };
        self.part(stage, &found.name, span, ends)
    }

    /// Notes that a process is named.
    pub(super) fn note_process(&self, process: ProcessId, span: Span) {
        let found = self.context.processes.get(process);
        let definition = found.map(|process| process.span);
        self.context
            .notes
            .push(span, definition, Shows::Process(process));
    }

    /// A morphism, from the inputs of its signature to the outputs.
    pub(super) fn morphism(&mut self, wire: &'a Wire, process: &Process, signature: &Signature) {
        self.statement = 1;
        self.draft.statements = vec![wire.span()];
        let (inputs, outputs) = (process.inputs.len(), process.own_outputs());
        let ends = self.wire(wire, Some(inputs), Some(outputs));
        let sources: Vec<End> = (0..inputs).map(|part| end(part, signature.span)).collect();
        let sinks: Vec<End> = (inputs..inputs + outputs)
            .map(|part| end(part, signature.span))
            .collect();
        let Some(ends) = ends else {
            return;
        };
        self.connect(&sources, &ends.ins, (signature.span, wire.span()));
        self.connect(&ends.outs, &sinks, (wire.span(), signature.span));
    }

    pub(super) fn link(&mut self, from: End, to: End) {
        self.draft.links.push(Link {
            from: (from.part, from.port),
            to: (to.part, to.port),
            from_span: from.span,
            to_span: to.span,
            statement: self.statement,
        });
    }
}

pub(super) const fn end(part: PartId, span: Span) -> End {
    End {
        part,
        port: 0,
        span,
    }
}
