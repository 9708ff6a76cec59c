//! Checks that a protocol fits the two streams that it is bound to.

use super::steps::{Action, Arm, written};
use super::wiring::Session;
use super::{Scope, codes};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::ast::Type as Written;
use crate::types::{Field, Fit, Type, fits, overlap};

/// The types of the streams of a session, as they are written.
pub(super) struct Streams<'a> {
    pub(super) incoming: Option<&'a Written>,
    pub(super) outgoing: Option<&'a Written>,
}

/// Reports messages that the protocol sends but the one stream does not carry, and messages that it receives
/// but the other never brings.
pub(super) fn check(
    session: &Session,
    streams: &Streams<'_>,
    scope: &dyn Scope,
) -> Vec<Diagnostic> {
    let incoming = streams.incoming.and_then(|kind| scope.resolve(kind));
    let outgoing = streams.outgoing.and_then(|kind| scope.resolve(kind));
    let carried = |kind: &Type| {
        let stream = outgoing.as_ref();
        stream.is_none_or(|stream| fits(kind, stream) != Fit::Never)
    };
    let brought = |kind: &Type| {
        let stream = incoming.as_ref();
        let never = |stream| overlap(kind, stream).is_none() && *kind != Type::Unknown;
        !stream.is_some_and(never)
    };
    let (from, to) = (&session.bind.incoming, &session.bind.outgoing);
    let not_carried = |what: &String, step: Span| {
        codes::not_carried(to.span, what, &to.text).label(step, "sent here")
    };
    let not_brought = |what: &String, step: Span| {
        codes::not_brought(from.span, what, &from.text).label(step, "received here")
    };
    let mut found = Vec::new();
    for step in &session.steps.steps {
        let span = step.span;
        match &step.action {
            Action::Send(kind, _) if !holds(scope, kind, &carried) => {
                found.push(not_carried(&written(kind), span));
            }
            Action::Recv(kind, _) if !holds(scope, kind, &brought) => {
                found.push(not_brought(&written(kind), span));
            }
            Action::Select(arms) => {
                let wrong = arms.iter().filter(|arm| !carried(&tagged(arm)));
                found.extend(wrong.map(|arm| not_carried(&shown(arm), arm.label.span)));
            }
            Action::Offer(arms) => {
                let wrong = arms.iter().filter(|arm| !brought(&tagged(arm)));
                found.extend(wrong.map(|arm| not_brought(&shown(arm), arm.label.span)));
            }
            Action::Send(..) | Action::Recv(..) => {}
        }
    }
    found
}

/// Returns true if the condition holds for a type, or the type is unknown.
fn holds(scope: &dyn Scope, kind: &Written, of: &dyn Fn(&Type) -> bool) -> bool {
    scope.resolve(kind).is_none_or(|kind| of(&kind))
}

/// The message type of a choice.
fn tagged(arm: &Arm) -> Type {
    Type::record(vec![
        Field::required("tag", Type::Literal(arm.label.text.clone())),
        Field::required("value", Type::Json),
    ])
}

fn shown(arm: &Arm) -> String {
    format!("{{ tag: {:?}, value: … }}", arm.label.text)
}
