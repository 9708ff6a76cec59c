//! Fields of records, read without expectations: a field of another type than usual costs the field, not
//! the message.

use std::borrow::Cow;

use context::Tokens;
use jiff::Timestamp;

use crate::api::DEEPEST;
use crate::api::json::scan::Kind;
use crate::api::json::tree::{Tree, Value};

/// Reads a JSON object; `None` for other JSON and for broken text.
pub(super) fn object(text: &[u8]) -> Option<Tree<'_>> {
    let tree = Tree::parse(std::str::from_utf8(text).ok()?, DEEPEST).ok()?;
    (tree.root().kind() == Kind::Object).then_some(tree)
}

impl<'t> Value<'t> {
    /// The value under `key`, unless that is `null`.
    pub(super) fn field(self, key: &str) -> Option<Self> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// The object under `key`.
    pub(super) fn inner(self, key: &str) -> Option<Self> {
        self.get(key).filter(|value| value.kind() == Kind::Object)
    }

    /// The string under `key`, else an empty text.
    pub(super) fn word(self, key: &str) -> Cow<'t, str> {
        self.get_text(key).unwrap_or_default()
    }

    /// The elements of the list under `key`.
    pub(super) fn list(self, key: &str) -> impl Iterator<Item = Self> {
        self.get(key).into_iter().flat_map(Value::elements)
    }

    /// Returns `true` if `true` stands under `key`.
    pub(super) fn flag(self, key: &str) -> bool {
        self.get(key).is_some_and(Value::is_true)
    }

    /// The number of zero or more under `key`, without its fraction.
    pub(super) fn count(self, key: &str) -> Option<u64> {
        let value = self.get(key)?;
        let number = value.number().filter(|number| *number >= 0.0)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a non-negative finite number; the cast saturates"
        )]
        value.whole().or(Some(number as u64))
    }

    /// The number of tokens under `key`; zero where there is none.
    pub(super) fn tokens(self, key: &str) -> Tokens {
        Tokens::new(self.count(key).unwrap_or_default())
    }

    /// The time under `key`: RFC 3339 text, or milliseconds since 1970.
    pub(super) fn time(self, key: &str) -> Option<Timestamp> {
        match self.get_text(key) {
            Some(text) => text.parse().ok(),
            None => Timestamp::from_millisecond(i64::try_from(self.count(key)?).ok()?).ok(),
        }
    }

    /// A number, where it is finite.
    pub(super) fn number(self) -> Option<f64> {
        let number = (self.kind() == Kind::Number).then(|| self.raw().parse::<f64>());
        number?.ok().filter(|number| number.is_finite())
    }

    /// The text of a string, or the JSON of any other value.
    pub(super) fn unquoted(self) -> Cow<'t, str> {
        self.text().unwrap_or(Cow::Borrowed(self.raw()))
    }
}
