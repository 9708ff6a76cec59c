//! Asks for an answer in the output's type, and reads the agent's text as one.

use std::sync::Arc;

use plumb::machine::mismatch;
use plumb::types::{Field, Presence, Type, without_failed};
use plumb::value::Value;

use crate::mcp::ToolAnswer;
use crate::schema::schema;

/// The type of the answers themselves: a failure is no answer that an agent or a tool may give.
pub(crate) fn of_itself(kind: Type) -> Type {
    without_failed(&kind).unwrap_or(kind)
}

/// The instructions on the form of answers of this type; `None` if any text will do.
pub(crate) fn form(kind: &Type) -> Option<String> {
    match kind {
        Type::Text | Type::Json | Type::Unknown => None,
        other => Some(format!(
            "Answer with one JSON value and nothing else: no explanation, no code fence. It must fit this JSON Schema:\n{}",
            schema(other)
        )),
    }
}

/// The message to an agent about an answer that cannot be used.
pub(crate) fn remark(why: &str) -> String {
    format!(
        "That answer cannot be used: {why}. Answer the same message again, in the form that was asked for."
    )
}

/// The description of a mistake without what it quotes of the answer. Names of the type stay.
pub(crate) fn without_quotes(why: &str, kind: &str) -> String {
    // A name with such a mark in it does not end where it seems to.
    if why.matches('`').count() % 2 == 1 {
        return "…".to_owned();
    }
    let mut out = String::with_capacity(why.len());
    let mut rest = why;
    while let Some(at) = rest.find(['`', '\'']) {
        let (before, quoted) = rest.split_at(at);
        let (mark, after) = quoted.split_at(1);
        let Some(end) = after.find(mark) else { break };
        let (name, after) = after.split_at(end);
        let is_of_type = mark == "`" && kind.split(|it: char| !is_of_name(it)).any(|it| it == name);
        out.push_str(before);
        out.push_str(mark);
        out.push_str(if is_of_type { name } else { "…" });
        out.push_str(mark);
        rest = after.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Reads a text as a value. A string type takes the text as it is; other types take JSON, with or without a
/// code fence, or the plain text if it fits.
///
/// # Errors
/// The mistake, as a phrase.
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

/// The value that a tool of another program gave. Such programs wrap what is no record in one with the field
/// `result`, and say `null` where a record leaves a field out.
///
/// # Errors
/// The mistake, as a phrase.
pub(crate) fn of_tool(kind: &Type, answered: &ToolAnswer) -> Result<Value, String> {
    let Some(value) = &answered.value else {
        return read(kind, &answered.text);
    };
    let value = Value::parse(&value.to_string()).map_err(|error| error.to_string())?;
    let wrapped = match value.fields() {
        Some([(name, inner)]) if &**name == "result" => Some(inner),
        _ => None,
    };
    let forms = [Some(&value), wrapped].into_iter().flatten();
    let mut forms = forms.map(|value| without_nulls(kind, value));
    if let Some(fitting) = forms.find(|value| mismatch(kind, value).is_none()) {
        return Ok(fitting);
    }
    let why = mismatch(kind, wrapped.unwrap_or(&value));
    let why = why.map_or_else(String::new, |why| why.to_string());
    read(kind, &answered.text).map_err(|_| why)
}

/// A value without the fields that are `null`, where the type says that they may be missing and `null` is not
/// of theirs.
fn without_nulls(kind: &Type, value: &Value) -> Value {
    let made = match (kind, value) {
        (Type::Record(wanted), Value::Record(_, fields)) => {
            let fields = fields.iter().filter_map(|(name, value)| {
                let field = wanted.iter().find(|field| field.name == *name);
                let left_out = |field: &&Field| {
                    field.presence == Presence::Optional
                        && *value == Value::Null
                        && mismatch(&field.kind, value).is_some()
                };
                if field.is_some_and(|field| left_out(&field)) {
                    return None;
                }
                let value =
                    field.map_or_else(|| value.clone(), |field| without_nulls(&field.kind, value));
                Some((Arc::clone(name), value))
            });
            Value::record(fields.collect::<Vec<_>>())
        }
        (Type::List(item), Value::List(_, items)) => {
            let items = items.iter().map(|value| without_nulls(item, value));
            Value::list(items.collect::<Vec<_>>())
        }
        _ => return value.clone(),
    };
    made.unwrap_or_else(|_| value.clone())
}

/// Removes the code fence around a text, if there is one.
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
    use plumb::types::{Field, Presence, Type};
    use plumb::value::Value;

    use super::{of_tool, read, without_quotes};
    use crate::mcp::ToolAnswer;

    fn check(kind: &Type, text: &str, expected: Option<&str>) {
        let read = read(kind, text).ok().map(|value| value.to_string());
        assert_eq!(read.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_log_quotes_nothing_of_an_answer() {
        let check = |why: &str, expected: &str| {
            assert_eq!(without_quotes(why, "{ a: int, name?: string }"), expected);
        };
        check(
            "the field `hunter2` is not expected",
            "the field `…` is not expected",
        );
        check("the field `a` is missing", "the field `a` is missing");
        check(
            "it is not JSON: unexpected 'm' at byte 0",
            "it is not JSON: unexpected '…' at byte 0",
        );
        check("the field `a`hunter2` is not expected", "…");
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
    fn what_tools_of_other_programs_wrap_and_leave_out() {
        let check = |kind: &Type, value: Option<&str>, text: &str, expected: Option<&str>| {
            let answered = ToolAnswer {
                text: text.to_owned(),
                value: value.map(|value| serde_json::from_str(value).unwrap()),
            };
            let read = of_tool(kind, &answered).ok().map(|value| value.to_string());
            assert_eq!(read.as_deref(), expected, "{value:?} {text}");
        };
        let words = Type::List(Type::Text.into());
        let record = Type::record(vec![
            Field::required("a", Type::Int),
            Field {
                presence: Presence::Optional,
                ..Field::required("b", words.clone())
            },
        ]);
        check(&Type::Int, Some(r#"{"result":3}"#), "3", Some("3"));
        check(&words, Some(r#"{"result":[]}"#), "", Some("[]"));
        check(
            &words,
            Some(r#"{"result":["x","y"]}"#),
            "x\ny",
            Some(r#"["x","y"]"#),
        );
        check(&words, Some(r#"{"result":[1]}"#), "1", None);
        check(&record, Some(r#"{"a":1,"b":null}"#), "", Some(r#"{"a":1}"#));
        check(&record, Some(r#"{"a":null}"#), "", None);
        check(
            &Type::Json,
            Some(r#"{"result":3}"#),
            "3",
            Some(r#"{"result":3}"#),
        );
        check(&Type::Text, Some(r#"{"result":"x"}"#), "x", Some("\"x\""));
        check(&record, None, r#"{"a":2}"#, Some(r#"{"a":2}"#));
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
