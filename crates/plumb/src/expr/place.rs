//! Places in a message, and their types.

use std::sync::Arc;

use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::field_text;
use crate::types::{self, Field, Presence, Type, join};

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To the field of this name.
    Field(Arc<str>),
    /// To the part with this number.
    Part(u32),
}

/// A way from the whole message to a part of it; empty is the message itself.
pub(super) type FieldPath = Vec<Step>;

/// The place that an expression names, where it names one.
pub(super) fn place(expr: &Expr) -> Option<FieldPath> {
    match &expr.kind {
        ExprKind::Name(name) if &**name == "value" => Some(Vec::new()),
        ExprKind::Name(name) => Some(vec![Step::Field(name.clone())]),
        ExprKind::Field(base, name) => {
            let mut place = place(base)?;
            place.push(Step::Field(name.text.clone()));
            Some(place)
        }
        ExprKind::Part(base, index) => {
            let mut place = place(base)?;
            place.push(Step::Part(*index));
            Some(place)
        }
        _ => None,
    }
}

/// A place as a program names it: `f`, `f.g`, `value.0.f`.
pub(super) fn spelt(place: &[Step]) -> String {
    let whole = match place.first() {
        None | Some(Step::Part(_)) => true,
        Some(Step::Field(first)) => &**first == "value" || field_text(first) != **first,
    };
    let mut parts: Vec<String> = whole.then(|| "value".to_owned()).into_iter().collect();
    parts.extend(place.iter().map(|step| match step {
        Step::Field(name) => field_text(name),
        Step::Part(index) => index.to_string(),
    }));
    parts.join(".")
}

/// The static knowledge about a part of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// No value has it.
    Nowhere,
    /// The value is `json`: it may have it.
    Dynamic,
    /// The part exists or may be missing, with this type.
    There(Presence, Type),
}

/// The result of one step from a value of this type.
pub(super) fn step(base: &Type, step: &Step) -> Found {
    match (base, step) {
        (Type::Unknown, _) => Found::There(Presence::Required, Type::Unknown),
        (Type::Json, _) => Found::Dynamic,
        (Type::Record(fields), Step::Field(name)) => types::field(fields, name, 0)
            .map_or(Found::Nowhere, |field| {
                Found::There(field.presence, field.kind.clone())
            }),
        (Type::Product(parts), Step::Part(index)) => {
            parts.get(*index as usize).map_or(Found::Nowhere, |part| {
                Found::There(Presence::Required, part.clone())
            })
        }
        (sum @ Type::Sum(variants), _) if variants.is_empty() => {
            Found::There(Presence::Required, sum.clone())
        }
        (Type::Sum(variants), one) => of_sum(variants, one),
        _ => Found::Nowhere,
    }
}

/// The result for a sum. If the types of the part overlap between variants, it is `json`.
fn of_sum(variants: &[Type], one: &Step) -> Found {
    let mut kind = Type::never();
    let mut presence = Presence::Required;
    let mut somewhere = false;
    for variant in variants {
        match step(variant, one) {
            Found::Nowhere => presence = Presence::Optional,
            Found::Dynamic => return Found::Dynamic,
            Found::There(here, part) => {
                somewhere = true;
                presence = presence.max(here);
                kind = join(&kind, &part).unwrap_or(Type::Json);
            }
        }
    }
    if somewhere {
        Found::There(presence, kind)
    } else {
        Found::Nowhere
    }
}

/// The type of a value of which it is known that the part at a place is there and of this type.
pub(super) fn with(base: &Type, place: &[Step], kind: &Type) -> Type {
    let Some((first, rest)) = place.split_first() else {
        return kind.clone();
    };
    match (base, first) {
        (Type::Record(fields), Step::Field(name)) => {
            let mut fields: Vec<Field> = fields.to_vec();
            if let Some(field) = fields.iter_mut().find(|field| field.name == *name) {
                field.presence = Presence::Required;
                field.kind = with(&field.kind, rest, kind);
            }
            Type::record(fields)
        }
        (Type::Product(parts), Step::Part(index)) => {
            let mut parts = parts.to_vec();
            if let Some(part) = parts.get_mut(*index as usize) {
                *part = with(part, rest, kind);
            }
            Type::Product(parts.into())
        }
        _ => base.clone(),
    }
}
