//! Checks that a protocol fits the two streams that it is bound to.

use super::steps::{Action, Arm, written};
use super::wiring::Session;
use super::{Scope, codes};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::ast::{Name, Type as Written};
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
    let bind = &session.bind;
    let mut found = Vec::new();
    for step in &session.steps.steps {
        let span = step.span;
        match &step.action {
            Action::Send(kind, _) if !holds(scope, kind, &carried) => {
                found.push(not_carried(&bind.outgoing, &written(kind), span));
            }
            Action::Recv(kind, _) if !holds(scope, kind, &brought) => {
                found.push(not_brought(&bind.incoming, &written(kind), span));
            }
            Action::Select(arms) => {
                for arm in arms.iter().filter(|arm| !carried(&tagged(arm))) {
                    let what = shown(arm);
                    found.push(not_carried(&bind.outgoing, &what, arm.label.span));
                }
            }
            Action::Offer(arms) => {
                for arm in arms.iter().filter(|arm| !brought(&tagged(arm))) {
                    let what = shown(arm);
                    found.push(not_brought(&bind.incoming, &what, arm.label.span));
                }
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

fn not_carried(stream: &Name, what: &str, step: Span) -> Diagnostic {
    let text = format!(
        "the protocol sends `{what}`, which `{}` does not carry",
        stream.text
    );
    Diagnostic::error(codes::NOT_CARRIED, stream.span, text)
        .label(step, "sent here")
        .hint("The session receives from the first stream and sends to the second.")
}

fn not_brought(stream: &Name, what: &str, step: Span) -> Diagnostic {
    let text = format!(
        "the protocol receives `{what}`, which never comes from `{}`",
        stream.text
    );
    Diagnostic::error(codes::NOT_BROUGHT, stream.span, text)
        .label(step, "received here")
        .hint("The session receives from the first stream and sends to the second.")
}
