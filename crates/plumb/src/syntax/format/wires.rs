//! Wires.

use super::Writer;
use super::declarations::path;
use super::layout::Doc;
use super::lists::Link;
use crate::syntax::ast::{Endpoint, Step, Wire};
use crate::syntax::field_text;

impl Writer<'_> {
    /// A wire; what is around it says where its lines are indented to and broken.
    pub(super) fn wire(&mut self, wire: &Wire) -> Doc {
        match wire {
            Wire::Sequence(parts) => self.chain(Link::Behind(" ;"), parts, |writer, part| {
                writer.element(part)
            }),
            other => self.element(other),
        }
    }

    /// A wire where a sequence needs parentheses.
    fn element(&mut self, wire: &Wire) -> Doc {
        let before = self.inline(wire.span().start);
        let doc = match wire {
            Wire::Sequence(_) => {
                let inner = self.wire(wire).nest().group();
                inner.within("(", ")")
            }
            Wire::Parallel(_, parts) => {
                let parts = self.chain(Link::Behind(" *"), parts, |writer, part| {
                    writer.element(part)
                });
                parts.nest().within("(", ")").group()
            }
            Wire::Field(inner, name) => {
                let inner = self.element(inner);
                Doc::All(vec![
                    inner,
                    Doc::text(format!(".{}", field_text(&name.text))),
                ])
            }
            Wire::Id(_) => Doc::text("id"),
            Wire::Copy(_) => Doc::text("copy"),
            Wire::Merge(_) => Doc::text("merge"),
            Wire::Discard(_) => Doc::text("discard"),
            Wire::Empty(_) => Doc::text("empty"),
            Wire::Barrier(_) => Doc::text("barrier"),
            Wire::Map(_, inner) => self.expression(inner).within("map(", ")"),
            Wire::Filter(_, inner) => self.expression(inner).within("filter(", ")"),
            Wire::Once(_, inner) => self.expression(inner).within("once(", ")"),
            Wire::Project(_, number) => Doc::text(format!("project({number})")),
            Wire::Tag(_, label) => Doc::text(format!("tag({})", label.text)),
            Wire::Named(named) => Doc::text(path(named)),
            Wire::Port(process, port) => Doc::text(format!("{}@{}", process.text, port.text)),
            Wire::Step(step) => self.step(step),
            Wire::Broken(span) => self.source(*span),
        };
        Doc::All(vec![before, doc])
    }

    fn step(&mut self, step: &Step) -> Doc {
        let (word, inner, number) = match &step.endpoint {
            Endpoint::Send(payload, number) => ("send", self.type_of(payload), number),
            Endpoint::Recv(payload, number) => ("recv", self.type_of(payload), number),
            Endpoint::Done(payload, number) => ("done", self.type_of(payload), number),
            Endpoint::Select(label, number) => ("select", Doc::text(&*label.text), number),
            Endpoint::Offer(label, number) => ("offer", Doc::text(&*label.text), number),
        };
        let number = number.map_or(String::new(), |number| format!(", {number}"));
        inner.within(
            &format!("{}@{word}(", step.session.text),
            &format!("{number})"),
        )
    }
}
