//! What editors ask: what stands at a place, where it is defined, and what could stand there.

use crate::expr::fields_of;
use crate::names::{Sort, Unit, member_name, named};
use crate::span::Span;
use crate::syntax::ast::{
    Bind, Body, DeclarationKind, Plumb, Program, Protocol, ProtocolKind, Statement, StatementKind,
    Wire,
};
use crate::syntax::type_text;
use crate::types::{Presence, Type};

use super::Checked;
use super::notes::Shows;
use super::process::{ProcessId, declared};

/// What stands at a place of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The whole of it.
    pub span: Span,
    /// What it is, in the language's own words: `judge : !(string, string) -> !Verdict`.
    pub text: String,
    /// Where it is defined.
    pub definition: Option<Span>,
}

/// What could stand at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    /// What would be written.
    pub label: String,
    /// What kind of thing it is.
    pub kind: CompletionKind,
    /// Its type, or nothing.
    pub detail: String,
}

/// What kind of thing a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionKind {
    /// A field of the message.
    Field,
    /// A port of a process, or an endpoint of a session.
    Port,
    /// A channel or a boundary port.
    Channel,
    /// A process.
    Process,
    /// A type.
    Type,
    /// A word of the language.
    Word,
}

/// The morphisms that the language has.
const MORPHISMS: &[&str] = &[
    "id", "copy", "merge", "discard", "empty", "barrier", "map", "filter", "project", "tag",
];

/// What an expression may begin with, besides fields.
const IN_EXPRESSIONS: &[&str] = &[
    "value", "len", "contains", "defined", "if", "not", "true", "false", "null",
];

