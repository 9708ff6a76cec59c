//! Strings and numbers: from how they are written to what they say.

use std::ops::Range;

/// A mistake in a literal, with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub at: Range<usize>,
    pub message: &'static str,
    pub hint: &'static str,
}

/// The string that the inside of a string literal says; JSON's escapes.
pub(super) fn unescape(inside: &str) -> Result<String, Fault> {
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => out.push(escape(inside, at, &mut rest)?),
            c if c < ' ' => {
                return Err(Fault {
                    at: at..at + 1,
                    message: "a control character stands in a string",
                    hint: "Write it as an escape: `\\t` for a tab, `\\u001b` for escape.",
                });
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// The character of the escape whose backslash stands at `at` and has been read.
fn escape(inside: &str, at: usize, rest: &mut std::str::CharIndices<'_>) -> Result<char, Fault> {
    let unknown = |end: usize| Fault {
        at: at..end,
        message: "unknown escape in a string",
        hint: "The escapes are those of JSON: `\\\"` `\\\\` `\\/` `\\b` `\\f` `\\n` `\\r` `\\t` `\\uXXXX`.",
    };
    let Some((letter_at, letter)) = rest.next() else {
        return Err(unknown(at + 1));
    };
    Ok(match letter {
        '"' | '\\' | '/' => letter,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let first = unit(inside, at).ok_or_else(|| unknown(letter_at + 1))?;
            let second = match first {
                0xd800..=0xdbff => unit(inside, at + 6),
                _ => None,
            };
            let units = [Some(first), second];
            let decoded = char::decode_utf16(units.into_iter().flatten()).next();
            let Some(Ok(c)) = decoded else {
                return Err(Fault {
                    at: at..at + 6,
                    message: "half of a surrogate pair stands alone",
                    hint: "Write the character itself, or both halves: `\\ud83d\\ude00`.",
                });
            };
            for _ in 0..if second.is_some() { 10 } else { 4 } {
                rest.next();
            }
            c
        }
        _ => return Err(unknown(letter_at + letter.len_utf8())),
    })
}

/// The UTF-16 unit of the escape `\uXXXX` at `at`.
fn unit(inside: &str, at: usize) -> Option<u16> {
    let digits = inside.get(at..at + 6)?.strip_prefix("\\u")?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
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
