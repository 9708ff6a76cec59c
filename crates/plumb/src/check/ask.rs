//! Queries of editors: hover, definition and completion.

mod complete;
mod doc;
mod place;
mod uses;

use crate::commands::ControlCommand;
use crate::names::Sort;
use crate::span::{SourceId, Span};
use crate::syntax::ast::{
    Bind, Declaration, DeclarationKind, Endpoint, Name, Plumb, Statement, StatementKind, TypeKind,
    Wire,
};
use crate::syntax::type_text;
use crate::types::Type;

use super::Checked;
use super::notes::{Note, Shows};
use super::process::{ProcessId, declared};

use complete::is_letter;
pub use complete::{Completion, CompletionKind};
pub use uses::{NameKind, NameUse};

/// The element at a position of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The whole of it.
    pub span: Span,
    /// Its declaration in the language: `judge : !(string, string) -> !Verdict`.
    pub text: String,
    /// The span of its definition.
    pub definition: Option<Span>,
    /// The comment in front of its declaration.
    pub comment: Option<String>,
}

impl Checked {
    /// Returns the element at a byte offset of the program.
    #[must_use]
    pub fn at(&self, offset: u32) -> Option<Hover> {
        let found = self.without_comment(offset)?;
        let defined = self.name_at(offset).and_then(|name| name.definition);
        let commented = defined.or(found.definition);
        let comment = commented.and_then(|name| self.comment_on(name));
        // The table of commands says the same as the comments of `mem`.
        let comment = comment.filter(|_| !found.text.contains("(*"));
        Some(Hover { comment, ..found })
    }

    fn without_comment(&self, offset: u32) -> Option<Hover> {
        if let Some((plumb, statement)) = self.statement_at(offset) {
            if let StatementKind::Bind(bind) = &statement.kind {
                return self.bound_at(plumb, bind, offset);
            }
            if let StatementKind::Wire(wire) = &statement.kind
                && let Some(place) = self.endpoint(plumb, wire, offset)
            {
                return Some(place);
            }
        }
        if let Some(place) = self.declaration_at(offset) {
            return Some(place);
        }
        if let Some(place) = self.command_at(offset) {
            return Some(place);
        }
        let notes = self.notes.iter();
        let around = notes.filter(|note| holds(note.span, offset) && is_known(note));
        self.noted(around.min_by_key(|note| note.span.end - note.span.start)?)
    }

    fn noted(&self, note: &Note) -> Option<Hover> {
        let text = match &note.shows {
            Shows::Process(id) => self.shown_process(*id)?,
            Shows::Stream(name, kind) => format!("{name} : {}", streamed(kind)),
            Shows::Morphism(from, to) => format!("{} -> {}", streamed(from), streamed(to)),
            Shows::Value(kind) => kind.to_string(),
            Shows::Type(definition) => {
                let declaration = self.units.declaration(*definition)?;
                let DeclarationKind::Type(name, kind) = &declaration.kind else {
                    return None;
                };
                let shown = format!("type {} = {}", name.text, type_text(kind));
                let of_mem = Some(definition.unit) == self.units.mem;
                match ControlCommand::of_type(&name.text).filter(|_| of_mem) {
                    Some(command) => format!("{shown}\n{}", meaning(command)),
                    None => shown,
                }
            }
        };
        Some(Hover {
            span: note.span,
            text,
            definition: note.definition,
            comment: None,
        })
    }

    /// The name of a command, where a record of an expression has it as a field.
    fn command_at(&self, offset: u32) -> Option<Hover> {
        self.message_at(offset)?;
        let text = &self.sources.get(SourceId(0))?.text;
        let (before, after) = text.split_at_checked(offset as usize)?;
        let before = before.len() - before.trim_end_matches(is_letter).len();
        let after = after.len() - after.trim_start_matches(is_letter).len();
        let start = offset - u32::try_from(before).ok()?;
        let end = offset + u32::try_from(after).ok()?;
        let command = ControlCommand::named(text.get(start as usize..end as usize)?)?;
        if !text.get(end as usize..)?.trim_start().starts_with(':') {
            return None;
        }
        let name = command.entry().type_name;
        let mem = self.units.get(self.units.mem?)?;
        let mut declarations = mem.program.declarations.iter().map(Declaration::name);
        Some(Hover {
            span: Span::new(SourceId(0), start, end),
            text: format!(
                "type {name} = {}\n{}",
                command.type_text(),
                meaning(command)
            ),
            definition: declarations
                .find(|one| *one.text == *name)
                .map(|one| one.span),
            comment: None,
        })
    }

    /// The element at the name of a declaration. A `use` is defined in the file of its module.
    fn declaration_at(&self, offset: u32) -> Option<Hover> {
        let mut declarations = self.program.declarations.iter();
        let declaration = declarations.find(|one| holds(one.name().span, offset))?;
        let name = declaration.name();
        let mut definition = name.span;
        let text = match &declaration.kind {
            DeclarationKind::Use(module) => {
                let mut units = self.units.list.iter().skip(1);
                let unit = units.find(|unit| *unit.name == *module.text)?;
                definition = Span::new(unit.source, 0, 0);
                format!("use {}", module.text)
            }
            DeclarationKind::Let(_) => self.shown_process(self.find(&name.text)?)?,
            DeclarationKind::Type(..) | DeclarationKind::Protocol(..) => {
                let source = self.sources.get(SourceId(0))?;
                source.text.get(declaration.span.range())?.to_owned()
            }
        };
        Some(Hover {
            span: name.span,
            text,
            definition: Some(definition),
            comment: None,
        })
    }

