//! The text of a JSON string.

use std::borrow::Cow;

/// The text of a string whose inner bytes (without the quotes) are `inner`. Half a surrogate pair
/// becomes U+FFFD: such a string is legal JSON, but no Unicode.
pub(crate) fn unescape(inner: &str) -> Cow<'_, str> {
    let bytes = inner.as_bytes();
    let Some(mut found) = memchr::memchr(b'\\', bytes) else {
        return Cow::Borrowed(inner);
    };
    let mut out = String::with_capacity(inner.len());
    let mut at = 0;
    loop {
        out.push_str(inner.get(at..found).unwrap_or_default());
        at = found + one(inner.get(found + 1..).unwrap_or_default(), &mut out);
        let rest = bytes.get(at..).unwrap_or_default();
        match memchr::memchr(b'\\', rest) {
            Some(next) => found = at + next,
            None => break,
        }
    }
    out.push_str(inner.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// Decodes the escape that `text` starts with, after its backslash; returns its length with the
/// backslash.
fn one(text: &str, out: &mut String) -> usize {
    out.push(match text.as_bytes().first() {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => {
            let digits = text.get(1..).unwrap_or_default();
            return 2 + digits.len() - unicode(digits, out).len();
        }
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        // No escape of JSON; the scanner lets none of these through.
        _ => {
            out.push(char::REPLACEMENT_CHARACTER);
            return 1;
        }
    });
    2
}

/// Decodes the four digits that `text` starts with, and the second half of a surrogate pair.
fn unicode<'t>(text: &'t str, out: &mut String) -> &'t str {
    let Some((first, rest)) = unit(text) else {
        out.push(char::REPLACEMENT_CHARACTER);
        return text;
    };
    if let Some(character) = char::from_u32(first) {
        out.push(character);
        return rest;
    }
    if (0xD800..0xDC00).contains(&first)
        && let Some((second, after)) = rest.strip_prefix("\\u").and_then(unit)
        && (0xDC00..0xE000).contains(&second)
    {
        let joined = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        out.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
        return after;
    }
    out.push(char::REPLACEMENT_CHARACTER);
    rest
}

fn unit(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::unescape;
    use std::borrow::Cow;

    #[test]
    fn text_without_escapes_is_borrowed() {
        assert!(matches!(unescape("plain é"), Cow::Borrowed("plain é")));
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(
            unescape(r#"\"\\\/\b\f\n\r\té\ud83d\ude00 end"#),
            "\"\\/\u{8}\u{c}\n\r\té😀 end"
        );
        assert_eq!(unescape(r"\ud83d!\ude00"), "\u{fffd}!\u{fffd}");
        assert_eq!(unescape(r"\ud83dA"), "\u{fffd}A");
    }
}
