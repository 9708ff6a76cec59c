//! The checker: from a text to graphs, or to diagnostics.
//!
//! ```text
//!  load ──► names ──► sessions ──► signatures ──► bodies ──► fragments ──► graph
//!   parse    types     desugar      processes      draft, infer, live        inline
//! ```
//!
//! Each body is checked once and sees only the signatures of other processes. A fragment calls other
//! processes; [`Checked::graph`] inlines them.

mod ask;
mod bodies;
pub mod codes;
mod composed;
mod draft;
mod ends;
mod fragment;
mod gates;
mod infer;
mod inline;
mod kept;
mod live;
mod notes;
mod once;
mod process;
mod received;
mod scope;
mod settings;
mod size;
#[cfg(test)]
mod tests;
mod tools;
mod wires;

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Severity};
use crate::graph::{ExternalPort, Graph};
use crate::modules::Modules;
use crate::names::{Definition, Processing, TypeNames, Units, load};
use crate::picture::Session;
use crate::source::{Source, Sources};
use crate::span::SourceId;
use crate::syntax::ast::{DeclarationKind, Program};

pub use ask::{Completion, CompletionKind, Hover, NameKind, NameUse};
use fragment::Fragment;
use inline::{Inline, Settings};
use notes::{Note, Notes, Shows};
use process::{Process, ProcessId, Reader, Role};
use scope::Watched;

/// A checked program.
#[derive(Debug)]
pub struct Checked {
    /// The texts: the program at 0, then the modules.
    pub sources: Sources,
    /// The program as it was written.
    pub program: Program,
    /// Its mistakes, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    processes: Vec<Process>,
    fragments: Vec<Fragment>,
    settings: HashMap<ProcessId, Settings>,
    units: Units,
    sessions: Vec<Session>,
    /// The sessions of each body.
    watched: Watched,
    /// Notes for editors, in the order of the text.
    notes: Vec<Note>,
}

/// The ports of a process.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSignature {
    /// The input ports.
    pub inputs: Vec<ExternalPort>,
    /// The output ports.
    pub outputs: Vec<ExternalPort>,
}

/// Checks a program. `name` identifies it in diagnostics.
#[must_use]
pub fn check(name: &str, text: &str, modules: &dyn Modules) -> Checked {
    check_with(name, text, modules, Processing::Skipped)
}

/// Checks a program. The processes of `mem` may be skipped if nothing names them.
fn check_with(name: &str, text: &str, modules: &dyn Modules, of_mem: Processing) -> Checked {
    let mut out = Vec::new();
    let (mut units, sources) = load(name, text, modules, of_mem, &mut out);
    let types = TypeNames::new(&units, &mut out);
    let program = units.get(0).map(|unit| unit.program.clone());
    let sessions = scope::sessions(&units);
    ends::check(&units, &types, &mut out);
    let watched = scope::desugar(&mut units, &types, &mut out);
    let (processes, by_definition) = processes(&units, &types, &mut out);
    let notes = Notes::default();
    let known = (processes.as_slice(), &by_definition);
    let bodies = bodies::bodies((&units, &types), known, (&notes, &watched), &mut out);
    for (span, definition) in types.uses.into_inner() {
        let declared = units.declaration(definition).map(|one| one.name().span);
        notes.push(span, declared, Shows::Type(definition));
    }
    out.sort_by_key(|diagnostic| (diagnostic.span.source, diagnostic.span.start));
    out.dedup();
    let program = program.unwrap_or_default();
    Checked {
        sources,
        diagnostics: once::once(out, &program),
        program,
        processes,
        fragments: bodies.fragments,
        settings: bodies.settings,
        units,
        sessions,
        watched,
        notes: notes.into_list(),
    }
}

/// All processes of all units, and where each is declared.
fn processes(
    units: &Units,
    types: &TypeNames,
    out: &mut Vec<Diagnostic>,
) -> (Vec<Process>, HashMap<Definition, ProcessId>) {
    let mut processes = Vec::new();
    let mut by_definition = HashMap::new();
    let mut reader = Reader { units, types, out };
    for (unit, source) in units.list.iter().enumerate() {
        for (declaration, declared) in source.program.declarations.iter().enumerate() {
            if let DeclarationKind::Let(declared) = &declared.kind {
                let definition = Definition { unit, declaration };
                by_definition.insert(definition, processes.len());
                processes.push(reader.process(definition, declared));
            }
        }
    }
    (processes, by_definition)
}

impl Checked {
    /// The program without sessions, as `plumb desugar` prints it.
    #[must_use]
    pub fn desugared(&self) -> &Program {
        let unit = self.units.get(0);
        unit.map_or(&self.program, |unit| &unit.program)
    }

    /// Returns true if the program can run: it has no errors, only warnings at most.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let mut diagnostics = self.diagnostics.iter();
        diagnostics.all(|diagnostic| diagnostic.severity == Severity::Warning)
    }

    /// The processes that the program itself declares, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self
            .processes
            .iter()
            .filter(|process| process.definition.unit == 0);
        own.map(|process| &*process.name)
    }

    /// The graph of a process: `main` or another, or `Mem.prepared` for one of a module. `None` if there is
    /// no such process or the program has errors.
    #[must_use]
    pub fn graph(&self, process: &str) -> Option<Graph> {
        if !self.is_sound() {
            return None;
        }
        let id = self.find(process)?;
        let unit = self.units.get(self.processes.get(id)?.definition.unit)?;
        if unit.processing == Processing::Skipped {
            return self.with_mem()?.graph(process);
        }
        let graph = Inline::graph(&self.processes, &self.fragments, &self.settings, id)?;
        Some(gates::mark(graph, &self.watched))
    }

    /// The sessions of the program and its modules, for pictures.
    #[must_use]
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// The same program, checked with the processes of `mem`.
    fn with_mem(&self) -> Option<Self> {
        let program = self.sources.get(SourceId(0))?;
        Some(check_with(
            &program.name,
            &program.text,
            &Again(&self.sources),
            Processing::Needed,
        ))
    }

    /// The ports of a process, as its signature has them.
    #[must_use]
    pub fn signature(&self, process: &str) -> Option<ProcessSignature> {
        let found = self.processes.get(self.find(process)?)?;
        let of = |ports: &[process::Port]| -> Vec<ExternalPort> {
            let declared = Process::positional(ports);
            declared
                .map(|port| ExternalPort {
                    name: port.name.clone(),
                    kind: port.kind.clone(),
                })
                .collect()
        };
        Some(ProcessSignature {
            inputs: of(&found.inputs),
            outputs: of(&found.outputs),
        })
    }

    fn find(&self, name: &str) -> Option<ProcessId> {
        let mut processes = self.processes.iter();
        processes.position(|process| *process.name == *name && process.role != Role::Broken)
    }
}

/// The modules of a check, for another one.
struct Again<'a>(&'a Sources);

impl Again<'_> {
    fn source(&self, name: &str) -> Option<&Source> {
        let mut modules = self.0.iter().skip(1).map(|(_, module)| module);
        modules.find(|module| *module.name == *name)
    }
}

impl Modules for Again<'_> {
    fn load(&self, name: &str) -> Option<String> {
        Some(self.source(name)?.text.to_string())
    }

    fn place(&self, name: &str) -> Option<String> {
        Some(self.source(name)?.place.to_string())
    }
}
