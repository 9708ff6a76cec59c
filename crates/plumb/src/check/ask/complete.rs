//! Completion: the text that can follow a position of the program.

use std::sync::Arc;

use crate::commands::ControlCommand;
use crate::expr::fields_of;
use crate::names::{Sort, Unit, member_name};
use crate::span::SourceId;
use crate::syntax::ast::{
    Bind, Body, DeclarationKind, Name, Plumb, Protocol, ProtocolKind, Side, StatementKind,
};
use crate::syntax::type_text;
use crate::types::{Presence, Type};

use super::super::Checked;
use super::super::notes::Shows;
use super::super::process::{Process, Role};
use super::super::settings;
use super::place::{Place, place};
use super::{holds, own_streams, session, streamed};

/// A completion at a position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    /// The text to insert.
    pub label: String,
    /// The kind.
    pub kind: CompletionKind,
    /// Its type, or nothing.
    pub detail: String,
}

/// The kind of a completion.
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
    "id", "copy", "merge", "discard", "empty", "once", "barrier", "map", "filter", "project",
    "tag", "keep",
];

/// Words that can begin an expression, besides fields.
const IN_EXPRESSIONS: &[&str] = &[
    "value", "len", "contains", "defined", "is", "if", "not", "true", "false", "null",
];

/// Keywords of statements.
const STATEMENTS: &[&str] = &["let", "spawn"];

/// Keywords of declarations.
const DECLARATIONS: &[&str] = &["use", "type", "let", "protocol"];

/// Keywords of processes.
const BODIES: &[&str] = &["agent", "tool", "plumb"];

/// Words of protocols.
const STEPS: &[&str] = &["send", "recv", "select", "offer", "rec", "loop", "end"];

/// Types that the language has.
const TYPES: &[&str] = &["string", "int", "number", "bool", "unit", "json"];

impl Checked {
    /// Returns the completions at a byte offset, in alphabetical order, whatever letters are already typed.
    #[must_use]
    pub fn completions(&self, offset: u32) -> Vec<Completion> {
        let text = self.sources.get(SourceId(0)).map(|source| &*source.text);
        let before = text.and_then(|text| text.get(..offset as usize));
        let before = before.unwrap_or_default();
        let before = before.trim_end_matches(is_letter);
        let mut found = match before.chars().next_back() {
            Some('@') => self.ports_of(last_word(before.trim_end_matches('@')), offset),
            Some('.') => self.members(before.trim_end_matches('.'), offset),
            _ => self
                .settings(before, offset)
                .or_else(|| self.commands(before, offset))
                .or_else(|| self.in_message(offset))
                .unwrap_or_else(|| self.at_place(&place(before), offset)),
        };
        found.sort();
        found.dedup();
        found
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
        let port = |label: &str| completion(label, CompletionKind::Port, "");
        let mut found = vec![port("trigger"), port("error")];
        let declared = self.units.find(0, &bind.protocol, Sort::Protocol).ok();
        let declaration = declared.and_then(|found| self.units.declaration(found));
        if let Some(DeclarationKind::Protocol(_, protocol)) = declaration.map(|one| &one.kind) {
            let dual = bind.side == Side::Dual;
            let mut labels = Vec::new();
            steps(protocol, dual, &mut labels);
            found.extend(labels.iter().map(|label| port(label)));
        }
        found
    }

    /// Completions after a `.`: members of a module, or fields of a part of the message.
    fn members(&self, before: &str, offset: u32) -> Vec<Completion> {
        let start = before
            .trim_end_matches(|letter| is_letter(letter) || letter == '.')
            .len();
        let chain: Vec<&str> = before.get(start..).unwrap_or_default().split('.').collect();
        if let [module] = chain.as_slice()
            && let Some(unit) = self.module(module)
        {
            return self.members_of(unit);
        }
        let Some(mut kind) = self.message_at(offset) else {
            return Vec::new();
        };
        for name in chain.iter().filter(|name| **name != "value") {
            kind = field_of(&kind, name).map_or(Type::Unknown, |(_, kind)| kind);
        }
        fields(&kind)
    }

    fn members_of(&self, unit: &Unit) -> Vec<Completion> {
        let of = |process: &Process| {
            let home = self.units.get(process.definition.unit);
            home.is_some_and(|home| home.source == unit.source)
        };
        let processes = self.processes.iter().enumerate();
        let processes = processes.filter(|(_, process)| of(process));
        let processes = processes.filter_map(|(id, process)| {
            let label = process.name.rsplit('.').next()?;
            let detail = self.shown_process(id).unwrap_or_default();
            Some(completion(label, CompletionKind::Process, detail))
        });
        processes.chain(types_of(unit)).collect()
    }

