//! The text of a JSON string.

use std::borrow::Cow;

/// The text of a string whose inner bytes (without the quotes) are `inner`. Half a surrogate pair
/// becomes U+FFFD: such a string is legal JSON, but no Unicode.
pub(crate) fn unescape(inner: &str) -> Cow<'_, str> {
    let mut rest = inner;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once('\\') {
        if out.capacity() == 0 {
            out.reserve(inner.len());
        }
        out.push_str(before);
        rest = one(after, &mut out);
    }
    if out.is_empty() && rest.len() == inner.len() {
        return Cow::Borrowed(inner);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Decodes the escape that `text` starts with, after its backslash; returns what follows it.
fn one<'t>(text: &'t str, out: &mut String) -> &'t str {
    let mut characters = text.chars();
    let decoded = match characters.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('u') => return unicode(characters.as_str(), out),
        Some(other) => other,
        None => return "",
    };
    out.push(decoded);
    characters.as_str()
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
