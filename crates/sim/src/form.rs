//! Answers in a form that the instructions ask for: a value of a JSON Schema.

use serde_json::{Map, Value, json};
use wire::api::Request;

/// The end of the line before a schema.
const MARK: &str = "JSON Schema:";

/// The deepest level of schemas and messages that is looked into.
const DEPTH: u32 = 32;

/// The schema that the instructions of a request end with, after a line that ends with `JSON Schema:`.
pub(crate) fn asked_for(request: &Request<'_>) -> Option<Value> {
    let text = request.instructions()?;
    let text = text.raw.contains(MARK).then_some(text.text)?;
    let (before, schema) = text.trim_end().rsplit_once('\n')?;
    let schema: Value = serde_json::from_str(schema).ok()?;
    (before.ends_with(MARK) && schema.is_object()).then_some(schema)
}

/// A value of a schema: texts, numbers and booleans that a message holds under the same name, else
/// `said`, 0 and true; empty lists; of several schemas the first.
pub(crate) fn filled(schema: &Value, message: &str, said: &str) -> Value {
    let message = serde_json::from_str(message).unwrap_or_default();
    fill(schema, "", &Source { message, said }, DEPTH)
}

struct Source<'a> {
    message: Value,
    said: &'a str,
}

fn fill(schema: &Value, name: &str, source: &Source<'_>, depth: u32) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::Null;
    };
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(first) = schema.get("anyOf").and_then(|any| any.get(0)) {
        return fill(first, name, source, depth);
    }
    let held = |kind: fn(&Value) -> bool| named(&source.message, name, kind, DEPTH).cloned();
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties.into_iter().flatten();
            let fields: Map<String, Value> = fields
                .map(|(name, schema)| (name.clone(), fill(schema, name, source, depth)))
                .collect();
            Value::Object(fields)
        }
        Some("array") => {
            let parts = schema.get("prefixItems").and_then(Value::as_array);
            let parts = parts.into_iter().flatten();
            parts.map(|part| fill(part, name, source, depth)).collect()
        }
        Some("boolean") => held(Value::is_boolean).unwrap_or(Value::Bool(true)),
        Some("integer") => held(Value::is_i64).unwrap_or_else(|| json!(0)),
        Some("number") => held(Value::is_number).unwrap_or_else(|| json!(0)),
        Some("string") => held(Value::is_string).unwrap_or_else(|| json!(source.said)),
        _ => Value::Null,
    }
}

/// The first value of a kind that stands under a name in a message.
fn named<'v>(
    message: &'v Value,
    name: &str,
    kind: fn(&Value) -> bool,
    depth: u32,
) -> Option<&'v Value> {
    let depth = depth.checked_sub(1)?;
    let fields = message.as_object()?;
    let own = fields.get(name).filter(|value| kind(value));
    own.or_else(|| {
        let mut inner = fields.values();
        inner.find_map(|value| named(value, name, kind, depth))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wire::api::{Dialect, Request};

    use super::{asked_for, filled};

    fn check(dialect: Dialect, body: &serde_json::Value, expected: bool) {
        let body = body.to_string();
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        assert_eq!(asked_for(&request).is_some(), expected, "{body}");
    }

    #[test]
    fn a_schema_is_the_last_line_of_the_instructions() {
        let asks = "Be brief. It must fit this JSON Schema:\n{\"type\":\"object\"}\n";
        let user = json!({"role": "user", "content": asks});
        let body = |system| json!({"system": system, "messages": [user]});
        check(Dialect::Anthropic, &body(asks), true);
        check(Dialect::Anthropic, &body("JSON Schema: {}"), false);
        check(
            Dialect::Anthropic,
            &body("JSON Schema:\n{}\nand more"),
            false,
        );
        check(Dialect::Anthropic, &body("JSON Schema:\n[1]"), false);
        check(Dialect::Anthropic, &json!({"messages": [user]}), false);
        let system = json!({"role": "system", "content": asks});
        check(Dialect::Chat, &json!({"messages": [system, user]}), true);
        check(Dialect::Chat, &json!({"messages": [user]}), false);
    }

    #[test]
    fn a_form_is_filled_from_what_the_message_names_alike() {
        let schema = json!({
            "type": "object",
            "properties": {
                "set_memory": {
                    "type": "object",
                    "properties": {
                        "mark": {"type": "string"},
                        "turns": {"type": "array", "items": {}},
                        "summary": {"type": "string"},
                        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}]},
                        "sure": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                    },
                },
            },
        });
        let message = r#"{"memory":{"mark":"7","turns":[{"role":"user"}],"sure":false}}"#;
        let expected = json!({
            "set_memory": {
                "mark": "7", "turns": [], "summary": "said", "pair": [0, "x"], "sure": false,
            },
        });
        assert_eq!(filled(&schema, message, "said"), expected);
    }
}
