//! The names in a program: what each means and where that is defined. Editors list, rename and color them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::names::{Sort, UnitId};
use crate::span::Span;
use crate::syntax::ast::{
    Bind, Body, DeclarationKind, Endpoint, Expr, ExprKind, Let, Name, Path, Plumb, Protocol,
    ProtocolKind, Setting, Spawn, StatementKind, Type, TypeKind, Wire,
};

use super::super::Checked;
use super::super::process::{Process, Role, declared};

/// A name at one place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameUse {
    /// The place.
    pub span: Span,
    /// The kind of the named thing.
    pub kind: NameKind,
    /// The name where it is defined; of a module, the beginning of its text. `None` for what nothing defines,
    /// such as the fields of messages.
    pub definition: Option<Span>,
}

/// The kind of a named thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    /// A module.
    Module,
    /// A type.
    Type,
    /// A type that the language has.
    BuiltIn,
    /// A protocol.
    Protocol,
    /// A jump target of a protocol, named by its `rec`.
    Target,
    /// A process.
    Process,
    /// A port of a process.
    Port,
    /// A channel.
    Channel,
    /// A session.
    Session,
    /// An endpoint of a session: `send`, `done`.
    Endpoint,
    /// A label of a choice.
    Label,
    /// A field of a message, or a setting.
    Field,
}

impl Checked {
    /// All names in the program itself, in the order of the text.
    #[must_use]
    pub fn name_uses(&self) -> Vec<NameUse> {
        let mut walk = Walk {
            checked: self,
            found: Vec::new(),
            body: None,
        };
        for declaration in &self.program.declarations {
            match &declaration.kind {
                DeclarationKind::Use(name) => {
                    let mut modules = self.units.list.iter().skip(1);
                    let module = modules.find(|unit| unit.name == name.text);
                    let text = module.map(|unit| Span::new(unit.source, 0, 0));
                    walk.put(name, NameKind::Module, text);
                }
                DeclarationKind::Type(name, kind) => {
                    walk.put(name, NameKind::Type, Some(name.span));
                    walk.kind(kind);
                }
                DeclarationKind::Let(declared) => walk.process(declared),
                DeclarationKind::Protocol(name, protocol) => {
                    walk.put(name, NameKind::Protocol, Some(name.span));
                    walk.protocol(protocol, protocol, &mut Vec::new());
                }
            }
        }
        walk.found.sort_unstable();
        walk.found.dedup_by_key(|one| one.span);
        walk.found
    }

    /// The definition of the name at a byte offset: the use there, with its definition.
    #[must_use]
    pub fn name_at(&self, offset: u32) -> Option<NameUse> {
        let uses = self.name_uses().into_iter();
        let mut here = uses.filter(|one| one.span.start <= offset && offset <= one.span.end);
        here.next_back()
    }

    /// The span of the label that arms of a protocol have first.
    fn label(&self, unit: UnitId, protocol: &Protocol, label: &str) -> Option<Span> {
        let mut seen = HashSet::new();
        self.label_in(unit, protocol, label, &mut seen)
    }

