//! One pass over JSON text, iterative, with a limit on nesting.

use crate::api::error::{ApiError, Position};

/// A range of bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One after the last byte.
    pub end: usize,
}

impl Span {
    /// This range of `text`; empty where it does not fit.
    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    False,
    True,
    Number,
    /// A string without escapes: its bytes are its text.
    Plain,
    /// A string with escapes.
    Escaped,
    List,
    Object,
}

/// Receives values in the order of the text. A key is a leaf before its value.
pub(crate) trait Sink {
    fn open(&mut self, kind: Kind, start: usize);
    fn leaf(&mut self, kind: Kind, span: Span);
    fn close(&mut self, end: usize);
}

/// Ignores everything: for callers that only need the extent of a value.
pub(crate) struct Skip;

impl Sink for Skip {
    fn open(&mut self, _: Kind, _: usize) {}
    fn leaf(&mut self, _: Kind, _: Span) {}
    fn close(&mut self, _: usize) {}
}

/// The place and the reason at which reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub at: usize,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Expected(&'static str),
    TooDeep(usize),
    TooMany(usize),
}

impl Fault {
    /// This fault as an error about `body`.
    pub(crate) fn in_body(self, body: &[u8]) -> ApiError {
        let at = Position::in_body(body, self.at);
        match self.why {
            Why::Expected(expected) => ApiError::Syntax { expected, at },
            Why::TooDeep(limit) => ApiError::TooDeep { limit, at },
            Why::TooMany(limit) => ApiError::TooManyMessages { limit },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    List,
    Object,
}

/// Reads JSON from the front.
pub(crate) struct Scanner<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Containers that the caller has entered by [`Self::enter`].
    outer: usize,
    limit: usize,
    open: Vec<Container>,
}

impl<'b> Scanner<'b> {
    pub(crate) const fn new(bytes: &'b [u8], limit: usize) -> Self {
        Self {
            bytes,
            at: 0,
            outer: 0,
            limit,
            open: Vec::new(),
        }
    }

    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    pub(crate) const fn fault<T>(&self, expected: &'static str) -> Result<T, Fault> {
        Err(Fault {
            at: self.at,
            why: Why::Expected(expected),
        })
    }

