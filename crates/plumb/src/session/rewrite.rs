//! The statements of a body with channels in the place of endpoints.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::wiring::{EndpointId, Session};
use super::{Scope, codes};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::ast::{Bind, Name, Path, Wire};

/// The position of a wire in a statement.
#[derive(Clone, Copy)]
struct WirePosition {
    /// True if nothing leads to it.
    first: bool,
    /// True if nothing follows it.
    last: bool,
}

/// Replaces the endpoints in a body by channels.
pub(super) struct Rewrite<'a> {
    scope: &'a dyn Scope,
    /// The sessions of the body by name; `None` if the protocol could not be read.
    pub(super) sessions: BTreeMap<Arc<str>, Option<Session>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The bindings and where they stand.
    binds: Vec<(Bind, Span)>,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(scope: &'a dyn Scope) -> Self {
        Self {
            scope,
            sessions: BTreeMap::new(),
            diagnostics: Vec::new(),
            binds: Vec::new(),
        }
    }

    /// The span of an earlier binding of this name.
    pub(super) fn binding(&self, session: &str) -> Option<Span> {
        let mut binds = self.binds.iter();
        binds
            .find(|(bind, _)| *bind.session.text == *session)
            .map(|(_, span)| *span)
    }

    /// Takes note of a binding: what comes in for one session is not for another.
    pub(super) fn streams(&mut self, bind: &Bind, span: Span) {
        for (other, at) in &self.binds {
            if bind.incoming.text == other.incoming.text {
                let diagnostic = shared(&bind.incoming, &other.session, *at);
                self.diagnostics.push(diagnostic);
            }
        }
        self.binds.push((bind.clone(), span));
    }

    /// Reports steps of sessions that are not bound, once per name. Other diagnostics about these sessions
    /// would only follow.
    pub(super) fn look_for_unbound(&mut self, wire: &Wire) {
        match wire {
            Wire::Sequence(parts) | Wire::Parallel(_, parts) => {
                for part in parts {
                    self.look_for_unbound(part);
                }
            }
            Wire::Field(inner, _) => self.look_for_unbound(inner),
            Wire::Step(step) => self.look_for(&step.session),
            // Of a process these would be ports.
            Wire::Port(name, port)
                if matches!(&*port.text, "trigger" | "error") && !self.scope.has_process(name) =>
            {
                self.look_for(name);
            }
            _ => {}
        }
    }

    fn look_for(&mut self, session: &Name) {
        if !self.sessions.contains_key(&session.text) {
            self.diagnostics.push(unknown_session(session));
            self.sessions.insert(session.text.clone(), None);
        }
    }

    /// A whole statement's wire without endpoints.
    pub(super) fn statement(&mut self, wire: &Wire) -> Wire {
        let stand = WirePosition {
            first: true,
            last: true,
        };
        self.wire(wire, stand)
    }

    fn wire(&mut self, wire: &Wire, stand: WirePosition) -> Wire {
        match wire {
            Wire::Sequence(parts) => {
                let end = parts.len().saturating_sub(1);
                let part = |(index, part): (usize, &Wire)| {
                    let stand = WirePosition {
                        first: stand.first && index == 0,
                        last: stand.last && index == end,
                    };
                    self.wire(part, stand)
                };
                Wire::Sequence(parts.iter().enumerate().map(part).collect())
            }
            Wire::Parallel(span, parts) => {
                let parts = parts.iter().map(|part| self.wire(part, stand)).collect();
                Wire::Parallel(*span, parts)
            }
            Wire::Field(inner, name) => {
                let stand = WirePosition {
                    last: false,
                    ..stand
                };
                Wire::Field(Box::new(self.wire(inner, stand)), name.clone())
            }
            Wire::Step(step) => {
                let found = match self.sessions.get(&step.session.text) {
                    None | Some(None) => Err(None),
                    Some(Some(session)) => session
                        .find(&step.endpoint, step.span, self.scope)
                        .map_err(Some),
                };
                self.place(found, &step.session, step.span, stand)
            }
            Wire::Port(process, port) => match self.sessions.get(&process.text) {
                None => wire.clone(),
                Some(session) => {
                    let found = match session {
                        None => Err(None),
                        Some(_) => bare(process, port, stand).map_err(Some),
                    };
                    self.place(found, process, wire.span(), stand)
                }
            },
            Wire::Named(path) => {
                self.shared(path, stand);
                wire.clone()
            }
            _ => wire.clone(),
        }
    }

    /// The channel of an endpoint, where it stands at the right end.
    fn place(
        &mut self,
        found: Result<EndpointId, Option<Diagnostic>>,
        session: &Name,
        span: Span,
        stand: WirePosition,
    ) -> Wire {
        let place = match found {
            Ok(place) => place,
            Err(diagnostic) => {
                self.diagnostics.extend(diagnostic);
                return Wire::Broken(span);
            }
        };
        let right = if place.is_sink() {
            stand.last && !stand.first
        } else {
            stand.first && !stand.last
        };
        let Some(Some(session)) = self.sessions.get_mut(&session.text) else {
            return Wire::Broken(span);
        };
        session.uses.push((place, span));
        if right {
            return Wire::Named(Path {
                module: None,
                name: Name {
                    text: session.channel(place).into(),
                    span,
                },
            });
        }
        let (text, hint) = if place.is_sink() {
            (
                "this takes messages and gives none",
                "It stands at the end of a statement.",
            )
        } else {
            (
                "this gives messages and takes none",
                "It stands at the beginning of a statement.",
            )
        };
        self.diagnostics
            .push(Diagnostic::error(codes::WRONG_DIRECTION, span, text).hint(hint));
        Wire::Broken(span)
    }

    /// Reports other readers of a session's input. Its output may merge with other messages.
    fn shared(&mut self, path: &Path, stand: WirePosition) {
        if path.module.is_some() || stand.last {
            return;
        }
        for (bind, at) in &self.binds {
            if bind.incoming.text == path.name.text {
                self.diagnostics
                    .push(shared(&path.name, &bind.session, *at));
            }
        }
    }
}

