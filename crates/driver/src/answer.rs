//! What an agent said, read as a value of the type that it was asked for.

use plumb::machine::mismatch;
use plumb::types::Type;
use plumb::value::Value;

use crate::schema::schema;

/// What an agent that is asked for this type is told about the form of its answers; nothing where any text
/// will do.
pub(crate) fn form(kind: &Type) -> Option<String> {
    match kind {
        Type::Text | Type::Json | Type::Unknown => None,
        other => Some(format!(
            "Answer with one JSON value and nothing else: no explanation, no code fence. It must fit this JSON Schema:\n{}",
            schema(other)
        )),
    }
}

/// What is said to an agent about an answer that cannot be used.
pub(crate) fn remark(why: &str) -> String {
    format!(
        "That answer cannot be used: {why}. Answer the same message again, in the form that was asked for."
    )
}

/// The value that a text is. Where a string is asked for, it is the text; elsewhere JSON, in a code fence or
/// not, or the text where that is of the type.
///
/// # Errors
/// What is wrong with it, as a phrase.
pub(crate) fn read(kind: &Type, text: &str) -> Result<Value, String> {
    if matches!(kind, Type::Text) {
        return Ok(Value::from(text));
    }
    let plain = Value::from(text.trim());
    let parsed = Value::parse(bare(text));
    match parsed {
        Ok(value) => match mismatch(kind, &value) {
            None => Ok(value),
            Some(_) if mismatch(kind, &plain).is_none() => Ok(plain),
            Some(mismatch) => Err(mismatch.to_string()),
        },
        Err(_) if mismatch(kind, &plain).is_none() => Ok(plain),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

/// What stands in a code fence, where all of the text is one.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|inside| inside.split_once('\n')) {
        Some((word, inside)) if !word.trim().contains(' ') => inside.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use plumb::types::{Field, Type};
    use plumb::value::Value;

    use super::read;

    fn check(kind: &Type, text: &str, expected: Option<&str>) {
        let read = read(kind, text).ok().map(|value| value.to_string());
        assert_eq!(read.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_string_is_the_text_as_it_is() {
        check(&Type::Text, "{\"a\":1}", Some("\"{\\\"a\\\":1}\""));
    }

    #[test]
    fn anything_else_is_json_with_or_without_a_fence() {
        let kind = Type::record(vec![Field::required("a", Type::Int)]);
        check(&kind, " {\"a\":1}\n", Some("{\"a\":1}"));
        check(&kind, "```json\n{\"a\":1}\n```", Some("{\"a\":1}"));
        check(&kind, "```\n{\"a\":1}\n```", Some("{\"a\":1}"));
        check(&kind, "Here: {\"a\":1}", None);
        check(&kind, "{\"a\":\"1\"}", None);
    }

    #[test]
    fn a_bare_word_is_a_literal_and_json_takes_any_text() {
        let word = Type::Literal("yes".into());
        check(&word, "yes", Some("\"yes\""));
        check(&word, "\"yes\"", Some("\"yes\""));
        check(&word, "no", None);
        check(&Type::Json, "{\"a\":1}", Some("{\"a\":1}"));
        check(&Type::Json, "so it is", Some("\"so it is\""));
        assert_eq!(read(&Type::Int, "3"), Ok(Value::Int(3)));
    }
}