    /// Completions in the braces of an agent or a tool: settings, or values of one.
    fn settings(&self, before: &str, offset: u32) -> Option<Vec<Completion>> {
        let (role, list) = self.program.lets().find_map(|declared| {
            let (role, span, list) = match &declared.body {
                Body::Agent(span, list) => (Role::Agent, span, list),
                Body::Tool(span, list) => (Role::Tool, span, list),
                _ => return None,
            };
            let brace = span.start + u32::try_from("tool".len()).ok()?;
            (brace < offset && holds(*span, offset)).then_some((role, list))
        })?;
        let written = list.iter().find(|setting| {
            let value = setting.value.span;
            value.start < offset && offset <= value.end
        });
        let key = written.map(|setting| &*setting.key.text).or_else(|| {
            let named = before.trim_end().strip_suffix(':')?;
            Some(last_word(named.trim_end()))
        });
        let Some(key) = key else {
            let left = settings::described_of(role);
            let left = left.filter(|(name, _)| list.iter().all(|one| *one.key.text != **name));
            let left = left.map(|(name, what)| completion(name, CompletionKind::Field, what));
            return Some(left.collect());
        };
        Some(match key {
            "provider" => settings::PROVIDERS
                .iter()
                .map(|name| {
                    let quote = if before.ends_with('"') { "" } else { "\"" };
                    completion(&format!("{quote}{name}{quote}"), CompletionKind::Word, "")
                })
                .collect(),
            "tools" | "process" => self.own_processes().collect(),
            _ => Vec::new(),
        })
    }

    fn own_processes(&self) -> impl Iterator<Item = Completion> {
        let processes = self.processes.iter().enumerate();
        let own = processes.filter(|(_, process)| process.definition.unit == 0);
        own.map(|(id, process)| {
            let detail = self.shown_process(id).unwrap_or_default();
            completion(&process.name, CompletionKind::Process, detail)
        })
    }

    fn module(&self, name: &str) -> Option<&Unit> {
        let mut modules = self.units.list.iter().skip(1);
        modules.find(|unit| *member_name(&unit.name) == *name)
    }

    /// Completions of a field in a record: the commands, or the modifiers of the command that it has.
    fn commands(&self, before: &str, offset: u32) -> Option<Vec<Completion>> {
        self.message_at(offset)?;
        let (_, fields) = before.rsplit_once('{')?;
        let text = &self.sources.get(SourceId(0))?.text;
        // Other programs make records of their own.
        let commands = text.contains("CtrlCmd") || text.contains("ctrl_in");
        let at_a_field = fields.trim().is_empty() || fields.trim_end().ends_with(',');
        if !commands || !at_a_field || fields.contains('}') {
            return None;
        }
        let names = fields.split(|letter| !is_letter(letter));
        let given = names.into_iter().find_map(ControlCommand::named);
        let Some(command) = given else {
            let all = ControlCommand::ALL.iter().map(|command| {
                let detail = format!("{}  {}", command.type_text(), command.entry().meaning);
                completion(command.name(), CompletionKind::Field, detail)
            });
            return Some(all.collect());
        };
        let modifiers =
            command.entry().modifiers.iter().map(|modifier| {
                completion(modifier.name(), CompletionKind::Field, modifier.meaning())
            });
        Some(modifiers.collect())
    }

    /// The type of the message that the expression at a place reads.
    pub(super) fn message_at(&self, offset: u32) -> Option<Type> {
        // The parts that a binding becomes have its span.
        let statement = self
            .statement_at(offset)
            .map(|(_, statement)| &statement.kind);
        if matches!(statement, Some(StatementKind::Bind(_))) {
            return None;
        }
        let notes = self.notes.iter();
        let around = notes.filter(|note| note.span.start < offset && offset < note.span.end);
        let messages = around.filter_map(|note| match &note.shows {
            Shows::Morphism(from, _) => Some((note.span, from)),
            _ => None,
        });
        let (_, message) = messages.min_by_key(|(span, _)| span.end - span.start)?;
        Some(message.clone())
    }

    /// In an expression: fields of the message, and words.
    fn in_message(&self, offset: u32) -> Option<Vec<Completion>> {
        let message = self.message_at(offset)?;
        let mut found = fields(&message);
        found.extend(IN_EXPRESSIONS.iter().map(word));
        Some(found)
    }