fn shared(stream: &Name, session: &Name, bound: Span) -> Diagnostic {
    let text = format!(
        "`{}` is read by the session `{}`",
        stream.text, session.text
    );
    Diagnostic::error(codes::SHARED_STREAM, stream.span, text)
        .label(bound, "bound here")
        .hint("Split the stream with filters into channels, and bind the session to one of them.")
}

fn unknown_session(name: &Name) -> Diagnostic {
    let text = format!("no session is called `{}` here", name.text);
    Diagnostic::error(codes::UNKNOWN_SESSION, name.span, text)
        .hint("`(incoming, outgoing) <-> Protocol as name` binds one.")
}

/// An endpoint without arguments.
fn bare(session: &Name, port: &Name, stand: WirePosition) -> Result<EndpointId, Diagnostic> {
    match &*port.text {
        "trigger" if stand.last => Ok(EndpointId::Trigger),
        "trigger" => Ok(EndpointId::Started),
        "error" => Ok(EndpointId::Error),
        word @ ("send" | "recv" | "done") => {
            let text = format!("`{}@{word}` needs the type of a step", session.text);
            Err(Diagnostic::error(codes::UNKNOWN_ENDPOINT, port.span, text)
                .hint(format!("As in `{}@{word}(T)`.", session.text)))
        }
        word @ ("select" | "offer") => {
            let text = format!("`{}@{word}` needs a label", session.text);
            Err(Diagnostic::error(codes::UNKNOWN_ENDPOINT, port.span, text)
                .hint(format!("As in `{}@{word}(l)`.", session.text)))
        }
        word => {
            let text = format!("a session has no endpoint `{word}`");
            Err(
                Diagnostic::error(codes::UNKNOWN_ENDPOINT, port.span, text).hint(
                    "There are `trigger`, `send`, `recv`, `done`, `select`, `offer` and `error`.",
                ),
            )
        }
    }
}
