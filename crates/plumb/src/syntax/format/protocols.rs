//! Protocols.

use super::Writer;
use super::declarations::path;
use super::layout::Doc;
use super::lists::{Around, Link};
use crate::span::Span;
use crate::syntax::ast::{Name, Protocol, ProtocolKind};

impl Writer<'_> {
    /// The steps of a protocol up to where it ends or a choice stands, joined by dots.
    pub(super) fn protocol_steps(&mut self, protocol: &Protocol) -> Doc {
        let mut steps = vec![protocol];
        let mut at = protocol;
        while let ProtocolKind::Send(_, next)
        | ProtocolKind::Recv(_, next)
        | ProtocolKind::Rec(_, next) = &at.kind
        {
            steps.push(next);
            at = next;
        }
        self.chain(Link::Behind(" ."), &steps, |writer, step| {
            writer.protocol_step(step)
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
            Around::Braces,
            span.end,
            arms,
            |writer, (label, protocol)| {
                let steps = writer.protocol_steps(protocol).nest().group();
                Doc::All(vec![Doc::text(format!("{}: ", label.text)), steps])
            },
        )
    }
}
