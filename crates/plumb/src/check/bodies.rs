//! The bodies of all processes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity};
use crate::names::{Definition, Processing, TypeNames, Units};
use crate::session::Watch;
use crate::span::Span;
use crate::syntax::ast::{Body, Expr, Let, Path, Setting};
use crate::syntax::expression_text;

use super::codes;
use super::composed::Composed;
use super::draft::{Context, Drafter};
use super::fragment::{Fragment, assemble};
use super::infer::{Ports, infer};
use super::inline::Settings;
use super::kept;
use super::live::{Passes, Streams};
use super::notes::{Notes, Shows};
use super::process::{Process, ProcessId, Role, declared};
use super::received;
use super::scope::Watched;
use super::settings::settings;
use super::size;
use super::tools::{self, Named};

/// All bodies, checked.
#[derive(Default)]
pub(super) struct Bodies {
    /// The fragment of each process; empty for agents and tools.
    pub fragments: Vec<Fragment>,
    pub settings: HashMap<ProcessId, Settings>,
}

/// Checks all bodies.
pub(super) fn bodies(
    (units, types): (&Units, &TypeNames),
    (processes, by_definition): (&[Process], &HashMap<Definition, ProcessId>),
    (notes, watched): (&Notes, &Watched),
    out: &mut Vec<Diagnostic>,
) -> Bodies {
    let context = Context {
        units,
        types,
        processes,
        by_definition,
        notes,
    };
    let mut bodies = Bodies {
        fragments: vec![Fragment::default(); processes.len()],
        settings: HashMap::new(),
    };
    let written = |expr: &Expr| Arc::from(expression_text(expr));
    let troubles = EarlierErrors::new(out);
    let mut drafts = Vec::with_capacity(processes.len());
    let mut named = Named::new();
    for (id, process) in processes.iter().enumerate() {
        let unit = units.get(process.definition.unit);
        let needed = unit.is_some_and(|unit| unit.processing == Processing::Needed);
        let found = declared(units, process.definition).filter(|_| needed);
        if let Some(Body::Agent(_, list) | Body::Tool(_, list)) = found.map(|found| &found.body)
            && let Some(found) = found
        {
            let values = of_settings(context, (id, process), found, list, (&mut named, out));
            bodies.settings.insert(id, values);
        }
        let mut draft = found.and_then(|found| draft(context, process, found, out));
        if let (Some((draft, _)), Some(found)) = (&mut draft, found) {
            draft.suspect |= troubles.within(&found.body);
        }
        if let (Some((draft, ports)), Some(slot)) = (&draft, bodies.fragments.get_mut(id)) {
            let kinds = infer(draft, ports, context, process, out);
            *slot = assemble(draft, ports, kinds, (processes, process), &written);
        }
        drafts.push(draft);
    }
    whole((context, watched), &bodies, &drafts, out);
    tools::recursion(&bodies.fragments, &named, processes, out);
    bodies
}

/// Errors found before any body was checked. An element that seems to be missing in such a body may have been
/// left out because of them.
struct EarlierErrors {
    spans: Vec<Span>,
}

impl EarlierErrors {
    fn new(diagnostics: &[Diagnostic]) -> Self {
        let errors = diagnostics.iter();
        let errors = errors.filter(|one| one.severity == Severity::Error);
        let mut spans: Vec<Span> = errors.map(|one| one.span).collect();
        spans.sort_unstable();
        Self { spans }
    }

    fn within(&self, body: &Body) -> bool {
        let span = match body {
            Body::Plumb(plumb) => plumb.span,
            Body::Wire(wire) => wire.span(),
            _ => return false,
        };
        let first = self
            .spans
            .partition_point(|one| (one.source, one.start) < (span.source, span.start));
        let one = self.spans.get(first);
        one.is_some_and(|one| one.source == span.source && one.start <= span.end)
    }
}

