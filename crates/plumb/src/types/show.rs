//! Types as they are written.

use std::fmt;

use super::{Field, Presence, Type};
use crate::syntax::field_text;
use crate::value::quoted;

/// The maximum length of a type in a diagnostic, in characters.
const SHOWN: usize = 96;

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("unit"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Number => f.write_str("number"),
            Self::Text => f.write_str("string"),
            Self::Literal(text) => f.write_str(&quoted(text)),
            Self::Json => f.write_str("json"),
            Self::Record(fields) => record(f, fields),
            Self::List(item) => write!(f, "[{item}]"),
            Self::Sum(variants) if variants.is_empty() => f.write_str("never"),
            Self::Sum(variants) => separated(f, variants, " | "),
            Self::Product(parts) => {
                let (open, close) = if parts.len() < 2 {
                    ("[", "]")
                } else {
                    ("(", ")")
                };
                f.write_str(open)?;
                separated(f, parts, ", ")?;
                f.write_str(close)
            }
            Self::Unknown => f.write_str("?"),
        }
    }
}

fn separated(f: &mut fmt::Formatter<'_>, parts: &[Type], between: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        write!(f, "{part}")?;
    }
    Ok(())
}

fn record(f: &mut fmt::Formatter<'_>, fields: &[Field]) -> fmt::Result {
    if fields.is_empty() {
        return f.write_str("{}");
    }
    f.write_str("{ ")?;
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        let mark = match field.presence {
            Presence::Required => "",
            Presence::Optional => "?",
        };
        write!(f, "{}{mark}: {}", field_text(&field.name), field.kind)?;
    }
    f.write_str(" }")
}

/// A type in a diagnostic: a long one is cut.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a Type);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "{} …", text.get(..end).unwrap_or_default()),
            None => f.write_str(&text),
        }
    }
}
