//! JSON text to messages and back (RFC 8259), exactly.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::{Decimal, Oversize, Value};

/// Why a text is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {at}")]
pub struct JsonError {
    /// The byte.
    pub at: usize,
    /// The kind of mistake.
    pub kind: JsonErrorKind,
}

/// A mistake in a text that should be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// The text ends within a value.
    #[error("the text ends within a value")]
    End,
    /// Something else should stand here.
    #[error("unexpected {0:?}")]
    Unexpected(char),
    /// Not a number as JSON has them.
    #[error("malformed number")]
    Number,
    /// Not an escape as JSON has them, or half a surrogate pair.
    #[error("malformed escape in a string")]
    Escape,
    /// A control character in a string, which must be escaped.
    #[error("control character in a string")]
    Control,
    /// Deeper or larger than a message may be.
    #[error("{0}")]
    Oversize(Oversize),
}

/// The values of a text, one after the other.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    reader: Reader<'a>,
}

impl<'a> Values<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self {
            reader: Reader { text, at: 0 },
        }
    }

    /// The unread rest of the text.
    #[must_use]
    pub fn rest(&self) -> &'a str {
        self.reader.text.get(self.reader.at..).unwrap_or_default()
    }
}

impl Iterator for Values<'_> {
    type Item = Result<Value, JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.blank();
        self.reader.peek()?;
        let value = self.reader.value(0);
        if value.is_err() {
            self.reader.at = self.reader.text.len();
        }
        Some(value)
    }
}

pub(super) fn parse(text: &str) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0 };
    reader.blank();
    let value = reader.value(0)?;
    reader.blank();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.unexpected()),
    }
}

pub(super) fn number(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.number().ok()?;
    (reader.at == text.len()).then_some(value)
}

#[derive(Clone, Debug)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError { at: self.at, kind }
    }

    fn oversize(&self) -> impl Fn(Oversize) -> JsonError + use<> {
        let at = self.at;
        move |oversize| JsonError {
            at,
            kind: JsonErrorKind::Oversize(oversize),
        }
    }

    fn unexpected(&self) -> JsonError {
        let next = self
            .text
            .get(self.at..)
            .and_then(|rest| rest.chars().next());
        self.error(next.map_or(JsonErrorKind::End, JsonErrorKind::Unexpected))
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes this byte, where it comes next.
    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self, depth: u32) -> Result<Value, JsonError> {
        if depth > Value::DEPTH {
            return Err(self.oversize()(Oversize));
        }
        match self.peek() {
            Some(b'{') => self.record(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Value::Text(self.string()?.into())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.word("null", Value::Null),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        for byte in word.bytes() {
            if !self.take(byte) {
                return Err(self.unexpected());
            }
        }
        Ok(value)
    }

    fn list(&mut self, depth: u32) -> Result<Value, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blank();
        if !self.take(b']') {
            loop {
                self.blank();
                items.push(self.value(depth + 1)?);
                self.blank();
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.unexpected());
                }
            }
        }
        Value::list(items).map_err(self.oversize())
    }

    fn record(&mut self, depth: u32) -> Result<Value, JsonError> {
        self.at += 1;
        let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
        self.blank();
        if !self.take(b'}') {
            loop {
                self.blank();
                if self.peek() != Some(b'"') {
                    return Err(self.unexpected());
                }
                let name = self.string()?;
                self.blank();
                if !self.take(b':') {
                    return Err(self.unexpected());
                }
                self.blank();
                fields.push((name.into(), self.value(depth + 1)?));
                self.blank();
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.unexpected());
                }
            }
        }
        keep_last(&mut fields);
        Value::record(fields).map_err(self.oversize())
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..0x20)) {
                self.at += 1;
            }
            out.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.error(JsonErrorKind::Control)),
                None => return Err(self.error(JsonErrorKind::End)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let bad = self.error(JsonErrorKind::Escape);
        self.at += 1;
        let letter = self.peek().ok_or(bad)?;
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex().ok_or(bad)?;
                if !(0xD800..0xDC00).contains(&first) {
                    return char::from_u32(first).ok_or(bad);
                }
                if !(self.take(b'\\') && self.take(b'u')) {
                    return Err(bad);
                }
                let second = self
                    .hex()
                    .filter(|it| (0xDC00..0xE000).contains(it))
                    .ok_or(bad)?;
                char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
                    .ok_or(bad)?
            }
            _ => return Err(bad),
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn digits(&mut self) -> Result<usize, JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.at - start {
            0 => Err(self.error(JsonErrorKind::Number)),
            count => Ok(count),
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        self.take(b'-');
        let mut digits = 1;
        if !self.take(b'0') {
            digits = self.digits()?;
        }
        let mut whole = true;
        if self.take(b'.') {
            whole = false;
            digits += self.digits()?;
        }
        let mut exponent = 0;
        if self.take(b'e') || self.take(b'E') {
            whole = false;
            let _sign = self.take(b'+') || self.take(b'-');
            exponent = self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        Ok(if whole {
            let small = text.parse().map(Value::Int);
            small.unwrap_or_else(|_| Value::Big(text.into()))
        } else {
            fractional(text, digits <= 15 && exponent <= 2)
        })
    }
}