    /// The next byte that is not white space, not consumed.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Consumes `byte` if it is next after white space.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Walks the members of the object that is next: `each` gets every key's span (quotes included)
    /// and has to consume the value. Returns the object's span.
    pub(crate) fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, Kind, Span) -> Result<(), Fault>,
    ) -> Result<Span, Fault> {
        let start = self.enter(b'{', "expected an object")?;
        if !self.eat(b'}') {
            loop {
                let (kind, key) = self.key()?;
                each(self, kind, key)?;
                if self.eat(b'}') {
                    break;
                }
                if !self.eat(b',') {
                    return self.fault("expected `,` or `}`");
                }
            }
        }
        self.outer -= 1;
        Ok(Span {
            start,
            end: self.at,
        })
    }

    /// Walks the elements of the list that is next: `each` has to consume one value.
    pub(crate) fn elements(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<Span, Fault> {
        let start = self.enter(b'[', "expected a list")?;
        if !self.eat(b']') {
            loop {
                each(self)?;
                if self.eat(b']') {
                    break;
                }
                if !self.eat(b',') {
                    return self.fault("expected `,` or `]`");
                }
            }
        }
        self.outer -= 1;
        Ok(Span {
            start,
            end: self.at,
        })
    }

    fn enter(&mut self, byte: u8, expected: &'static str) -> Result<usize, Fault> {
        if self.peek() != Some(byte) {
            return self.fault(expected);
        }
        self.check_depth()?;
        self.outer += 1;
        self.at += 1;
        Ok(self.at - 1)
    }

    fn check_depth(&self) -> Result<(), Fault> {
        if self.outer + self.open.len() >= self.limit {
            return Err(Fault {
                at: self.at,
                why: Why::TooDeep(self.limit),
            });
        }
        Ok(())
    }

    /// Reads one value and reports its parts to `sink`.
    pub(crate) fn value<S: Sink>(&mut self, sink: &mut S) -> Result<Span, Fault> {
        self.peek();
        let start = self.at;
        self.open.clear();
        loop {
            if self.begin(sink)? {
                continue;
            }
            if self.climb(sink)? {
                return Ok(Span {
                    start,
                    end: self.at,
                });
            }
        }
    }

    /// Consumes the next value and returns its extent.
    pub(crate) fn skip(&mut self) -> Result<Span, Fault> {
        self.value(&mut Skip)
    }

    /// The bytes not yet consumed.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Consumes so many bytes without reading them.
    pub(crate) fn pass(&mut self, bytes: usize) -> Span {
        let start = self.at;
        self.at = start.saturating_add(bytes).min(self.bytes.len());
        Span {
            start,
            end: self.at,
        }
    }

    /// Nothing but white space may follow.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fault("expected the end"),
        }
    }

    /// Reads a scalar, an empty container, or the opening of a container. Returns `true` if a
    /// container was opened and a value has to follow.
    fn begin<S: Sink>(&mut self, sink: &mut S) -> Result<bool, Fault> {
        let Some(byte) = self.peek() else {
            return self.fault("expected a value");
        };
        let start = self.at;
        let kind = match byte {
            b'"' => self.string()?,
            b'{' | b'[' => return self.open(byte, sink),
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.literal(b"true", Kind::True)?,
            b'f' => self.literal(b"false", Kind::False)?,
            b'n' => self.literal(b"null", Kind::Null)?,
            _ => return self.fault("expected a value"),
        };
        sink.leaf(
            kind,
            Span {
                start,
                end: self.at,
            },
        );
        Ok(false)
    }

    fn open<S: Sink>(&mut self, byte: u8, sink: &mut S) -> Result<bool, Fault> {
        self.check_depth()?;
        let (container, kind, end) = if byte == b'{' {
            (Container::Object, Kind::Object, b'}')
        } else {
            (Container::List, Kind::List, b']')
        };
        sink.open(kind, self.at);
        self.at += 1;
        if self.eat(end) {
            sink.close(self.at);
            return Ok(false);
        }
        self.open.push(container);
        if container == Container::Object {
            let (kind, span) = self.key()?;
            sink.leaf(kind, span);
        }
        Ok(true)
    }

    /// After a value: closes the containers that end here. Returns `true` if the outermost value has ended;
    /// otherwise a value has to follow.
    fn climb<S: Sink>(&mut self, sink: &mut S) -> Result<bool, Fault> {
        while let Some(&container) = self.open.last() {
            match (container, self.peek()) {
                (Container::Object, Some(b',')) => {
                    self.at += 1;
                    let (kind, span) = self.key()?;
                    sink.leaf(kind, span);
                    return Ok(false);
                }
                (Container::List, Some(b',')) => {
                    self.at += 1;
                    return Ok(false);
                }
                (Container::Object, Some(b'}')) | (Container::List, Some(b']')) => {
                    self.at += 1;
                    sink.close(self.at);
                    self.open.pop();
                }
                (Container::Object, _) => return self.fault("expected `,` or `}`"),
                (Container::List, _) => return self.fault("expected `,` or `]`"),
            }
        }
        Ok(true)
    }

    /// A key and the colon after it.
    fn key(&mut self) -> Result<(Kind, Span), Fault> {
        if self.peek() != Some(b'"') {
            return self.fault("expected a key");
        }
        let start = self.at;
        let kind = self.string()?;
        let end = self.at;
        if !self.eat(b':') {
            return self.fault("expected `:`");
        }
        Ok((kind, Span { start, end }))
    }

    /// A string; the opening quote is next.
    #[inline]
    fn string(&mut self) -> Result<Kind, Fault> {
        self.at += 1;
        let mut kind = Kind::Plain;
        loop {
            self.at = special(self.bytes, self.at);
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(kind);
                }
                Some(b'\\') => {
                    kind = Kind::Escaped;
                    self.escape()?;
                }
                Some(_) => return self.fault("control characters must be escaped in a string"),
                None => return self.fault("expected the end of a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return self.fault("expected four hexadecimal digits after `\\u`");
                }
                self.at += 6;
            }
            _ => return self.fault("expected an escape"),
        }
        Ok(())
    }

    fn literal(&mut self, word: &[u8], kind: Kind) -> Result<Kind, Fault> {
        if self.bytes.get(self.at..self.at + word.len()) != Some(word) {
            return self.fault("expected a value");
        }
        self.at += word.len();
        Ok(kind)
    }

    fn number(&mut self) -> Result<Kind, Fault> {
        self.at += usize::from(self.bytes.get(self.at) == Some(&b'-'));
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Kind::Number)
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return self.fault("expected a digit");
        }
        self.at += count;
        Ok(())
    }
}

