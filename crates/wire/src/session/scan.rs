//! Finds the ranges of the elements of a JSON array and of the members of a JSON object, without reading
//! them, and as far as the text is whole.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::lines::slice;

/// The ranges in an array.
#[derive(Clone, Debug)]
pub(super) struct Array {
    /// The range between the brackets.
    pub(super) inner: Range<usize>,
    /// The elements, without the white space around them.
    pub(super) elements: Vec<Range<usize>>,
    /// `false` where the array breaks off; the elements are then those before that place.
    pub(super) whole: bool,
}

/// The first byte at or after `start` that is not white space.
pub(super) fn skip_space(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let space = rest.iter().position(|byte| !byte.is_ascii_whitespace());
    start + space.unwrap_or(rest.len())
}

/// The end of the value that begins at `start`; `None` where the value breaks off.
pub(super) fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(start + values.byte_offset())
}

/// The array that begins at `start`, if one does.
pub(super) fn array(bytes: &[u8], start: usize) -> Option<Array> {
    if bytes.get(start) != Some(&b'[') {
        return None;
    }
    let mut array = Array {
        inner: start + 1..start + 1,
        elements: Vec::new(),
        whole: false,
    };
    let mut at = skip_space(bytes, start + 1);
    if bytes.get(at) == Some(&b']') {
        array.inner.end = at;
        array.whole = true;
        return Some(array);
    }
    while let Some(end) = value_end(bytes, at) {
        array.elements.push(at..end);
        array.inner.end = end;
        let next = skip_space(bytes, end);
        match bytes.get(next) {
            Some(b',') => at = skip_space(bytes, next + 1),
            Some(b']') => {
                array.inner.end = next;
                array.whole = true;
                break;
            }
            _ => break,
        }
    }
    Some(array)
}

/// The members of the object that begins at `start`, in order, as far as it is whole. The last
/// value may be broken: it then reaches to the end of the text.
pub(super) fn members(bytes: &[u8], start: usize) -> Vec<(Cow<'_, str>, Range<usize>)> {
    let mut members = Vec::new();
    if bytes.get(start) != Some(&b'{') {
        return members;
    }
    let mut at = skip_space(bytes, start + 1);
    while bytes.get(at) == Some(&b'"') {
        let Some(key_end) = value_end(bytes, at) else {
            break;
        };
        let Ok(key) = serde_json::from_slice::<Key<'_>>(slice(bytes, at..key_end)) else {
            break;
        };
        let colon = skip_space(bytes, key_end);
        if bytes.get(colon) != Some(&b':') {
            break;
        }
        let value = skip_space(bytes, colon + 1);
        let Some(end) = value_end(bytes, value) else {
            members.push((key.0, value..bytes.len()));
            break;
        };
        members.push((key.0, value..end));
        let next = skip_space(bytes, end);
        if bytes.get(next) != Some(&b',') {
            break;
        }
        at = skip_space(bytes, next + 1);
    }
    members
}

#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::{array, members, value_end};

    #[test]
    fn elements_are_found_as_far_as_an_array_is_whole() {
        let check = |text: &str, expected: &[&str], whole: bool| {
            let found = array(text.as_bytes(), 0).unwrap();
            let bytes = text.as_bytes();
            let elements: Vec<&[u8]> = found.elements.iter().map(|at| &bytes[at.clone()]).collect();
            let expected: Vec<&[u8]> = expected.iter().map(|text| text.as_bytes()).collect();
            assert_eq!((elements, found.whole), (expected, whole), "{text}");
        };
        check("[]", &[], true);
        check(
            "[ 1 , {\"a\": [2]},\"x,]\" ]",
            &["1", "{\"a\": [2]}", "\"x,]\""],
            true,
        );
        check("[1, {\"a\": ", &["1"], false);
        check("[1 2]", &["1"], false);
        check("[1,]", &["1"], false);
        check("[", &[], false);
        assert!(array(b"{}", 0).is_none());
    }

    #[test]
    fn members_are_found_as_far_as_an_object_is_whole() {
        let text = b"{\"a\" : [1], \"b\\u0041\":null, \"c\": [2, ";
        let found: Vec<(String, &[u8])> = members(text, 0)
            .into_iter()
            .map(|(key, at)| (key.into_owned(), &text[at]))
            .collect();
        let expected = [("a", &b"[1]"[..]), ("bA", b"null"), ("c", b"[2, ")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value)));
        assert!(members(b"[1]", 0).is_empty());
    }

    #[test]
    fn depth_is_no_limit() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(value_end(deep.as_bytes(), 0), Some(200_000));
    }
}