    fn label_in(
        &self,
        unit: UnitId,
        protocol: &Protocol,
        label: &str,
        seen: &mut HashSet<Span>,
    ) -> Option<Span> {
        if !seen.insert(protocol.span) {
            return None;
        }
        match &protocol.kind {
            ProtocolKind::Send(_, rest)
            | ProtocolKind::Recv(_, rest)
            | ProtocolKind::Rec(_, rest) => self.label_in(unit, rest, label, seen),
            ProtocolKind::Select(arms) | ProtocolKind::Offer(arms) => {
                let own = arms.iter().find(|(name, _)| *name.text == *label);
                own.map(|(name, _)| name.span).or_else(|| {
                    let mut arms = arms.iter();
                    arms.find_map(|(_, rest)| self.label_in(unit, rest, label, seen))
                })
            }
            ProtocolKind::Named(path) => {
                let found = self.units.find(unit, path, Sort::Protocol).ok()?;
                match &self.units.declaration(found)?.kind {
                    DeclarationKind::Protocol(_, other) => {
                        self.label_in(found.unit, other, label, seen)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

struct Walk<'a> {
    checked: &'a Checked,
    found: Vec<NameUse>,
    /// The body around.
    body: Option<&'a Plumb>,
}

impl<'a> Walk<'a> {
    fn put(&mut self, name: &Name, kind: NameKind, definition: Option<Span>) {
        self.found.push(NameUse {
            span: name.span,
            kind,
            definition,
        });
    }

    /// A name that a declaration defines, with its module in front.
    fn path(&mut self, path: &Path, sort: Sort) {
        let units = &self.checked.units;
        let kind = match sort {
            Sort::Type => NameKind::Type,
            Sort::Process => NameKind::Process,
            Sort::Protocol => NameKind::Protocol,
        };
        let found = units.find(0, path, sort).ok();
        let name = found.and_then(|found| units.declaration(found));
        let definition = name.map(|declaration| declaration.name().span);
        if let Some(module) = &path.module {
            let unit = found.and_then(|found| units.get(found.unit));
            let text = unit.map(|unit| Span::new(unit.source, 0, 0));
            self.put(module, NameKind::Module, text);
        }
        self.put(&path.name, kind, definition);
    }

    fn kind(&mut self, kind: &Type) {
        match &kind.kind {
            TypeKind::Named(path) if path.module.is_none() && starts_small(&path.name) => {
                self.put(&path.name, NameKind::BuiltIn, None);
            }
            TypeKind::Named(path) => self.path(path, Sort::Type),
            TypeKind::Record(fields) => {
                for field in fields {
                    self.put(&field.name, NameKind::Field, None);
                    self.kind(&field.kind);
                }
            }
            TypeKind::List(inner) | TypeKind::Stream(inner) => self.kind(inner),
            TypeKind::Sum(parts) | TypeKind::Product(parts) => {
                parts.iter().for_each(|part| self.kind(part));
            }
            TypeKind::Literal(_) | TypeKind::Broken => {}
        }
    }

    fn protocol(&mut self, protocol: &Protocol, whole: &Protocol, bound: &mut Vec<Name>) {
        match &protocol.kind {
            ProtocolKind::Send(kind, rest) | ProtocolKind::Recv(kind, rest) => {
                self.kind(kind);
                self.protocol(rest, whole, bound);
            }
            ProtocolKind::Select(arms) | ProtocolKind::Offer(arms) => {
                for (label, rest) in arms {
                    let first = self.checked.label(0, whole, &label.text);
                    self.put(label, NameKind::Label, first);
                    self.protocol(rest, whole, bound);
                }
            }
            ProtocolKind::Rec(name, rest) => {
                self.put(name, NameKind::Target, Some(name.span));
                bound.push(name.clone());
                self.protocol(rest, whole, bound);
                bound.pop();
            }
            ProtocolKind::Named(path) => {
                let own = path.module.is_none();
                let target = bound
                    .iter()
                    .rev()
                    .find(|it| own && it.text == path.name.text);
                match target.map(|target| target.span) {
                    Some(target) => self.put(&path.name, NameKind::Target, Some(target)),
                    None => self.path(path, Sort::Protocol),
                }
            }
            ProtocolKind::Loop | ProtocolKind::End | ProtocolKind::Broken => {}
        }
    }

    fn process(&mut self, declared: &'a Let) {
        self.put(&declared.name, NameKind::Process, Some(declared.name.span));
        let signature = &declared.signature;
        for kind in signature.inputs.iter().chain(&signature.outputs) {
            self.kind(kind);
        }
        match &declared.body {
            Body::Agent(_, settings) | Body::Tool(_, settings) => self.settings(settings),
            Body::Wire(wire) => self.wire(wire),
            Body::Plumb(plumb) => {
                self.body = Some(plumb);
                self.plumb(plumb);
                self.body = None;
            }
            Body::Broken(_) => {}
        }
    }

    fn settings(&mut self, settings: &[Setting]) {
        for setting in settings {
            self.put(&setting.key, NameKind::Field, None);
            if matches!(&*setting.key.text, "process" | "tools") {
                self.named_processes(&setting.value);
            } else {
                self.expression(&setting.value);
            }
        }
    }

    fn named_processes(&mut self, value: &Expr) {
        let name = |text: &Arc<str>, span| Name {
            text: text.clone(),
            span,
        };
        match &value.kind {
            ExprKind::List(items) => items.iter().for_each(|item| self.named_processes(item)),
            ExprKind::Name(text) => {
                self.path(&Path::bare(name(text, value.span)), Sort::Process);
            }
            ExprKind::Field(module, process) => {
                if let ExprKind::Name(text) = &module.kind {
                    let path = Path {
                        module: Some(name(text, module.span)),
                        name: process.clone(),
                    };
                    self.path(&path, Sort::Process);
                }
            }
            _ => {}
        }
    }

    fn plumb(&mut self, plumb: &'a Plumb) {
        for port in &plumb.ports {
            self.put(port, NameKind::Port, Some(port.span));
        }
        for statement in &plumb.statements {
            match &statement.kind {
                StatementKind::Channel(name, kind) => {
                    self.put(name, NameKind::Channel, Some(name.span));
                    self.kind(kind);
                }
                StatementKind::Spawn(spawn) => self.spawn(spawn),
                StatementKind::Wire(wire) => self.wire(wire),
                StatementKind::Bind(bind) => self.bind(bind),
                StatementKind::Broken => {}
            }
        }
    }

    fn spawn(&mut self, spawn: &Spawn) {
        self.path(&spawn.process, Sort::Process);
        for argument in &spawn.arguments {
            if let Some(port) = &argument.port {
                let definition = self.port_of(&spawn.process, &port.text);
                self.put(port, NameKind::Port, definition);
            }
            self.stream(&argument.channel);
        }
    }

    fn bind(&mut self, bind: &Bind) {
        self.stream(&bind.incoming);
        self.stream(&bind.outgoing);
        self.path(&bind.protocol, Sort::Protocol);
        self.put(&bind.session, NameKind::Session, Some(bind.session.span));
    }

    /// A channel or a port of the body; false if there is none of this name.
    fn stream(&mut self, name: &Name) -> bool {
        let Some(body) = self.body else {
            return false;
        };
        let port = body.ports.iter().find(|port| port.text == name.text);
        let mut channels = body.channels().map(|(channel, _)| channel);
        let channel = channels.find(|channel| channel.text == name.text);
        let (kind, found) = match (port, channel) {
            (Some(port), _) => (NameKind::Port, port),
            (None, Some(channel)) => (NameKind::Channel, channel),
            (None, None) => return false,
        };
        self.put(name, kind, Some(found.span));
        true
    }

    fn session(&self, name: &Name) -> Option<&'a Bind> {
        let mut bindings = self.body?.bindings().map(|(bind, _)| bind);
        bindings.find(|bind| bind.session.text == name.text)
    }

    /// The port that a process names itself. Ports of agents have no name in the program.
    fn port_of(&self, process: &Path, port: &str) -> Option<Span> {
        let units = &self.checked.units;
        let found = units.find(0, process, Sort::Process).ok()?;
        let mut processes = self.checked.processes.iter();
        let process: &Process = processes.find(|process| process.definition == found)?;
        let written = matches!(declared(units, found)?.body, Body::Plumb(_));
        let mut ports = process.inputs.iter().chain(&process.outputs);
        let port = ports.find(|it| *it.name == *port)?;
        let source = self.checked.sources.get(port.span.source)?;
        let named = source.text.get(port.span.range()) == Some(&*port.name);
        (written && named && process.role == Role::Plumb).then_some(port.span)
    }

    fn wire(&mut self, wire: &Wire) {
        match wire {
            Wire::Sequence(parts) | Wire::Parallel(_, parts) => {
                parts.iter().for_each(|part| self.wire(part));
            }
            Wire::Field(inner, name) => {
                self.wire(inner);
                self.put(name, NameKind::Field, None);
            }
            Wire::Once(_, expr) | Wire::Map(_, expr) | Wire::Filter(_, expr) => {
                self.expression(expr);
            }
            Wire::Tag(_, label) => self.put(label, NameKind::Label, None),
            Wire::Named(path) if path.module.is_some() || !self.stream(&path.name) => {
                self.path(path, Sort::Process);
            }
            Wire::Named(_) => {}
            Wire::Port(name, port) => {
                if let Some(bind) = self.session(name) {
                    self.put(name, NameKind::Session, Some(bind.session.span));
                    self.put(port, NameKind::Endpoint, None);
                    return;
                }
                let path = Path::bare(name.clone());
                let definition = self.port_of(&path, &port.text);
                self.path(&path, Sort::Process);
                self.put(port, NameKind::Port, definition);
            }
            Wire::Step(step) => {
                let bind = self.session(&step.session);
                let session = bind.map(|bind| bind.session.span);
                self.put(&step.session, NameKind::Session, session);
                match &step.endpoint {
                    Endpoint::Send(kind, _) | Endpoint::Recv(kind, _) | Endpoint::Done(kind, _) => {
                        self.kind(kind);
                    }
                    Endpoint::Select(label, _) | Endpoint::Offer(label, _) => {
                        let definition = bind.and_then(|bind| self.label(bind, label));
                        self.put(label, NameKind::Label, definition);
                    }
                }
            }
            Wire::Keep(_, inner) => self.wire(inner),
            Wire::Id(_)
            | Wire::Copy(_)
            | Wire::Merge(_)
            | Wire::Discard(_)
            | Wire::Empty(_)
            | Wire::Barrier(_)
            | Wire::Project(..)
            | Wire::Broken(_) => {}
        }
    }

    fn label(&self, bind: &Bind, label: &Name) -> Option<Span> {
        let units = &self.checked.units;
        let found = units.find(0, &bind.protocol, Sort::Protocol).ok()?;
        match &units.declaration(found)?.kind {
            DeclarationKind::Protocol(_, protocol) => {
                self.checked.label(found.unit, protocol, &label.text)
            }
            _ => None,
        }
    }

    fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(text) if &**text != "value" => {
                let name = Name {
                    text: text.clone(),
                    span: expr.span,
                };
                self.put(&name, NameKind::Field, None);
            }
            ExprKind::Field(_, name) => self.put(name, NameKind::Field, None),
            ExprKind::Record(fields) => {
                for (name, _) in fields {
                    self.put(name, NameKind::Field, None);
                }
            }
            ExprKind::Is(_, kind) => self.kind(kind),
            _ => {}
        }
        for part in expr.parts() {
            self.expression(part);
        }
    }
}

fn starts_small(name: &Name) -> bool {
    name.text
        .starts_with(|letter: char| letter.is_ascii_lowercase())
}
