//! Protocols, and how they become networks.
//!
//! ```text
//!  protocol P = send A . recv B . end        (in, out) <-> P as s        s@send(A), s@recv(B), …
//!        └──────────► steps ◄────────────────────┘                              │
//!                       └──────────── network ◄──────── wiring ◄────────────────┘
//!                                         │
//!                            channels and wiring statements
//! ```
//!
//! [`desugar`] rewrites a program so that it has no bindings and no endpoints of sessions any more: what is
//! left are morphisms, channels and, where steps have a time limit, a timer. The checker runs it before it
//! looks at any wiring, and `ebbtide plumb desugar` prints the result. `tests/traces.rs` defines the same
//! semantics without a network; property tests compare the two.
//!
//! The messages of endpoints: `s@trigger` takes any message, and its source passes it on when the run has
//! started; `s@send(T)` and `s@recv(T)` messages of type `T`; `s@done(T)` `null`;
//! `s@select(l)` and `s@offer(l)` any message, which travels as `{ tag: "l", value: message }`; `s@error`
//! `{ error, category, detail, message }`, where `error` is `unexpected_message` or `timeout`. Where nothing reads
//! `s@error`, the machine reports these itself.

pub mod codes;
mod contract;
mod gate;
mod make;
mod network;
mod rewrite;
mod steps;
mod streams;
#[cfg(test)]
mod tests;
mod watch;
mod wiring;

use std::sync::Arc;

use crate::check::codes::UNKNOWN_NAME;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::ast::{
    Bind, Body, Declaration, DeclarationKind, Let, Name, Path, Plumb, Program, Protocol, Side,
    Statement, StatementKind, Type, TypeKind, Wire,
};
use crate::types;
pub(crate) use contract::Contract;
use rewrite::Rewrite;
use steps::Steps;
use streams::Streams;
pub(crate) use watch::{Progress, Watch};
use wiring::Session;

/// Name lookup, which the checker provides.
pub trait Scope {
    /// The protocol of this name, with the names in it such that they mean the same in the program: where
    /// it comes from a module, its types and the protocols it names are `Module.Name`.
    fn protocol(&self, path: &Path) -> Option<Protocol>;

    /// Why there is no protocol of this name, where more can be said than that: its module is not there, or
    /// another name is near.
    fn missing(&self, path: &Path) -> Option<Diagnostic> {
        let _ = path;
        None
    }

    /// Returns true if a process has this name.
    fn has_process(&self, name: &Name) -> bool {
        let _ = name;
        true
    }

    /// The type, resolved. `None` if it names something that is not defined; the answer is only for comparing
    /// types, and that diagnostic is the checker's.
    fn resolve(&self, kind: &Type) -> Option<types::Type>;
}

/// The sessions of a program, by the names of their processes.
pub(crate) type Watches = Vec<(Arc<str>, Watch)>;

/// The program without sessions: every binding and every endpoint in its `plumb` bodies replaced by channels
/// and wiring statements of the plain morphisms, and one tool declared in front for each session with a time
/// limit. `protocol` declarations stay: they mean nothing to a network. Comments are left out, since what
/// they stand at may be gone.
///
/// Everything new has the span of the binding or the endpoint that it comes from. Where a session is wrong,
/// diagnostics `P06xx` say so, and `Broken` stands where an endpoint has no channel, so that the rest can be
/// checked. Beside the program stand its sessions, by the names of their processes.
#[must_use]
pub(crate) fn desugar(program: &Program, scope: &dyn Scope) -> (Program, Vec<Diagnostic>, Watches) {
    let mut pass = Pass {
        scope,
        taken: taken(program),
        tools: Vec::new(),
        diagnostics: Vec::new(),
        watched: Vec::new(),
    };
    let mut declarations = Vec::with_capacity(program.declarations.len());
    for declaration in &program.declarations {
        let kind = match &declaration.kind {
            DeclarationKind::Let(definition) => DeclarationKind::Let(pass.definition(definition)),
            DeclarationKind::Protocol(_, protocol) => {
                let found = Steps::of(protocol, scope);
                let told = found.map_or_else(|errors| errors, |(_, warnings)| warnings);
                pass.tell(told);
                declaration.kind.clone()
            }
            other => other.clone(),
        };
        declarations.append(&mut pass.tools);
        declarations.push(Declaration {
            span: declaration.span,
            kind,
        });
    }
    let program = Program {
        declarations,
        comments: Vec::new(),
    };
    (program, pass.diagnostics, pass.watched)
}

