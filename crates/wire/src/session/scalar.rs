//! JSON scalars read without expectations: a field of another type than usual costs the field, not
//! the message.

use std::borrow::Cow;

use context::Tokens;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON value of which only a scalar is of interest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Scalar<'a> {
    /// `null`, or the field is absent.
    #[default]
    Null,
    Text(Cow<'a, str>),
    Bool(bool),
    Number(f64),
    /// A list or an object, skipped.
    Compound,
}

impl<'a> Scalar<'a> {
    /// The text of a string.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns `true` for the value `true`.
    pub(super) fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The text of a string, else an empty text.
    pub(super) fn or_empty(&self) -> &str {
        self.text().unwrap_or_default()
    }

    /// A number of tokens, zero where there is none.
    pub(super) fn tokens(&self) -> Tokens {
        Tokens::new(self.count().unwrap_or_default())
    }

    /// A whole number of zero or more.
    pub(super) fn count(&self) -> Option<u64> {
        match self {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be a non-negative finite number; the cast saturates"
            )]
            Self::Number(number) if number.is_finite() && *number >= 0.0 => Some(*number as u64),
            _ => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        Ok(match raw.as_bytes().first() {
            Some(b'"') => Self::Text(unquoted(raw).map_err(D::Error::custom)?),
            Some(b't' | b'f') => Self::Bool(raw == "true"),
            Some(b'n') => Self::Null,
            Some(b'[' | b'{') | None => Self::Compound,
            Some(_) => Self::Number(raw.parse().map_err(D::Error::custom)?),
        })
    }
}

/// The text of a JSON string.
fn unquoted(raw: &str) -> serde_json::Result<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str(raw).map(|Text(text)| text)
}

/// The value of a field; the default where the field is absent or of another shape.
pub(super) fn parse<'a, T: Default + Deserialize<'a>>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// The content of a message: one text, a list of blocks, or nothing usable.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    /// `null`, absent, or of no known shape.
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    /// The blocks, each as raw JSON.
    Blocks(Vec<&'a RawValue>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        match raw.as_bytes().first() {
            Some(b'"') => unquoted(raw).map(Self::Text),
            Some(b'[') => serde_json::from_str(raw).map(Self::Blocks),
            _ => Ok(Self::Nothing),
        }
        .map_err(D::Error::custom)
    }
}
