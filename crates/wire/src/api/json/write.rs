//! JSON text, written piece by piece, so that raw values go in as they are.

use std::fmt::Write as _;

/// Appends `text` as a JSON string.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest
        .bytes()
        .position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        let mut characters = after.chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// An object under construction.
pub(crate) struct Object {
    out: String,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self {
            out: String::from("{"),
        }
    }

    /// Adds a member with a string.
    pub(crate) fn text(mut self, key: &str, text: &str) -> Self {
        self.key(key);
        push_string(&mut self.out, text);
        self
    }

    /// Adds a member whose value is JSON already.
    pub(crate) fn raw(mut self, key: &str, json: &str) -> Self {
        self.key(key);
        self.out.push_str(json);
        self
    }

    pub(crate) fn end(mut self) -> String {
        self.out.push('}');
        self.out
    }

    fn key(&mut self, key: &str) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        push_string(&mut self.out, key);
        self.out.push(':');
    }
}

/// A list of values that are JSON already.
pub(crate) fn list<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> String {
    let mut out = String::from("[");
    for value in values {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(value.as_ref());
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use super::{Object, list, quoted};

    #[test]
    fn strings_read_back_as_they_were() {
        let text = "a\"b\\c\n\u{1}\u{7f}é😀\r\t";
        assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
    }

    #[test]
    fn objects_and_lists() {
        let object = Object::new().text("a", "x").raw("b", "[1]").end();
        assert_eq!(object, r#"{"a":"x","b":[1]}"#);
        assert_eq!(list([object.as_str(), "2"]), r#"[{"a":"x","b":[1]},2]"#);
        assert_eq!(Object::new().end(), "{}");
    }
}
