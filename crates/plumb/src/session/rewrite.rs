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
            Wire::Field(inner, _) | Wire::Keep(_, inner) => self.look_for_unbound(inner),
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
            let told = codes::unknown_session(session.span, &session.text);
            self.diagnostics.push(told);
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
            Wire::Keep(span, inner) => {
                let stand = WirePosition {
                    first: false,
                    last: false,
                };
                Wire::Keep(*span, Box::new(self.wire(inner, stand)))
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
            Wire::Id(_)
            | Wire::Copy(_)
            | Wire::Merge(_)
            | Wire::Discard(_)
            | Wire::Empty(_)
            | Wire::Once(..)
            | Wire::Barrier(_)
            | Wire::Map(..)
            | Wire::Filter(..)
            | Wire::Project(..)
            | Wire::Tag(..)
            | Wire::Broken(_) => wire.clone(),
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
                if let Some(Some(session)) = self.sessions.get_mut(&session.text) {
                    session.mistaken = true;
                }
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
        self.diagnostics.push(match place.is_sink() {
            true => codes::misplaced_sink(span),
            false => codes::misplaced_source(span),
        });
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
    codes::shared_stream(stream.span, &stream.text, &session.text).label(bound, "bound here")
}

/// An endpoint without arguments.
fn bare(session: &Name, port: &Name, stand: WirePosition) -> Result<EndpointId, Diagnostic> {
    match &*port.text {
        "trigger" if stand.last => Ok(EndpointId::Trigger),
        "trigger" => Ok(EndpointId::Started),
        "error" => Ok(EndpointId::Error),
        word @ ("send" | "recv" | "done") => {
            Err(codes::untyped_endpoint(port.span, &session.text, &word))
        }
        word @ ("select" | "offer") => {
            Err(codes::unlabelled_endpoint(port.span, &session.text, &word))
        }
        word => Err(codes::unknown_endpoint(port.span, &word)),
    }
}
