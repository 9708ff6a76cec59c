//! Overlap of types: values that two types share.

use super::{Field, Presence, Type, field};
use crate::value::quoted;

/// A value of both types, as JSON; `None` if they are disjoint. [`Type::Unknown`] has no values, so that it
/// is never to blame.
#[must_use]
pub fn overlap(a: &Type, b: &Type) -> Option<String> {
    match (a, b) {
        (Type::Unknown, _) | (_, Type::Unknown) => None,
        (Type::Json, Type::Json) => Some("null".to_owned()),
        (Type::Json, other) | (other, Type::Json) => overlap(other, other),
        (Type::Sum(variants), other) | (other, Type::Sum(variants)) => {
            variants.iter().find_map(|variant| overlap(variant, other))
        }
        (Type::Unit, Type::Unit) => Some("null".to_owned()),
        (Type::Bool, Type::Bool) => Some("true".to_owned()),
        (Type::Int | Type::Number, Type::Int | Type::Number) => Some("0".to_owned()),
        (Type::Text, Type::Text) => Some("\"\"".to_owned()),
        (Type::Literal(text), Type::Text) | (Type::Text, Type::Literal(text)) => Some(quoted(text)),
        (Type::Literal(a), Type::Literal(b)) => (a == b).then(|| quoted(a)),
        (Type::Record(a), Type::Record(b)) => records(a, b),
        (Type::List(_), Type::List(_)) => Some("[]".to_owned()),
        (Type::Product(a), Type::Product(b)) if a.len() == b.len() => {
            list(a.iter().zip(b.iter()).map(|(a, b)| overlap(a, b)))
        }
        (Type::Product(parts), Type::List(item)) | (Type::List(item), Type::Product(parts)) => {
            list(parts.iter().map(|part| overlap(part, item)))
        }
        _ => None,
    }
}

fn list(parts: impl Iterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.collect::<Option<_>>()?;
    Some(format!("[{}]", parts.join(", ")))
}

fn records(a: &[Field], b: &[Field]) -> Option<String> {
    let mut parts = Vec::new();
    for (index, mine) in a.iter().enumerate() {
        let other = field(b, &mine.name, index);
        let may_miss = mine.presence == Presence::Optional
            && other.is_none_or(|other| other.presence == Presence::Optional);
        if may_miss {
            continue;
        }
        let value = overlap(&mine.kind, &other?.kind)?;
        parts.push(format!("{}: {value}", quoted(&mine.name)));
    }
    let alone = b.iter().enumerate().any(|(index, other)| {
        other.presence == Presence::Required && field(a, &other.name, index).is_none()
    });
    (!alone).then(|| format!("{{{}}}", parts.join(", ")))
}
