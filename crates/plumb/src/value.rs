//! Messages: JSON, immutable, cheap to clone.
//!
//! Nothing of a JSON text is lost: a number that neither an `i64` nor an `f64` holds exactly keeps its
//! digits ([`Value::Big`]), and the fields of an object keep their order. (Of equal names in one object
//! the last one counts, as nearly everywhere.)
//!
//! A list or a record is never deeper than [`Value::DEPTH`] nor heavier than [`Value::WEIGHT`], counted
//! as the tree that it would be on paper. Both are part of the value, so that building on it costs
//! nothing to check, and a loop that doubles or nests its message meets an error instead of the end of
//! the memory or of the stack.

mod decimal;
mod json;
mod serial;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::sync::Arc;

pub use decimal::Decimal;
pub use json::{JsonError, JsonErrorKind, Values};

/// A message: JSON, cheap to clone.
///
/// `==` compares how values are made: the order of fields counts, and 1 is not 1.0. [`Value::same`]
/// is equality in the language.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction or an exponent. Finite.
    Number(f64),
    /// A number that neither of the two holds exactly, in JSON's form; made by [`Value::number`].
    Big(Arc<str>),
    /// A string.
    Text(Arc<str>),
    /// An array; made by [`Value::list`].
    List(Extent, Arc<[Value]>),
    /// An object, in the order in which it was written; made by [`Value::record`]. Names are distinct.
    Record(Extent, Arc<[(Arc<str>, Value)]>),
}

/// The depth (upper 8 bits) and weight (lower 24 bits) of a list or a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(u32);

/// A list or a record that would be deeper or heavier than a message may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message may be {} deep and {} MiB large", Value::DEPTH, Value::WEIGHT / 65_536)]
pub struct Oversize;

impl Extent {
    const DEPTH_SHIFT: u32 = 24;
    const WEIGHT_MASK: u32 = (1 << Self::DEPTH_SHIFT) - 1;

    /// The extent of a container of these, where it may be one.
    fn around<'a>(items: impl Iterator<Item = &'a Value>) -> Result<Self, Oversize> {
        let (mut depth, mut weight) = (0, 1_u32);
        for item in items {
            depth = depth.max(item.depth());
            weight = weight.saturating_add(item.weight());
        }
        depth += 1;
        if depth > Value::DEPTH || weight > Value::WEIGHT {
            return Err(Oversize);
        }
        Ok(Self(depth << Self::DEPTH_SHIFT | weight))
    }
}

impl Value {
    /// The maximum depth of a message: `[]` is 1 deep.
    pub const DEPTH: u32 = 128;
    /// The maximum weight of a message, in units of 16 bytes of text: 64 MiB.
    pub const WEIGHT: u32 = 1 << 22;

    /// A string.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Parses a JSON number, exactly; `None` if it is not one.
    #[must_use]
    pub fn number(text: &str) -> Option<Self> {
        json::number(text)
    }

    /// An array.
    ///
    /// # Errors
    /// If it would be deeper or heavier than a message may be.
    pub fn list(items: impl Into<Arc<[Self]>>) -> Result<Self, Oversize> {
        let items = items.into();
        Ok(Self::List(Extent::around(items.iter())?, items))
    }

    /// An object. Its names are distinct: this is not checked, and of equal ones the first would count.
    ///
    /// # Errors
    /// If it would be deeper or heavier than a message may be.
    pub fn record(fields: impl Into<Arc<[(Arc<str>, Self)]>>) -> Result<Self, Oversize> {
        let fields = fields.into();
        let extent = Extent::around(fields.iter().map(|(_, value)| value))?;
        Ok(Self::Record(extent, fields))
    }

    /// Parses a JSON text that holds exactly one value.
    ///
    /// # Errors
    /// If it is not JSON, or too deep or too large.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        json::parse(text)
    }

    /// The values of a text of several, one after the other: JSON Lines, or several on one line. After
    /// the first error there are no more.
    #[must_use]
    pub fn parse_all(text: &str) -> Values<'_> {
        Values::new(text)
    }

    /// The nesting depth: 0 except for lists and records.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        match self {
            Self::List(extent, _) | Self::Record(extent, _) => extent.0 >> Extent::DEPTH_SHIFT,
            _ => 0,
        }
    }

    /// The weight: about its length as JSON text, in units of 16 bytes.
    #[must_use]
    #[inline]
    pub fn weight(&self) -> u32 {
        match self {
            Self::List(extent, _) | Self::Record(extent, _) => extent.0 & Extent::WEIGHT_MASK,
            Self::Text(text) | Self::Big(text) => {
                u32::try_from(text.len() / 16).map_or(u32::MAX, |units| units.saturating_add(1))
            }
            _ => 1,
        }
    }

    /// The field of this name, if it is a record that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.fields()?
            .iter()
            .find_map(|(key, value)| (**key == *name).then_some(value))
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if it is a list.
    #[must_use]
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(_, items) => Some(items),
            _ => None,
        }
    }

    /// The fields, if it is a record.
    #[must_use]
    pub fn fields(&self) -> Option<&[(Arc<str>, Self)]> {
        match self {
            Self::Record(_, fields) => Some(fields),
            _ => None,
        }
    }

    /// Compares two numbers exactly, whatever their representation; `None` if one is not a number.
    #[must_use]
    pub fn compare_numbers(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(one), Self::Int(two)) => Some(one.cmp(two)),
            (Self::Number(one), Self::Number(two)) => one.partial_cmp(two),
            (Self::Int(one), Self::Number(two)) if let Some(one) = double(*one) => {
                one.partial_cmp(two)
            }
            (Self::Number(one), Self::Int(two)) if let Some(two) = double(*two) => {
                one.partial_cmp(&two)
            }
            _ => Some(Decimal::of(self)?.cmp(&Decimal::of(other)?)),
        }
    }

    /// Equality in the language: numbers by value, records in any order of fields.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(two)) => one == two,
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::List(_, one), Self::List(_, two)) => {
                one.len() == two.len() && one.iter().zip(two.iter()).all(|(one, two)| one.same(two))
            }
            (Self::Record(_, one), Self::Record(_, two)) => {
                one.len() == two.len() && Self::same_fields(one, other, two)
            }
            _ => self.compare_numbers(other) == Some(Ordering::Equal),
        }
    }

    /// Two records of one length: field by field, and by name only where the order differs.
    fn same_fields(one: &[(Arc<str>, Self)], other: &Self, two: &[(Arc<str>, Self)]) -> bool {
        one.iter().zip(two).all(|((name, value), (key, there))| {
            if name == key {
                value.same(there)
            } else {
                other.get(name).is_some_and(|there| value.same(there))
            }
        })
    }

    /// The kind of value with an article, for errors.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "a whole number",
            Self::Number(_) | Self::Big(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(..) => "a list",
            Self::Record(..) => "a record",
        }
    }
}

/// A string as JSON writes it.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A whole number as a double, if it is exact.
fn double(number: i64) -> Option<f64> {
    i32::try_from(number).ok().map(f64::from)
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}
