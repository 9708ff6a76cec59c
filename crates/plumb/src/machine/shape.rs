//! Types, made ready for testing messages.

use std::fmt;
use std::sync::Arc;

use super::record::Slot;
use crate::types::{Presence, Type};
use crate::value::Value;

/// A type, for testing messages.
#[derive(Debug)]
pub(super) enum Shape {
    Any,
    Unit,
    Bool,
    Int,
    Number,
    Text,
    Literal(Arc<str>),
    Record(Box<[FieldShape]>),
    List(Box<Shape>),
    Sum(Box<[Shape]>),
    Product(Box<[Shape]>),
}

/// A field of a record.
#[derive(Debug)]
pub(super) struct FieldShape {
    slot: Slot,
    presence: Presence,
    shape: Shape,
}

impl Shape {
    /// A type that is nested deeper than `depth` gives none.
    pub(super) fn new(kind: &Type, depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let all = |types: &[Type]| -> Option<Box<[Self]>> {
            types.iter().map(|it| Self::new(it, depth)).collect()
        };
        Some(match kind {
            Type::Unit => Self::Unit,
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::Number => Self::Number,
            Type::Text => Self::Text,
            Type::Literal(text) => Self::Literal(Arc::clone(text)),
            Type::Json | Type::Unknown => Self::Any,
            Type::Record(fields) => {
                let field = |field: &crate::types::Field| {
                    Some(FieldShape {
                        slot: Slot::new(&field.name),
                        presence: field.presence,
                        shape: Self::new(&field.kind, depth)?,
                    })
                };
                Self::Record(fields.iter().map(field).collect::<Option<_>>()?)
            }
            Type::List(item) => Self::List(Box::new(Self::new(item, depth)?)),
            Type::Sum(variants) => Self::Sum(all(variants)?),
            Type::Product(parts) => Self::Product(all(parts)?),
        })
    }

    /// Returns true if a message has this type.
    pub(super) fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::Unit, Value::Null)
            | (Self::Bool, Value::Bool(_))
            | (Self::Int, Value::Int(_))
            | (Self::Number, Value::Int(_) | Value::Number(_) | Value::Big(_))
            | (Self::Text, Value::Text(_)) => true,
            (Self::Literal(wanted), Value::Text(text)) => wanted == text,
            (Self::Sum(variants), _) => variants.iter().any(|variant| variant.fits(value)),
            (Self::List(item), Value::List(_, items)) => items.iter().all(|it| item.fits(it)),
            (Self::Product(parts), Value::List(_, items)) => {
                parts.len() == items.len()
                    && parts
                        .iter()
                        .zip(items.iter())
                        .all(|(part, it)| part.fits(it))
            }
            (Self::Record(shapes), Value::Record(_, fields)) => {
                let mut known = 0;
                for field in shapes {
                    match field.slot.find(fields) {
                        Some(value) if field.shape.fits(value) => known += 1,
                        None if field.presence == Presence::Optional => {}
                        _ => return false,
                    }
                }
                known == fields.len()
            }
            _ => false,
        }
    }

    /// Returns true if [`Shape::fits`] accepts every message.
    pub(super) const fn takes_all(&self) -> bool {
        matches!(self, Self::Any)
    }
}

/// The place and the reason why a message does not have a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The way from the message to the part: `.topic`, `[2].name`; empty for the message itself.
    pub path: String,
    /// The expected and the actual value, as a phrase.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.path.is_empty() {
            write!(f, " at {}", self.path)?;
        }
        Ok(())
    }
}

/// The first place at which a message does not have a type; `None` if it does.
#[must_use]
pub fn mismatch(kind: &Type, value: &Value) -> Option<Mismatch> {
    let shape = Shape::new(kind, Value::DEPTH)?;
    if shape.fits(value) {
        return None;
    }
    let mut path = String::new();
    let what = explain(kind, value, &mut path);
    Some(Mismatch { path, what })
}