/// Runs the checks that need all bodies.
fn whole<'a>(
    (context, watched): (Context<'a>, &Watched),
    bodies: &Bodies,
    drafts: &[Option<(super::draft::Draft<'a>, Ports)>],
    out: &mut Vec<Diagnostic>,
) {
    let calls = size::calls(&bodies.fragments);
    let before = out.len();
    let order = size::order(&calls, context.processes, out);
    if out.len() == before {
        size::measure(&order, &calls, (&bodies.fragments, context.processes), out);
    }
    let mut passes: Passes = vec![Vec::new(); context.processes.len()];
    let lively = size::lively(&bodies.fragments, &order);
    let no_sessions = Watch::default();
    let mut steady = vec![false; context.processes.len()];
    for process in order {
        let Some(Some((draft, ports))) = drafts.get(process) else {
            continue;
        };
        let watch = watch(context, watched, process).unwrap_or(&no_sessions);
        received::check(draft, ports, watch, out);
        let mut streams = Streams {
            draft,
            ports,
            context,
            lively: &lively,
            watch,
            out,
        };
        streams.check();
        let found = streams.passes(&passes);
        if let Some(slot) = passes.get_mut(process) {
            *slot = found;
        }
        let Some(declared) = context.processes.get(process) else {
            continue;
        };
        let makes_one = kept::check(draft, ports, (context, declared), &steady, out);
        if let Some(slot) = steady.get_mut(process) {
            *slot = makes_one;
        }
    }
}

/// The sessions of a process.
fn watch<'w>(context: Context<'_>, watched: &'w Watched, process: ProcessId) -> Option<&'w Watch> {
    let definition = context.processes.get(process)?.definition;
    let name = &declared(context.units, definition)?.name.text;
    watched.get(&(definition.unit, name.clone()))
}

fn of_settings(
    context: Context<'_>,
    (id, process): (ProcessId, &Process),
    found: &Let,
    list: &[Setting],
    (named, out): (&mut Named, &mut Vec<Diagnostic>),
) -> Settings {
    let unit = process.definition.unit;
    let looked_up = RefCell::new(Vec::new());
    let lookup = |path: &Path| {
        let id = context.process(unit, path)?;
        let missing = || codes::not_a_process(path.span(), &path.name.text);
        let behind = context.processes.get(id).ok_or_else(missing)?;
        let definition = Some(behind.span);
        let notes = context.notes;
        notes.push(path.span(), definition, Shows::Process(id));
        looked_up.borrow_mut().push((id, path.span()));
        Ok(behind)
    };
    let values = settings(found, process, list, &lookup, out);
    for (behind, span) in looked_up.into_inner() {
        if let Some(behind) = context
            .processes
            .get(behind)
            .filter(|_| process.role == Role::Tool)
        {
            tools::check(found, (process, behind), span, out);
        }
        named.push((id, behind, span));
    }
    values
}

/// The draft of a body, if it has one.
fn draft<'a>(
    context: Context<'a>,
    process: &'a Process,
    found: &'a Let,
    out: &mut Vec<Diagnostic>,
) -> Option<(super::draft::Draft<'a>, Ports)> {
    let mut drafter = Drafter {
        context,
        unit: process.definition.unit,
        draft: super::draft::Draft::default(),
        locals: HashMap::new(),
        instances: HashMap::new(),
        spawned: HashMap::new(),
        shared: true,
        statement: 0,
        composed: Composed::default(),
        out,
    };
    match (&found.body, process.role) {
        (Body::Plumb(plumb), Role::Plumb) => {
            drafter.boundary(process);
            drafter.plumb(plumb);
        }
        (Body::Wire(wire), Role::Wire) => {
            drafter.boundary(process);
            drafter.locals.clear();
            drafter.shared = false;
            drafter.morphism(wire, process, &found.signature);
        }
        _ => return None,
    }
    let ports = Ports::new(&drafter.draft);
    Some((drafter.draft, ports))
}