/// The diagnostic for an unknown protocol, or for its module if that is missing or cyclic.
fn unknown_protocol(scope: &dyn Scope, path: &Path, unknown: Diagnostic) -> Diagnostic {
    match scope.missing(path) {
        Some(missing) if missing.code != UNKNOWN_NAME => missing,
        Some(Diagnostic { hint, .. }) => Diagnostic { hint, ..unknown },
        None => unknown,
    }
}

struct Pass<'a> {
    scope: &'a dyn Scope,
    /// Names that new ones must not begin with: those of declarations.
    taken: Vec<String>,
    /// Timers of the declaration at hand.
    tools: Vec<Declaration>,
    diagnostics: Vec<Diagnostic>,
    watched: Vec<(Arc<str>, Watch)>,
}

impl Pass<'_> {
    /// A protocol that is named by another is looked at once for each; its mistakes are reported once.
    fn tell(&mut self, found: Vec<Diagnostic>) {
        for diagnostic in found {
            if !self.diagnostics.contains(&diagnostic) {
                self.diagnostics.push(diagnostic);
            }
        }
    }

    fn definition(&mut self, definition: &Let) -> Let {
        let body = match &definition.body {
            Body::Plumb(plumb) => Body::Plumb(self.plumb(definition, plumb)),
            Body::Wire(wire) => {
                let mut rewrite = Rewrite::new(self.scope);
                rewrite.look_for_unbound(wire);
                let wire = rewrite.statement(wire);
                self.tell(rewrite.diagnostics);
                Body::Wire(wire)
            }
            other => other.clone(),
        };
        Let {
            name: definition.name.clone(),
            signature: definition.signature.clone(),
            body,
        }
    }

    fn plumb(&mut self, definition: &Let, plumb: &Plumb) -> Plumb {
        let mut rewrite = Rewrite::new(self.scope);
        for (bind, span) in plumb.bindings() {
            self.bind(bind, span, plumb, &mut rewrite);
        }
        for statement in &plumb.statements {
            if let StatementKind::Wire(wire) = &statement.kind {
                rewrite.look_for_unbound(wire);
            }
        }
        let rewritten = plumb.statements.iter().map(|statement| Statement {
            span: statement.span,
            kind: match &statement.kind {
                StatementKind::Wire(wire) => StatementKind::Wire(rewrite.statement(wire)),
                other => other.clone(),
            },
        });
        let kept: Vec<Statement> = rewritten.collect();
        let mut statements = Vec::with_capacity(kept.len());
        for statement in kept {
            let StatementKind::Bind(bind) = &statement.kind else {
                statements.push(statement);
                continue;
            };
            let session = rewrite.sessions.get(&bind.session.text);
            match session.and_then(Option::as_ref) {
                Some(session) if session.span == statement.span => {
                    let streams = Streams {
                        incoming: stream(definition, plumb, &bind.incoming.text),
                        outgoing: stream(definition, plumb, &bind.outgoing.text),
                    };
                    let unfit = streams::check(session, &streams, self.scope);
                    rewrite.diagnostics.extend(unfit);
                    statements.extend(network::statements(session, streams.outgoing));
                    self.tools.extend(network::timer(session));
                    rewrite.diagnostics.extend(session.linear());
                }
                _ => statements.extend(broken(bind, &statement)),
            }
        }
        let sessions: Vec<&Session> = rewrite.sessions.values().flatten().collect();
        if !sessions.is_empty() {
            let watch = Watch::new(&sessions, self.scope);
            self.watched.push((definition.name.text.clone(), watch));
        }
        self.tell(rewrite.diagnostics);
        Plumb {
            span: plumb.span,
            ports: plumb.ports.clone(),
            statements,
        }
    }

    /// Takes note of a session, where its protocol can be read.
    fn bind(&mut self, bind: &Bind, span: Span, plumb: &Plumb, all: &mut Rewrite<'_>) {
        if let Some(first) = all.binding(&bind.session.text) {
            let name = &bind.session;
            let told = codes::duplicate_session(name.span, &name.text);
            self.diagnostics.push(told.label(first, "here first"));
            return;
        }
        all.streams(bind, span);
        let steps = match self.scope.protocol(&bind.protocol) {
            None => {
                let path = &bind.protocol;
                let unknown = codes::unknown_protocol(path.span(), &path.name.text);
                let unknown = unknown_protocol(self.scope, path, unknown);
                self.diagnostics.push(unknown);
                None
            }
            // Its mistakes are reported where it is declared.
            Some(protocol) => Steps::of(&protocol, self.scope).ok(),
        };
        let session = steps.map(|(steps, _)| Session {
            bind: bind.clone(),
            span,
            steps: match bind.side {
                Side::Itself => steps,
                Side::Dual => steps.dual(),
            },
            prefix: self.prefix(&bind.session.text, plumb),
            uses: Vec::new(),
            mistaken: false,
        });
        if let Some(session) = &session {
            self.taken.push(session.prefix.clone());
        }
        all.sessions.insert(bind.session.text.clone(), session);
    }

    /// The prefix of a session's channels: the session's name and enough underscores to be unique.
    fn prefix(&self, session: &str, plumb: &Plumb) -> String {
        let mut prefix = format!("{session}_");
        let ports = plumb.ports.iter();
        let channels = plumb.channels().map(|(name, _)| name);
        let within: Vec<&str> = ports.chain(channels).map(|name| &*name.text).collect();
        let outside = || self.taken.iter().map(String::as_str);
        while within
            .iter()
            .copied()
            .chain(outside())
            .any(|name| name.starts_with(&prefix))
        {
            prefix.push('_');
        }
        prefix
    }
}

