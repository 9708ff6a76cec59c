//! Messages.

use std::sync::Arc;

/// A message: JSON, cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Number(f64),
    /// A string.
    Text(Arc<str>),
    /// An array.
    List(Arc<[Value]>),
    /// An object, in the order in which it was written.
    Record(Arc<[(Arc<str>, Value)]>),
}
