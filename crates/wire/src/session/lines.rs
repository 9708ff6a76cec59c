//! Splits a file into lines, as byte ranges.

use std::ops::Range;

/// One line of a file.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The range without the line end.
    pub(super) text: Range<usize>,
    /// The start of the next line.
    pub(super) end: usize,
}

/// The byte order mark that some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The start of the content, after a byte order mark.
pub(super) fn content_start(bytes: &[u8]) -> usize {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    }
}

/// Splits a file into lines. Line ends may be `\n` or `\r\n`; a byte order mark belongs to no line.
pub(super) fn split(bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = content_start(bytes);
    let ends = memchr::memchr_iter(b'\n', bytes).map(|at| (at, at + 1));
    for (at, next) in ends.chain([(bytes.len(), bytes.len())]) {
        if start >= bytes.len() {
            break;
        }
        let carriage = at > start && bytes.get(at - 1) == Some(&b'\r');
        let text = start..at - usize::from(carriage);
        lines.push(Line { text, end: next });
        start = next;
    }
    lines
}

/// The bytes of a range, empty where it lies outside.
pub(super) fn slice(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{slice, split};

    #[test]
    fn line_ends_and_the_byte_order_mark_are_not_content() {
        let bytes = b"\xEF\xBB\xBFone\r\n\ntwo";
        let texts: Vec<&[u8]> = split(bytes)
            .into_iter()
            .map(|line| slice(bytes, line.text))
            .collect();
        assert_eq!(texts, [&b"one"[..], b"", b"two"]);
        assert!(split(b"").is_empty());
        assert_eq!(split(b"a\n").len(), 1);
    }
}
