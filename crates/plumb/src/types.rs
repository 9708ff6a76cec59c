//! Types, resolved: no names, no streams.

use std::sync::Arc;

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
    /// One of several, disjoint; none of them a sum.
    Sum(Arc<[Type]>),
    /// Arrays of this length.
    Product(Arc<[Type]>),
    /// No value: what an expression has that could not be typed. It fits everywhere, so that one mistake
    /// is told once.
    Unknown,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it may be missing.
    pub presence: Presence,
    /// Its type.
    pub kind: Type,
}
