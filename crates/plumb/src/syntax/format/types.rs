//! Types.

use super::Writer;
use super::declarations::path;
use super::layout::Doc;
use super::lists::{Delimiters, Link};
use crate::syntax::ast::{Field, Presence, Type, TypeKind};
use crate::syntax::field_text;
use crate::value::quoted;

impl Writer<'_> {
    pub(super) fn type_of(&mut self, kind: &Type) -> Doc {
        let before = self.inline(kind.span.start);
        let doc = match &kind.kind {
            TypeKind::Named(named) => Doc::text(path(named)),
            TypeKind::Literal(text) => Doc::text(quoted(text)),
            TypeKind::Record(fields) => {
                self.list(Delimiters::Braces, kind.span.end, fields, Self::type_field)
            }
            TypeKind::List(inner) => self.type_of(inner).within("[", "]"),
            TypeKind::Sum(variants) => self
                .chain(link_of(variants), variants, Self::variant)
                .nest()
                .group(),
            TypeKind::Product(parts) => {
                self.list(Delimiters::Parentheses, kind.span.end, parts, Self::type_of)
            }
            TypeKind::Stream(inner) => Doc::All(vec![Doc::text("!"), self.variant(inner)]),
            TypeKind::Broken => self.source(kind.span),
        };
        Doc::All(vec![before, doc])
    }

    /// A type where a sum needs parentheses.
    pub(super) fn variant(&mut self, kind: &Type) -> Doc {
        let doc = self.type_of(kind);
        match &kind.kind {
            TypeKind::Sum(_) => doc.within("(", ")"),
            _ => doc,
        }
    }

    fn type_field(&mut self, field: &Field) -> Doc {
        let optional = match field.presence {
            Presence::Required => "",
            Presence::Optional => "?",
        };
        let name = Doc::text(format!("{}{optional}: ", field_text(&field.name.text)));
        Doc::All(vec![name, self.type_of(&field.kind)])
    }
}

/// The layout of a sum: names fill their lines, other types have one line each.
pub(super) fn link_of(variants: &[Type]) -> Link {
    let short = |variant: &Type| matches!(variant.kind, TypeKind::Named(_) | TypeKind::Literal(_));
    if variants.iter().all(short) {
        Link::Filled("| ")
    } else {
        Link::Before("| ")
    }
}