/// The first quote, backslash or control character at or after `at`; the length where there is none.
///
/// Eight bytes are looked at in one word. In `word - LOW & !word` the high bit of a byte is set where
/// the byte is zero; a borrow can set it wrongly only above a byte that is zero, so the lowest bit set
/// is right ("Bit Twiddling Hacks", S. E. Anderson: determine if a word has a zero byte, or one less
/// than n).
#[inline]
fn special(bytes: &[u8], mut at: usize) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;
    const QUOTES: u64 = LOW * b'"' as u64;
    const BACKSLASHES: u64 = LOW * b'\\' as u64;
    const SPACES: u64 = LOW * b' ' as u64;
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let controls = word.wrapping_sub(SPACES) & !word;
        let hits = (zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES) | controls) & HIGH;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let found = rest
        .iter()
        .position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ');
    at + found.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::{Scanner, Why, special};

    fn check(text: &str, expected: Result<(), &'static str>) {
        let mut scanner = Scanner::new(text.as_bytes(), 4);
        let found = scanner.skip().and_then(|_| scanner.finish());
        let found = found.map_err(|fault| match fault.why {
            Why::Expected(what) => what,
            Why::TooDeep(_) | Why::TooMany(_) => "too deep",
        });
        assert_eq!(found, expected, "{text}");
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(text);
        if expected != Err("too deep") {
            assert_eq!(theirs.is_ok(), expected.is_ok(), "{text}");
        }
    }

    #[test]
    fn the_grammar_is_that_of_json() {
        for text in [
            "{}",
            " [ ] ",
            "[1,2.5,-0,1e9,-1.5E-3]",
            r#"{"a":[{"b":null}],"a":true}"#,
            r#""\u00e9\n\ud800 and more than sixteen bytes of text""#,
            "false",
        ] {
            check(text, Ok(()));
        }
        check("", Err("expected a value"));
        check("[1,]", Err("expected a value"));
        check("[1 2]", Err("expected `,` or `]`"));
        check("{\"a\" 1}", Err("expected `:`"));
        check("{\"a\":1,}", Err("expected a key"));
        check("{a:1}", Err("expected a key"));
        check("{\"a\":1]", Err("expected `,` or `}`"));
        check("01", Err("expected the end"));
        check("-", Err("expected a digit"));
        check("1.", Err("expected a digit"));
        check("1e", Err("expected a digit"));
        check("tru", Err("expected a value"));
        check("\"a", Err("expected the end of a string"));
        check("\"\\x\"", Err("expected an escape"));
        check(
            "\"\\u12g4\"",
            Err("expected four hexadecimal digits after `\\u`"),
        );
        check(
            "\"a\nb\"",
            Err("control characters must be escaped in a string"),
        );
        check("[[[[1]]]]", Ok(()));
        check("[[[[[1]]]]]", Err("too deep"));
    }

    #[test]
    fn the_end_of_a_string_is_found_at_every_offset() {
        for length in 0..40 {
            for other in [b'x', b' ', b'!', b'#', 0x7f, 0x80, 0xA2, 0xDC, 0xff] {
                let mut bytes = vec![other; length];
                assert_eq!(special(&bytes, 0), length);
                for stop in [b'"', b'\\', 0, 0x1f, b'\n'] {
                    bytes.truncate(length);
                    bytes.push(stop);
                    bytes.extend_from_slice(&[other; 20]);
                    assert_eq!(special(&bytes, 0), length, "{other} {stop}");
                }
            }
        }
    }
}
