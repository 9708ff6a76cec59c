//! Processes: the declarations of `let`, seen from outside.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::names::{Definition, Sort, TypeNames, UnitId, Units, member_name};
use crate::span::Span;
use crate::syntax::ast::{self, Body, DeclarationKind, Let};
use crate::types::{Fit, Shown, Type, failed, fits};

use super::codes;

/// The number of a process among those of one check.
pub(crate) type ProcessId = usize;

/// A process, seen from outside.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// The span of its declaration.
    pub definition: Definition,
    /// The name, with its module unless it is the program's own.
    pub name: Arc<str>,
    /// The span of its name.
    pub span: Span,
    /// The kind of process.
    pub role: Role,
    /// The input ports. Those of the signature come first; positional arguments refer to them.
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
}

/// The kind of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// `agent { … }`.
    Agent,
    /// `tool { … }`.
    Tool,
    /// `tool { timer: true }`.
    Timer,
    /// `plumb(…) { … }`.
    Plumb,
    /// A morphism.
    Wire,
    /// Something that could not be read, or with a signature that makes no sense.
    Broken,
}

/// A port of a process.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub name: Arc<str>,
    /// The type of its messages.
    pub kind: Type,
    /// The way in which it is declared.
    pub state: PortState,
    /// The span of its declaration.
    pub span: Span,
}

/// The way in which a port is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortState {
    /// In the signature.
    Declared,
    /// Not in the signature; an agent has it nevertheless.
    Implied,
    /// The one output of an agent that serves for `ctrl_out` and `telemetry`.
    Both,
}

impl Process {
    /// The number of the port `error`, among the outputs.
    pub(crate) fn failures(&self) -> Option<usize> {
        let is_own = |port: &Port| port.state == PortState::Implied && &*port.name == FAILURES;
        self.outputs.iter().position(is_own)
    }

    /// The outputs that the body has: all but `error`, which comes last.
    pub(crate) fn own_outputs(&self) -> usize {
        self.failures().unwrap_or(self.outputs.len())
    }

    /// The ports of the signature.
    pub(crate) fn positional(ports: &[Port]) -> impl Iterator<Item = &Port> {
        ports.iter().filter(|port| port.state != PortState::Implied)
    }
}

impl Port {
    /// Returns true if it has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        *self.name == *name || (self.state == PortState::Both && name == "ctrl_out")
    }
}

/// The name of the port that every process has for its failures, unless the program gives a port that name.
const FAILURES: &str = "error";