/// A number with a fraction or an exponent. `short` says that it has so few digits that an `f64` gives
/// them back: at most 15, and an exponent of at most two digits.
fn fractional(text: &str, short: bool) -> Value {
    let number: f64 = text.parse().unwrap_or(f64::INFINITY);
    let exact = number.is_finite()
        && (short || Decimal::parse(text) == Decimal::parse(&format!("{number:?}")));
    if exact {
        Value::Number(number)
    } else {
        Value::Big(text.into())
    }
}

/// Keeps the last of equal names, in the position of the first.
fn keep_last(fields: &mut Vec<(Arc<str>, Value)>) {
    let mut names = HashSet::new();
    let distinct = match fields.as_slice() {
        few if few.len() <= 8 => few
            .iter()
            .enumerate()
            .all(|(at, (name, _))| few.iter().take(at).all(|(other, _)| other != name)),
        many => many.iter().all(|(name, _)| names.insert(Arc::clone(name))),
    };
    if distinct {
        return;
    }
    let mut places = std::collections::HashMap::new();
    let mut kept: Vec<(Arc<str>, Value)> = Vec::with_capacity(fields.len());
    for (name, value) in fields.drain(..) {
        let place = *places.entry(Arc::clone(&name)).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(slot) => slot.1 = value,
            None => kept.push((name, value)),
        }
    }
    *fields = kept;
}

impl fmt::Display for Value {
    /// Compact JSON on one line; [`Value::parse`] gives the same value back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Number(value) if value.is_finite() => write!(f, "{value:?}"),
            Self::Number(_) => f.write_str("null"),
            Self::Big(text) => f.write_str(text),
            Self::Text(text) => quote(f, text),
            Self::List(_, items) => {
                f.write_char('[')?;
                for (at, item) in items.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    write!(f, "{item}")?;
                }
                f.write_char(']')
            }
            Self::Record(_, fields) => {
                f.write_char('{')?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    quote(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        if !matches!(character, '"' | '\\' | '\0'..='\u{1f}') {
            continue;
        }
        f.write_str(text.get(plain..at).unwrap_or_default())?;
        plain = at + 1;
        match character {
            '"' => f.write_str("\\\""),
            '\\' => f.write_str("\\\\"),
            '\n' => f.write_str("\\n"),
            '\r' => f.write_str("\\r"),
            '\t' => f.write_str("\\t"),
            control => write!(f, "\\u{:04x}", u32::from(control)),
        }?;
    }
    f.write_str(text.get(plain..).unwrap_or_default())?;
    f.write_char('"')
}
