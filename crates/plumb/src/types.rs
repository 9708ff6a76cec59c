//! Types, resolved: no names, no streams.

mod failed;
mod fits;
mod join;
mod measure;
mod overlap;
mod show;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use failed::{failed, without_failed};
pub use fits::{Fit, fits, misfit};
pub use join::{Joint, join};
pub use measure::{LARGEST, measured};
pub use overlap::overlap;
pub use show::Shown;

pub use crate::syntax::ast::Presence;

/// The type of one message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `null`; what JSON has for it.
    Unit,
    /// `true` and `false`.
    Bool,
    /// Whole numbers.
    Int,
    /// Numbers.
    Number,
    /// Strings.
    Text,
    /// This string and no other.
    Literal(Arc<str>),
    /// Anything.
    Json,
    /// Records, strict: an extra field is an error. In the order in which they are written; the order
    /// says nothing.
    Record(Arc<[Field]>),
    /// Lists.
    List(Arc<Type>),
    /// One of several disjoint types, none of them a sum.
    Sum(Arc<[Type]>),
    /// Arrays of this length.
    Product(Arc<[Type]>),
    /// The type of an expression that could not be typed. It fits everywhere, so that a mistake is reported
    /// once.
    Unknown,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// The presence of the field.
    pub presence: Presence,
    /// Its type.
    pub kind: Type,
}

impl Type {
    /// The type without values: the sum of no variants. It is what `empty` carries, and it fits everywhere.
    #[must_use]
    pub fn never() -> Self {
        Self::Sum(Arc::from([]))
    }

    /// Returns true if it has no values.
    #[must_use]
    pub fn is_never(&self) -> bool {
        matches!(self, Self::Sum(variants) if variants.is_empty())
    }

    /// The variants of a sum; of any other type, itself alone.
    #[must_use]
    pub fn variants(&self) -> &[Self] {
        match self {
            Self::Sum(variants) => variants,
            other => std::slice::from_ref(other),
        }
    }

    /// The sum of these, which are known to be disjoint and not to be sums; of one, that one.
    #[must_use]
    pub fn of_variants(mut variants: Vec<Self>) -> Self {
        match variants.len() {
            1 => variants.pop().unwrap_or(Self::Unknown),
            _ => Self::Sum(variants.into()),
        }
    }

    /// A record.
    #[must_use]
    pub fn record(fields: Vec<Field>) -> Self {
        Self::Record(fields.into())
    }

    /// Returns true if both are the same in memory, or equal types without parts. False says nothing.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Record(a), Self::Record(b)) => Arc::ptr_eq(a, b),
            (Self::List(a), Self::List(b)) => Arc::ptr_eq(a, b),
            (Self::Sum(a), Self::Sum(b)) | (Self::Product(a), Self::Product(b)) => {
                Arc::ptr_eq(a, b)
            }
            (Self::Unit, Self::Unit)
            | (Self::Bool, Self::Bool)
            | (Self::Int, Self::Int)
            | (Self::Number, Self::Number)
            | (Self::Text, Self::Text)
            | (Self::Json, Self::Json)
            | (Self::Unknown, Self::Unknown) => true,
            _ => false,
        }
    }
}

impl Field {
    /// A field that is always there.
    #[must_use]
    pub fn required(name: &str, kind: Type) -> Self {
        Self {
            name: name.into(),
            presence: Presence::Required,
            kind,
        }
    }
}

/// Finds a field by name. Two compared records mostly have the same order, so the likely index is tried
/// first.
pub(crate) fn field<'a>(fields: &'a [Field], name: &str, likely: usize) -> Option<&'a Field> {
    fields
        .get(likely)
        .filter(|field| &*field.name == name)
        .or_else(|| fields.iter().find(|field| &*field.name == name))
}