/// The names of a program's declarations.
fn taken(program: &Program) -> Vec<String> {
    let names = program
        .lets()
        .map(|declared| declared.name.text.to_string());
    names.collect()
}

/// The type of a channel or a boundary port of a body.
fn stream<'a>(definition: &'a Let, plumb: &'a Plumb, name: &str) -> Option<&'a Type> {
    let mut channels = plumb.channels();
    let channel = channels.find(|(channel, _)| *channel.text == *name);
    let port = || plumb.ports.iter().position(|port| *port.text == *name);
    let signature = &definition.signature;
    let types = || signature.inputs.iter().chain(&signature.outputs);
    let kind = channel.map_or_else(|| types().nth(port()?), |(_, kind)| Some(kind))?;
    match &kind.kind {
        TypeKind::Stream(of) => Some(of),
        _ => None,
    }
}

/// Replaces a binding that could not be parsed, so that its streams count as used.
fn broken(bind: &Bind, statement: &Statement) -> [Statement; 2] {
    let at = |name: &crate::syntax::ast::Name| Wire::Named(Path::bare(name.clone()));
    let wire = |parts| Statement {
        span: statement.span,
        kind: StatementKind::Wire(Wire::Sequence(parts)),
    };
    let unknown = || Wire::Broken(statement.span);
    [
        wire(vec![at(&bind.incoming), unknown()]),
        wire(vec![unknown(), at(&bind.outgoing)]),
    ]
}