/// Reads signatures.
pub(crate) struct Reader<'a> {
    pub units: &'a Units,
    pub types: &'a TypeNames,
    pub out: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    /// The process that a declaration declares.
    pub(crate) fn process(&mut self, definition: Definition, declared: &Let) -> Process {
        let unit = definition.unit;
        let module = self.units.get(unit).map(|unit| unit.name.clone());
        let name = match module {
            Some(module) if !module.is_empty() => {
                Arc::from(format!("{}.{}", member_name(&module), declared.name.text))
            }
            _ => declared.name.text.clone(),
        };
        let role = role(&declared.body);
        let inputs = self.streams(unit, &declared.signature.inputs, role);
        let outputs = self.streams(unit, &declared.signature.outputs, role);
        let mut process = Process {
            definition,
            name,
            span: declared.name.span,
            role,
            inputs: self.unnamed(&inputs, "input"),
            outputs: self.unnamed(&outputs, "output"),
        };
        match role {
            Role::Agent => self.agent(declared, inputs, outputs, &mut process),
            Role::Tool | Role::Timer => self.tool(declared, &mut process),
            Role::Plumb => self.plumb(declared, &mut process),
            Role::Wire | Role::Broken => {}
        }
        let mut ports = process.inputs.iter().chain(&process.outputs);
        let has_failures = !matches!(process.role, Role::Timer | Role::Broken);
        if has_failures && !ports.any(|port| port.is_called(FAILURES)) {
            process.outputs.push(Port {
                name: FAILURES.into(),
                kind: failed(),
                state: PortState::Implied,
                span: declared.name.span,
            });
        }
        process
    }

    /// The types of a side of a signature, and where each stands.
    fn streams(&mut self, unit: UnitId, kinds: &[ast::Type], role: Role) -> Vec<(Type, Span)> {
        let plain = matches!(role, Role::Tool | Role::Timer);
        let mut streams = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let (resolved, stream) = self.types.stream(self.units, unit, kind, self.out);
            if plain == stream && role != Role::Broken {
                let told = match plain {
                    true => codes::streams_of_tool(kind.span),
                    false => codes::plain_port(kind.span),
                };
                if !matches!(kind.kind, ast::TypeKind::Broken) {
                    self.out.push(told);
                }
            }
            streams.push((resolved, kind.span));
        }
        streams
    }

    fn unnamed(&self, streams: &[(Type, Span)], name: &str) -> Vec<Port> {
        let number = |index: usize| match streams.len() {
            1 => Arc::from(name),
            _ => Arc::from(format!("{name}{}", index + 1)),
        };
        streams
            .iter()
            .enumerate()
            .map(|(index, (kind, span))| Port {
                name: number(index),
                kind: kind.clone(),
                state: PortState::Declared,
                span: *span,
            })
            .collect()
    }

    fn plumb(&mut self, declared: &Let, process: &mut Process) {
        let Body::Plumb(plumb) = &declared.body else {
            return;
        };
        let wanted = process.inputs.len() + process.outputs.len();
        if plumb.ports.len() != wanted {
            let span = match (plumb.ports.first(), plumb.ports.last()) {
                (Some(first), Some(last)) => first.span.to(last.span),
                _ => plumb.span,
            };
            let told = codes::port_count(span, &ports(wanted), &plumb.ports.len());
            self.out
                .push(told.label(declared.signature.span, "the signature"));
            process.role = Role::Broken;
            return;
        }
        for (index, name) in plumb.ports.iter().enumerate() {
            let mut before = plumb.ports.iter().take(index);
            if let Some(first) = before.find(|other| other.text == name.text) {
                self.out.push(crate::names::twice(name, Some(first.span)));
                process.role = Role::Broken;
            }
        }
        let all = process.inputs.iter_mut().chain(&mut process.outputs);
        for (port, name) in all.zip(&plumb.ports) {
            port.name = name.text.clone();
            port.span = name.span;
        }
    }

    fn tool(&mut self, declared: &Let, process: &mut Process) {
        if process.inputs.len() == 1 && process.outputs.len() == 1 {
            return;
        }
        process.role = Role::Broken;
        self.out.push(codes::tool_ports(declared.signature.span));
    }

    /// The ports of an agent: those of the signature in their order, then the others.
    fn agent(
        &mut self,
        declared: &Let,
        inputs: Vec<(Type, Span)>,
        outputs: Vec<(Type, Span)>,
        process: &mut Process,
    ) {
        let span = declared.signature.span;
        if !(1..=2).contains(&inputs.len()) || !(1..=3).contains(&outputs.len()) {
            process.role = Role::Broken;
            self.out.push(codes::agent_ports(span));
            return;
        }
        let unit = process.definition.unit;
        let commands = self.of_mem(unit, "CtrlCmd", span);
        let answers = self.of_mem(unit, "CtrlResp", span);
        if let Some((kind, span)) = inputs.get(1)
            && fits(kind, &commands) == Fit::Never
        {
            self.out.push(codes::agent_input(*span, &Shown(kind)));
        }
        let both = matches!(outputs.as_slice(), [_, (Type::Json, _)]);
        let wide = [&answers, &Type::Json];
        for ((kind, span), given) in outputs.iter().skip(1).zip(wide) {
            if !both && fits(given, kind) == Fit::Never {
                self.out.push(codes::agent_output(*span, &Shown(kind)));
            }
        }
        process.inputs = named(
            inputs,
            &[("input", Type::Json), ("ctrl_in", commands)],
            span,
        );
        process.outputs = if both {
            let mut ports = named(
                outputs,
                &[("output", Type::Json), ("telemetry", Type::Json)],
                span,
            );
            if let Some(port) = ports.last_mut() {
                port.state = PortState::Both;
            }
            ports
        } else {
            let known = [
                ("output", Type::Json),
                ("ctrl_out", answers),
                ("telemetry", Type::Json),
            ];
            named(outputs, &known, span)
        };
    }

    fn of_mem(&mut self, unit: UnitId, name: &str, span: Span) -> Type {
        let named = |text: &str| ast::Name {
            text: text.into(),
            span,
        };
        let path = ast::Path {
            module: Some(named("Mem")),
            name: named(name),
        };
        if self.units.find(unit, &path, Sort::Type).is_err() {
            return Type::Json;
        }
        let kind = ast::Type::new(span, ast::TypeKind::Named(path));
        let resolved = self.types.quietly(self.units, unit, &kind);
        resolved.unwrap_or(Type::Unknown)
    }
}

fn named(given: Vec<(Type, Span)>, known: &[(&str, Type)], whole: Span) -> Vec<Port> {
    let mut given = given.into_iter();
    known
        .iter()
        .map(|(name, kind)| {
            let (kind, span, state) = match given.next() {
                Some((kind, span)) => (kind, span, PortState::Declared),
                None => (kind.clone(), whole, PortState::Implied),
            };
            Port {
                name: Arc::from(*name),
                kind,
                state,
                span,
            }
        })
        .collect()
}

fn role(body: &Body) -> Role {
    match body {
        Body::Agent(..) => Role::Agent,
        Body::Tool(_, settings) => {
            let timer = settings.iter().any(|setting| &*setting.key.text == "timer");
            if timer { Role::Timer } else { Role::Tool }
        }
        Body::Plumb(_) => Role::Plumb,
        Body::Wire(_) => Role::Wire,
        Body::Broken(_) => Role::Broken,
    }
}

/// "1 port", "2 ports".
pub(crate) fn ports(count: usize) -> String {
    format!("{count} port{}", if count == 1 { "" } else { "s" })
}

/// The `let` at a definition.
pub(crate) fn declared(units: &Units, definition: Definition) -> Option<&Let> {
    match &units.declaration(definition)?.kind {
        DeclarationKind::Let(declared) => Some(declared),
        _ => None,
    }
}