impl Checked {
    /// What stands at a byte of the program.
    #[must_use]
    pub fn at(&self, offset: u32) -> Option<Place> {
        if let Some(place) = self.session_at(offset) {
            return Some(place);
        }
        let notes = self.notes.iter();
        let around = notes.filter(|note| holds(note.span, offset));
        let note = around.min_by_key(|note| note.span.end - note.span.start)?;
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
                format!("type {} = {}", name.text, type_text(kind))
            }
        };
        Some(Place {
            span: note.span,
            text,
            definition: note.definition,
        })
    }

    /// What could stand at a byte of the program, in alphabetical order, whatever letters of it stand there
    /// already.
    #[must_use]
    pub fn completions(&self, offset: u32) -> Vec<Completion> {
        let text = self
            .sources
            .get(crate::span::SourceId(0))
            .map(|source| &*source.text);
        let before = text
            .and_then(|text| text.get(..offset as usize))
            .unwrap_or_default();
        let before = before.trim_end_matches(is_letter);
        let mut found = match before.chars().next_back() {
            Some('@') => self.ports_of(last_word(before.trim_end_matches('@')), offset),
            Some('.') => self.members(before.trim_end_matches('.'), offset),
            _ => self.words(offset),
        };
        found.sort();
        found.dedup();
        found
    }

    /// The `plumb` body that a place is in.
    fn body_at(&self, offset: u32) -> Option<&Plumb> {
        let mut bodies = bodies(&self.program);
        bodies.find(|plumb| holds(plumb.span, offset))
    }

    fn session_at(&self, offset: u32) -> Option<Place> {
        let plumb = self.body_at(offset)?;
        let statement = |statement: &&Statement| holds(statement.span, offset);
        let statement = plumb.statements.iter().find(statement)?;
        let (name, span) = match &statement.kind {
            StatementKind::Bind(bind) if holds(bind.protocol.span(), offset) => {
                return self.shown_protocol(bind, bind.protocol.span());
            }
            StatementKind::Bind(bind) if holds(bind.session.span, offset) => {
                return self.shown_protocol(bind, bind.session.span);
            }
            StatementKind::Wire(wire) => endpoint_at(wire, offset)?,
            _ => return None,
        };
        let bind = session(plumb, name)?;
        let mut place = self.shown_protocol(bind, span)?;
        place.definition = Some(bind.session.span);
        Some(place)
    }

    fn shown_protocol(&self, bind: &Bind, span: Span) -> Option<Place> {
        let found = self.units.find(0, &bind.protocol, Sort::Protocol).ok()?;
        let declaration = self.units.declaration(found)?;
        Some(Place {
            span,
            text: format!("{} : {}", bind.session.text, bind.protocol.name.text),
            definition: named(declaration).map(|name| name.span),
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

    fn ports_of(&self, name: &str, offset: u32) -> Vec<Completion> {
        let bind = self.body_at(offset).and_then(|plumb| session(plumb, name));
        if let Some(bind) = bind {
            return self.endpoints(bind);
        }
        let mut processes = self.processes.iter();
        let process = processes.find(|process| *process.name == *name);
        let all = process.map(|process| process.inputs.iter().chain(&process.outputs));
        all.into_iter()
            .flatten()
            .map(|port| completion(&port.name, CompletionKind::Port, streamed(&port.kind)))
            .collect()
    }

    fn endpoints(&self, bind: &Bind) -> Vec<Completion> {
        let port = |label: &str| completion(label, CompletionKind::Port, String::new());
        let mut found = vec![port("trigger"), port("error")];
        let declared = self.units.find(0, &bind.protocol, Sort::Protocol).ok();
        let declaration = declared.and_then(|found| self.units.declaration(found));
        if let Some(DeclarationKind::Protocol(_, protocol)) = declaration.map(|one| &one.kind) {
            let dual = bind.side == crate::syntax::ast::Side::Dual;
            let mut labels = Vec::new();
            steps(protocol, dual, &mut labels);
            found.extend(labels.iter().map(|label| port(label)));
        }
        found
    }

    /// What may follow a `.`: members of a module, fields of a part of the message.
    fn members(&self, before: &str, offset: u32) -> Vec<Completion> {
        let start = before
            .trim_end_matches(|letter| is_letter(letter) || letter == '.')
            .len();
        let chain: Vec<&str> = before.get(start..).unwrap_or_default().split('.').collect();
        if let [module] = chain.as_slice()
            && let Some(unit) = self.module(module)
        {
            return members_of(unit);
        }
        let Some(mut kind) = self.message_at(offset) else {
            return Vec::new();
        };
        for name in chain.iter().filter(|name| **name != "value") {
            kind = field_of(&kind, name).map_or(Type::Unknown, |(_, kind)| kind);
        }
        fields(&kind)
    }

    fn module(&self, name: &str) -> Option<&Unit> {
        let mut modules = self.units.list.iter().skip(1);
        modules.find(|unit| *member_name(&unit.name) == *name)
    }

    /// The type of the message that the expression at a place reads.
    fn message_at(&self, offset: u32) -> Option<Type> {
        let notes = self.notes.iter();
        let around = notes.filter(|note| note.span.start < offset && offset < note.span.end);
        let messages = around.filter_map(|note| match &note.shows {
            Shows::Morphism(from, _) => Some((note.span, from)),
            _ => None,
        });
        let (_, message) = messages.min_by_key(|(span, _)| span.end - span.start)?;
        Some(message.clone())
    }

    fn words(&self, offset: u32) -> Vec<Completion> {
        let word = |label: &&str| completion(label, CompletionKind::Word, String::new());
        if let Some(message) = self.message_at(offset) {
            let mut found = fields(&message);
            found.extend(IN_EXPRESSIONS.iter().map(word));
            return found;
        }
        let mut found: Vec<Completion> = MORPHISMS.iter().map(word).collect();
        if let Some(plumb) = self.body_at(offset) {
            found.extend(self.notes.iter().filter_map(|note| match &note.shows {
                Shows::Stream(name, kind)
                    if note.definition == Some(note.span) && holds(plumb.span, note.span.start) =>
                {
                    Some(completion(name, CompletionKind::Channel, streamed(kind)))
                }
                _ => None,
            }));
        }
        for (id, process) in self.processes.iter().enumerate() {
            if process.definition.unit == 0 {
                let detail = self.shown_process(id).unwrap_or_default();
                found.push(completion(&process.name, CompletionKind::Process, detail));
            }
        }
        let known = self.units.list.first().into_iter().flat_map(|unit| {
            let used = unit.uses.iter().map(|(_, unit)| *unit);
            std::iter::once(0).chain(used).chain(self.units.mem)
        });
        let types = known
            .filter_map(|unit| self.units.get(unit))
            .flat_map(types_of);
        found.extend(types);
        found
    }
}

fn holds(span: Span, offset: u32) -> bool {
    span.source.0 == 0 && span.start <= offset && offset <= span.end
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn last_word(text: &str) -> &str {
    text.rsplit(|letter| !is_letter(letter))
        .next()
        .unwrap_or_default()
}

/// A type as that of a stream.
fn streamed(kind: &Type) -> String {
    match kind {
        Type::Sum(variants) if variants.len() > 1 => format!("!({kind})"),
        _ => format!("!{kind}"),
    }
}

fn completion(label: &str, kind: CompletionKind, detail: String) -> Completion {
    Completion {
        label: label.to_owned(),
        kind,
        detail,
    }
}

fn bodies(program: &Program) -> impl Iterator<Item = &Plumb> {
    let declarations = program.declarations.iter();
    declarations.filter_map(|declaration| match &declaration.kind {
        DeclarationKind::Let(declared) => match &declared.body {
            Body::Plumb(plumb) => Some(plumb),
            _ => None,
        },
        _ => None,
    })
}

fn session<'a>(plumb: &'a Plumb, name: &str) -> Option<&'a Bind> {
    plumb
        .statements
        .iter()
        .find_map(|statement| match &statement.kind {
            StatementKind::Bind(bind) if *bind.session.text == *name => Some(bind),
            _ => None,
        })
}

/// What may be an endpoint of a session at a place: whose, and where the whole of it stands.
fn endpoint_at(wire: &Wire, offset: u32) -> Option<(&str, Span)> {
    match wire {
        Wire::Sequence(parts) | Wire::Parallel(_, parts) => {
            parts.iter().find_map(|part| endpoint_at(part, offset))
        }
        Wire::Field(inner, _) => endpoint_at(inner, offset),
        Wire::Port(name, port) => {
            let span = name.span.to(port.span);
            holds(span, offset).then_some((&*name.text, span))
        }
        Wire::Step(step) if holds(step.span, offset) => Some((&*step.session.text, step.span)),
        _ => None,
    }
}

/// The endpoints of the steps of a protocol.
fn steps(protocol: &Protocol, dual: bool, labels: &mut Vec<String>) {
    let step = |word: &str, kind: &crate::syntax::ast::Type, labels: &mut Vec<String>| {
        labels.push(format!("{word}({})", type_text(kind)));
        labels.push(format!("done({})", type_text(kind)));
    };
    match &protocol.kind {
        ProtocolKind::Send(kind, rest) => {
            step(if dual { "recv" } else { "send" }, kind, labels);
            steps(rest, dual, labels);
        }
        ProtocolKind::Recv(kind, rest) => {
            step(if dual { "send" } else { "recv" }, kind, labels);
            steps(rest, dual, labels);
        }
        ProtocolKind::Select(arms) | ProtocolKind::Offer(arms) => {
            let selects = matches!(protocol.kind, ProtocolKind::Select(_)) != dual;
            let word = if selects { "select" } else { "offer" };
            for (label, rest) in arms {
                labels.push(format!("{word}({})", label.text));
                steps(rest, dual, labels);
            }
        }
        ProtocolKind::Rec(_, rest) => steps(rest, dual, labels),
        _ => {}
    }
}

fn members_of(unit: &Unit) -> Vec<Completion> {
    let processes = unit.processes.keys();
    let processes = processes.map(|name| completion(name, CompletionKind::Process, String::new()));
    processes.chain(types_of(unit)).collect()
}

fn types_of(unit: &Unit) -> impl Iterator<Item = Completion> {
    unit.program
        .declarations
        .iter()
        .filter_map(|declaration| match &declaration.kind {
            DeclarationKind::Type(name, kind) => Some(completion(
                &name.text,
                CompletionKind::Type,
                type_text(kind),
            )),
            _ => None,
        })
}

fn fields(kind: &Type) -> Vec<Completion> {
    let of = |name: &std::sync::Arc<str>| {
        let (presence, kind) = field_of(kind, name)?;
        let mark = match presence {
            Presence::Required => "",
            Presence::Optional => "?",
        };
        Some(completion(
            name,
            CompletionKind::Field,
            format!("{name}{mark}: {kind}"),
        ))
    };
    fields_of(kind).iter().filter_map(of).collect()
}

/// A field of a record, or of the first variant of a sum that has it.
fn field_of(kind: &Type, name: &str) -> Option<(Presence, Type)> {
    kind.variants().iter().find_map(|variant| match variant {
        Type::Record(fields) => {
            let field = fields.iter().find(|field| *field.name == *name)?;
            Some((field.presence, field.kind.clone()))
        }
        _ => None,
    })
}