    /// The completions for a place of the grammar.
    fn at_place(&self, place: &Place, offset: u32) -> Vec<Completion> {
        let words = |words: &[&str]| words.iter().map(word).collect::<Vec<_>>();
        let body = self.body_at(offset);
        let streams = || body.map_or_else(Vec::new, |plumb| self.streams_of(plumb));
        match place {
            Place::Top => words(DECLARATIONS),
            Place::Body => [words(BODIES), words(MORPHISMS), self.processes_here()].concat(),
            Place::Part => [words(MORPHISMS), self.processes_here(), streams()].concat(),
            Place::Statement => {
                let morphisms = words(MORPHISMS);
                [
                    words(STATEMENTS),
                    morphisms,
                    self.processes_here(),
                    streams(),
                ]
                .concat()
            }
            Place::Behind => {
                let mut found = [words(MORPHISMS), self.processes_here(), streams()].concat();
                let inputs = body.map_or_else(Vec::new, |plumb| self.inputs_of(plumb));
                found.retain(|one| {
                    one.kind != CompletionKind::Channel || !inputs.contains(&one.label)
                });
                found
            }
            Place::Type => [words(TYPES), self.types_here()].concat(),
            Place::Channel => words(&["channel"]),
            Place::Step => [words(STEPS), self.protocols()].concat(),
            Place::Protocol => [words(&["dual"]), self.protocols()].concat(),
            Place::Module => {
                let modules = self.units.list.iter().skip(1).map(|unit| &*unit.name);
                words(&modules.chain(["mem"]).collect::<Vec<_>>())
            }
            Place::Spawned => self.processes_here(),
            Place::Argument(process) => [self.ports_of(process, offset), streams()].concat(),
            Place::Joined => streams(),
            Place::StepType(session, word) | Place::Label(session, word) => {
                self.steps_of(session, word, offset)
            }
            Place::Unknown => Vec::new(),
        }
    }

    /// The types or labels of the steps of a session that an endpoint can name.
    fn steps_of(&self, session_name: &str, word: &str, offset: u32) -> Vec<Completion> {
        let bind = self
            .body_at(offset)
            .and_then(|plumb| session(plumb, session_name));
        let endpoints = bind.map_or_else(Vec::new, |bind| self.endpoints(bind));
        let of = endpoints.iter().filter_map(|one| {
            let inside = one.label.strip_prefix(word)?.strip_prefix('(')?;
            Some(completion(
                inside.strip_suffix(')')?,
                CompletionKind::Type,
                "",
            ))
        });
        of.collect()
    }

    /// The inputs of a body, from which nothing but a statement's first part may read.
    fn inputs_of(&self, plumb: &Plumb) -> Vec<String> {
        let inputs = self
            .program
            .lets()
            .find_map(|declared| match &declared.body {
                Body::Plumb(own) if own.span == plumb.span => Some(declared.signature.inputs.len()),
                _ => None,
            });
        let inputs = plumb.ports.iter().take(inputs.unwrap_or_default());
        inputs.map(|port| port.text.to_string()).collect()
    }

    fn protocols(&self) -> Vec<Completion> {
        let protocols = self.known_units().flat_map(|unit| unit.protocols.keys());
        let protocols = protocols.map(|name| completion(name, CompletionKind::Type, ""));
        protocols.collect()
    }

    fn types_here(&self) -> Vec<Completion> {
        self.known_units().flat_map(types_of).collect()
    }

    /// The processes of the program, and the modules that have more.
    fn processes_here(&self) -> Vec<Completion> {
        let modules = self
            .units
            .list
            .first()
            .into_iter()
            .flat_map(|unit| &unit.uses);
        let modules = modules.map(|(name, _)| completion(name, CompletionKind::Word, ""));
        self.own_processes().chain(modules).collect()
    }

    /// The units whose types and protocols the program knows by their bare names.
    fn known_units(&self) -> impl Iterator<Item = &Unit> {
        let own = self.units.list.first();
        let used = own.into_iter().flat_map(|unit| &unit.uses);
        let used = used.map(|(_, unit)| *unit);
        let known = std::iter::once(0).chain(used).chain(self.units.mem);
        known.filter_map(|unit| self.units.get(unit))
    }

    /// The streams and the sessions that a body names.
    fn streams_of(&self, plumb: &Plumb) -> Vec<Completion> {
        let noted = |name: &Name| {
            let mut notes = self.notes.iter();
            notes.find_map(|note| match &note.shows {
                Shows::Stream(_, kind) if note.span == name.span => Some(streamed(kind)),
                _ => None,
            })
        };
        let streams = own_streams(plumb).map(|name| {
            let detail = noted(name).unwrap_or_default();
            completion(&name.text, CompletionKind::Channel, detail)
        });
        let sessions = plumb.bindings().map(|(bind, _)| {
            let protocol = &*bind.protocol.name.text;
            completion(&bind.session.text, CompletionKind::Channel, protocol)
        });
        streams.chain(sessions).collect()
    }
}

fn word(label: &&str) -> Completion {
    completion(label, CompletionKind::Word, "")
}

pub(super) fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn last_word(text: &str) -> &str {
    text.rsplit(|letter| !is_letter(letter))
        .next()
        .unwrap_or_default()
}

fn completion(label: &str, kind: CompletionKind, detail: impl Into<String>) -> Completion {
    Completion {
        label: label.to_owned(),
        kind,
        detail: detail.into(),
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
    let of = |name: &Arc<str>| {
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
