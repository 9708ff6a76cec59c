//! Cutting text without breaking it: whole characters, no halves of terminal escapes.

use std::borrow::Cow;

use crate::note::grouped;

/// The text without terminal escape sequences (CSI and OSC), which say nothing to a model, and
/// which must not be cut in the middle. Of a sequence that is broken off, only its beginning goes: it
/// must not take the text behind it along. A carriage return inside a line (a progress bar that
/// overwrites itself) becomes a line feed.
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\x1b', b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\x1b', b'\r', rest.as_bytes()) {
        let (plain, sequence) = rest.split_at(at);
        out.push_str(plain);
        rest = match sequence.strip_prefix('\r') {
            Some(after) => {
                if !after.starts_with('\n') {
                    out.push('\n');
                }
                after
            }
            None => after_escape(sequence),
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The text after the escape sequence that it begins with.
fn after_escape(sequence: &str) -> &str {
    let mut inner = sequence.chars();
    inner.next();
    match inner.next() {
        Some('[') => {
            // Parameters and intermediates, then a final byte.
            let body = inner.as_str();
            let end = body.trim_start_matches(|next: char| (' '..='?').contains(&next));
            end.strip_prefix(|last: char| ('@'..='~').contains(&last))
                .unwrap_or(end)
        }
        Some(']') => {
            let body = inner.as_str();
            let line = body.split('\n').next().unwrap_or(body);
            match line.find(['\x07', '\x1b']) {
                Some(end) => {
                    let after = body.split_at(end + 1).1;
                    after.strip_prefix('\\').unwrap_or(after)
                }
                None => body,
            }
        }
        Some(_) => inner.as_str(),
        None => "",
    }
}

/// The longest prefix of at most `bytes` bytes that ends between two characters.
pub(super) fn prefix(text: &str, bytes: usize) -> &str {
    text.split_at(text.floor_char_boundary(bytes)).0
}

/// The longest suffix of at most `bytes` bytes that begins between two characters.
pub(super) fn suffix(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    text.split_at(text.ceil_char_boundary(from)).1
}

/// A line of at most about `bytes` bytes: two thirds from its beginning, the rest from its end,
/// and between them how much is missing.
pub(super) fn line(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let start = prefix(text, bytes / 3 * 2);
    let end = suffix(text, bytes / 3);
    let missing = text.len() - start.len() - end.len();
    Cow::Owned(format!(
        "{start} [… {} bytes …] {end}",
        grouped(missing as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::{line, prefix, suffix, without_escapes};

    #[test]
    fn escapes_go_and_text_stays() {
        for (text, expected) in [
            ("\x1b[31mred\x1b[0m", "red"),
            ("a\x1b]8;;http://x\x07b", "ab"),
            ("a\x1b]0;t\x1b\\b", "ab"),
            ("10 %\r20 %\r\ndone", "10 %\n20 %\ndone"),
            ("cut\x1b[3", "cut"),
            ("cut\x1b", "cut"),
            ("a\x1b[\nb", "a\nb"),
            ("a\x1b]0;never closed\nb\nc", "a0;never closed\nb\nc"),
        ] {
            assert_eq!(without_escapes(text), expected);
        }
    }

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(prefix("日本", 4), "日");
        assert_eq!(suffix("日本", 4), "本");
        assert_eq!(prefix("ab", 9), "ab");
        assert_eq!(suffix("👍👍", 7), "👍");
        assert_eq!(line("short", 10), "short");
        assert!(line(&"é".repeat(100), 30).contains("bytes …"));
    }
}