fn explain(kind: &Type, value: &Value, path: &mut String) -> String {
    let fits = |kind: &Type, value: &Value| {
        Shape::new(kind, Value::DEPTH).is_some_and(|shape| shape.fits(value))
    };
    match (kind, value) {
        (Type::Record(wanted), Value::Record(_, fields)) => {
            for field in wanted.iter() {
                match value.get(&field.name) {
                    Some(inner) if !fits(&field.kind, inner) => {
                        path.push('.');
                        path.push_str(&field.name);
                        return explain(&field.kind, inner, path);
                    }
                    None if field.presence == Presence::Required => {
                        return format!("expected the field `{}`, which is missing", field.name);
                    }
                    _ => {}
                }
            }
            let extra = fields
                .iter()
                .find(|(name, _)| wanted.iter().all(|it| it.name != *name));
            let name = extra.map_or("", |(name, _)| name);
            format!("the field `{name}` is not expected")
        }
        (Type::List(item), Value::List(_, items)) => {
            let at = items
                .iter()
                .position(|it| !fits(item, it))
                .unwrap_or_default();
            path.push_str(&format!("[{at}]"));
            explain(item, items.get(at).unwrap_or(&Value::Null), path)
        }
        (Type::Product(parts), Value::List(_, items)) if parts.len() == items.len() => {
            let pairs = parts.iter().zip(items.iter()).enumerate();
            let wrong = pairs.into_iter().find(|(_, (part, it))| !fits(part, it));
            wrong.map_or_else(String::new, |(at, (part, it))| {
                path.push_str(&format!("[{at}]"));
                explain(part, it, path)
            })
        }
        (Type::Product(parts), Value::List(_, items)) => {
            format!("expected {} items, found {}", parts.len(), items.len())
        }
        (Type::Sum(variants), Value::Record(_, fields)) => one_of(variants, fields, value, path),
        (Type::Int, Value::Big(text)) if !text.contains(['.', 'e', 'E']) => {
            "expected int, found a whole number of more than 64 bits".to_owned()
        }
        (Type::Literal(wanted), Value::Text(_)) => {
            format!(
                "expected {}, found another string",
                Value::Text(Arc::clone(wanted))
            )
        }
        _ => format!("expected {kind}, found {}", value.kind()),
    }
}

/// The maximum number of field names in an error.
const TOLD: usize = 6;

/// The mismatch of a record with a sum. If exactly one variant shares a field with it and no literal of that
/// variant contradicts it, the mismatch with that variant; otherwise the fields of all.
fn one_of(
    variants: &[Type],
    fields: &[(Arc<str>, Value)],
    value: &Value,
    path: &mut String,
) -> String {
    let has = |variant: &&Type| match variant {
        Type::Record(wanted) => {
            let common = wanted
                .iter()
                .filter_map(|field| Some((&field.kind, value.get(&field.name)?)));
            let is_other = |(kind, value): (&Type, &Value)| match (kind, value) {
                (Type::Literal(wanted), Value::Text(text)) => wanted != text,
                _ => false,
            };
            common.clone().next().is_some() && !common.clone().any(is_other)
        }
        _ => false,
    };
    let mut meant = variants.iter().filter(has);
    if let (Some(variant), None) = (meant.next(), meant.next()) {
        return explain(variant, value, path);
    }
    let texts = variants.iter().map(|variant| match variant {
        Type::Record(wanted) => braced(wanted.iter().map(|field| &*field.name)),
        other => other.to_string(),
    });
    let texts: Vec<String> = texts.collect();
    let found = braced(fields.iter().map(|(name, _)| &**name));
    format!("expected {}, found {found}", texts.join(" | "))
}

/// `{ f, g }`.
fn braced<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = if names.len() > TOLD { ", …" } else { "" };
    let names: Vec<&str> = names.take(TOLD).collect();
    match &*names {
        [] => "{ }".to_owned(),
        _ => format!("{{ {}{more} }}", names.join(", ")),
    }
}