    /// The `plumb` body that a place is in.
    fn body_at(&self, offset: u32) -> Option<&Plumb> {
        self.program
            .bodies()
            .find(|plumb| holds(plumb.span, offset))
    }

    fn statement_at(&self, offset: u32) -> Option<(&Plumb, &Statement)> {
        let plumb = self.body_at(offset)?;
        let mut statements = plumb.statements.iter();
        let statement = statements.find(|statement| holds(statement.span, offset))?;
        Some((plumb, statement))
    }

    /// An endpoint of a session.
    fn endpoint(&self, plumb: &Plumb, wire: &Wire, offset: u32) -> Option<Hover> {
        let (name, span, carried) = endpoint_at(wire, offset)?;
        let bind = session(plumb, name)?;
        let place = self.shown_protocol(bind, span)?;
        let source = self.sources.get(SourceId(0))?;
        let endpoint = source.text.get(span.range())?;
        Some(Hover {
            span,
            text: format!("{endpoint} : {carried}\n{}", place.text),
            definition: Some(bind.session.span),
            comment: None,
        })
    }

    /// The element in a binding. Its translation has generated names, which editors must not show.
    fn bound_at(&self, plumb: &Plumb, bind: &Bind, offset: u32) -> Option<Hover> {
        let protocol = bind.protocol.span();
        for span in [protocol, bind.session.span] {
            if holds(span, offset) {
                return self.shown_protocol(bind, span);
            }
        }
        let mut streams = [&bind.incoming, &bind.outgoing].into_iter();
        let stream = streams.find(|stream| holds(stream.span, offset))?;
        let declared = own_streams(plumb).find(|name| name.text == stream.text)?;
        let mut notes = self.notes.iter();
        let note = notes.find(|note| note.span == declared.span)?;
        let place = self.noted(note)?;
        Some(Hover {
            span: stream.span,
            ..place
        })
    }

    fn shown_protocol(&self, bind: &Bind, span: Span) -> Option<Hover> {
        let found = self.units.find(0, &bind.protocol, Sort::Protocol).ok()?;
        let declaration = self.units.declaration(found)?;
        Some(Hover {
            span,
            text: format!("{} : {}", bind.session.text, bind.protocol.name.text),
            definition: Some(declaration.name().span),
            comment: None,
        })
    }

    fn shown_process(&self, id: ProcessId) -> Option<String> {
        let process = self.processes.get(id)?;
        let signature = &declared(&self.units, process.definition)?.signature;
        let side = |kinds: &[crate::syntax::ast::Type]| {
            let kinds: Vec<String> = kinds.iter().map(type_text).collect();
            match kinds.as_slice() {
                [one] => one.clone(),
                several => format!("({})", several.join(", ")),
            }
        };
        let (inputs, outputs) = (side(&signature.inputs), side(&signature.outputs));
        Some(format!("{} : {inputs} -> {outputs}", process.name))
    }
}

/// The meaning of a command and who obeys it, as a comment of the language.
fn meaning(command: ControlCommand) -> String {
    let entry = command.entry();
    format!("(* {} Obeyed by {}. *)", entry.meaning, entry.obeyed_by)
}

/// Returns true if the type of a note is known; after a mistake it may not be.
fn is_known(note: &Note) -> bool {
    let known = |kind: &Type| *kind != Type::Unknown && !kind.is_never();
    match &note.shows {
        Shows::Stream(_, kind) | Shows::Value(kind) => known(kind),
        Shows::Morphism(from, to) => known(from) || known(to),
        Shows::Process(_) | Shows::Type(_) => true,
    }
}

/// The streams that a body names: its ports and its channels.
fn own_streams(plumb: &Plumb) -> impl Iterator<Item = &Name> {
    let channels = plumb.channels().map(|(name, _)| name);
    plumb.ports.iter().chain(channels)
}

fn holds(span: Span, offset: u32) -> bool {
    span.source.0 == 0 && span.start <= offset && offset <= span.end
}

/// A type as that of a stream.
fn streamed(kind: &Type) -> String {
    match kind {
        Type::Sum(variants) if variants.len() > 1 => format!("!({kind})"),
        _ => format!("!{kind}"),
    }
}

fn session<'a>(plumb: &'a Plumb, name: &str) -> Option<&'a Bind> {
    let mut binds = plumb.bindings().map(|(bind, _)| bind);
    binds.find(|bind| *bind.session.text == *name)
}

/// The endpoint of a session at a position: the session's name, the span and the type.
fn endpoint_at(wire: &Wire, offset: u32) -> Option<(&str, Span, String)> {
    match wire {
        Wire::Sequence(parts) | Wire::Parallel(_, parts) => {
            parts.iter().find_map(|part| endpoint_at(part, offset))
        }
        Wire::Field(inner, _) | Wire::Keep(_, inner) => endpoint_at(inner, offset),
        // `s@trigger` and `s@error`.
        Wire::Port(name, port) => {
            let span = name.span.to(port.span);
            holds(span, offset).then(|| (&*name.text, span, "!json".to_owned()))
        }
        Wire::Step(step) if holds(step.span, offset) => {
            let carried = match &step.endpoint {
                Endpoint::Send(kind, _) | Endpoint::Recv(kind, _) => match &kind.kind {
                    TypeKind::Sum(_) => format!("!({})", type_text(kind)),
                    _ => format!("!{}", type_text(kind)),
                },
                Endpoint::Done(..) => "!unit".to_owned(),
                Endpoint::Select(..) | Endpoint::Offer(..) => "!json".to_owned(),
            };
            Some((&*step.session.text, step.span, carried))
        }
        _ => None,
    }
}
