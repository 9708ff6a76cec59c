//! Strings and numbers: from how they are written to what they say.

use std::ops::Range;

use crate::value::{JsonError, JsonErrorKind, Value};

/// A mistake in a literal, with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub at: Range<usize>,
    pub message: &'static str,
    pub hint: &'static str,
}

/// The string that the inside of a string literal says; JSON's escapes.
pub(super) fn unescape(inside: &str) -> Result<String, Fault> {
    match Value::parse(&format!("\"{inside}\"")) {
        Ok(value) => Ok(value.as_text().unwrap_or_default().to_owned()),
        Err(JsonError {
            kind: JsonErrorKind::End,
            ..
        }) => Err(string_fault(inside, inside.len().saturating_sub(1))),
        // The text has a quote in front.
        Err(error) => Err(string_fault(inside, error.at.saturating_sub(1))),
    }
}

/// The mistake in a string that begins at a byte.
fn string_fault(inside: &str, at: usize) -> Fault {
    let rest = inside.get(at..).unwrap_or_default();
    let digits = rest.strip_prefix("\\u").and_then(|rest| rest.get(..4));
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (length, message, hint) = if digits.is_some_and(is_hex) {
        (
            6,
            "half of a surrogate pair stands alone",
            "Write the character itself, or both halves: `\\ud83d\\ude00`.",
        )
    } else if let Some(letters) = rest.strip_prefix('\\') {
        (
            1 + letters.chars().next().map_or(0, char::len_utf8),
            "unknown escape in a string",
            "The escapes are those of JSON: `\\\"` `\\\\` `\\/` `\\b` `\\f` `\\n` `\\r` `\\t` `\\uXXXX`.",
        )
    } else {
        (
            1,
            "a control character stands in a string",
            "Write it as an escape: `\\t` for a tab, `\\u001b` for escape.",
        )
    };
    Fault {
        at: at..at + length,
        message,
        hint,
    }
}

/// Finds the mistake in a number, if there is one.
pub(super) fn number_fault(text: &str) -> Option<Fault> {
    let fault = |message, hint| {
        Some(Fault {
            at: 0..text.len(),
            message,
            hint,
        })
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 1 && text.starts_with('0') {
        return fault(
            "a number starts with a superfluous zero",
            "Numbers are written as in JSON: `7`, `0.5`, `1e6`.",
        );
    }
    if !text.parse::<f64>().is_ok_and(f64::is_finite) {
        return fault("a number is too large", "Numbers go up to about 1.8e308.");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{number_fault, unescape};

    #[test]
    fn escapes_say_what_json_says() {
        for inside in [
            "",
            "plain",
            r#"\" \\ \/ \b \f \n \r \t"#,
            r"\u0041\u00e9\u2028",
            r"\ud83d\ude00!",
            "unescaped é 😀",
        ] {
            let json: String = serde_json::from_str(&format!("\"{inside}\"")).unwrap();
            assert_eq!(unescape(inside).as_deref(), Ok(json.as_str()));
        }
    }

    #[test]
    fn what_is_no_escape_is_said_where_it_stands() {
        #[track_caller]
        fn check(inside: &str, at: std::ops::Range<usize>) {
            assert_eq!(unescape(inside).unwrap_err().at, at);
        }
        check(r"ab\q", 2..4);
        check(r"\é", 0..3);
        check(r"\u12", 0..2);
        check(r"\u+123", 0..2);
        check(r"\ud83dx", 0..6);
        check(r"\ude00", 0..6);
        check(r"\ud83d\u0041", 0..6);
        check("a\tb", 1..2);
        check("\\", 0..1);
    }

    #[test]
    fn numbers_are_those_of_json() {
        assert_eq!(number_fault("0"), None);
        assert_eq!(number_fault("0.5e-3"), None);
        assert!(number_fault("007").is_some());
        assert!(number_fault("1e999").is_some());
    }
}
