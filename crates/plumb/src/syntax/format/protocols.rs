//! Protocols.

use super::Writer;
use super::declarations::path;
use super::layout::Doc;
use super::lists::{Delimiters, Link};
use crate::span::Span;
use crate::syntax::ast::{Name, Path, Protocol, ProtocolKind, TypeKind};

impl Writer<'_> {
    /// The steps of a protocol up to where it ends or a choice stands, joined by dots.
    pub(super) fn protocol_steps(&mut self, protocol: &Protocol) -> Doc {
        let mut steps = vec![protocol];
        let mut at = protocol;
        let mut ambiguous = false;
        while let ProtocolKind::Send(_, next)
        | ProtocolKind::Recv(_, next)
        | ProtocolKind::Rec(_, next) = &at.kind
        {
            steps.push(next);
            ambiguous = reads_on_as_a_path(at, next);
            at = next;
        }
        self.chain(Link::Behind(" ."), &steps, |writer, step| {
            let doc = writer.protocol_step(step);
            match step.kind {
                ProtocolKind::Named(_) if ambiguous => doc.within("(", ")"),
                _ => doc,
            }
        })
    }

    fn protocol_step(&mut self, step: &Protocol) -> Doc {
        match &step.kind {
            ProtocolKind::Send(payload, _) => {
                Doc::All(vec![Doc::text("send "), self.type_of(payload)])
            }
            ProtocolKind::Recv(payload, _) => {
                Doc::All(vec![Doc::text("recv "), self.type_of(payload)])
            }
            ProtocolKind::Select(arms) => {
                Doc::All(vec![Doc::text("select "), self.arms(step.span, arms)])
            }
            ProtocolKind::Offer(arms) => {
                Doc::All(vec![Doc::text("offer "), self.arms(step.span, arms)])
            }
            ProtocolKind::Rec(name, _) => Doc::text(format!("rec {}", name.text)),
            ProtocolKind::Named(named) => Doc::text(path(named)),
            ProtocolKind::Loop => Doc::text("loop"),
            ProtocolKind::End => Doc::text("end"),
            ProtocolKind::Broken => self.source(step.span),
        }
    }

    fn arms(&mut self, span: Span, arms: &[(Name, Protocol)]) -> Doc {
        self.list(
            Delimiters::Braces,
            span.end,
            arms,
            |writer, (label, protocol)| {
                let steps = writer.protocol_steps(protocol).nest().group();
                Doc::All(vec![Doc::text(format!("{}: ", label.text)), steps])
            },
        )
    }
}

/// Returns true if `step . next` would be parsed as `A.M . P` without parentheses.
fn reads_on_as_a_path(step: &Protocol, next: &Protocol) -> bool {
    let (ProtocolKind::Send(payload, _) | ProtocolKind::Recv(payload, _)) = &step.kind else {
        return false;
    };
    let last = match &payload.kind {
        TypeKind::Sum(variants) => variants.last().unwrap_or(payload),
        _ => payload,
    };
    let module = |named: &Path| named.module.is_some();
    matches!(&last.kind, TypeKind::Named(named) if !module(named))
        && matches!(&next.kind, ProtocolKind::Named(named) if module(named))
}
