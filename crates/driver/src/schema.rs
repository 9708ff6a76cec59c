//! Types as JSON Schema: the schemas that models get for their answers.

use plumb::types::{Presence, Type};
use serde_json::{Map, Value, json};

/// The schema of a type.
pub(crate) fn schema(kind: &Type) -> Value {
    match kind {
        Type::Unit => json!({"type": "null"}),
        Type::Bool => json!({"type": "boolean"}),
        Type::Int => json!({"type": "integer"}),
        Type::Number => json!({"type": "number"}),
        Type::Text => json!({"type": "string"}),
        Type::Literal(text) => json!({"type": "string", "const": &**text}),
        Type::Json | Type::Unknown => json!({}),
        Type::List(item) => json!({"type": "array", "items": schema(item)}),
        Type::Product(parts) => json!({
            "type": "array",
            "prefixItems": parts.iter().map(schema).collect::<Vec<_>>(),
            "minItems": parts.len(),
            "maxItems": parts.len(),
        }),
        Type::Sum(variants) => json!({
            "anyOf": variants.iter().map(schema).collect::<Vec<_>>(),
        }),
        Type::Record(fields) => {
            let properties: Map<String, Value> = fields
                .iter()
                .map(|field| (field.name.to_string(), schema(&field.kind)))
                .collect();
            let required: Vec<&str> = fields
                .iter()
                .filter(|field| field.presence == Presence::Required)
                .map(|field| &*field.name)
                .collect();
            json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plumb::types::{Field, Presence, Type};
    use serde_json::json;

    use super::schema;

    #[test]
    fn a_record_says_what_must_be_there() {
        let optional = Field {
            name: "g".into(),
            presence: Presence::Optional,
            kind: Type::List(Arc::new(Type::Int)),
        };
        let kind = Type::record(vec![Field::required("f", Type::Text), optional]);
        let expected = json!({
            "type": "object",
            "properties": {
                "f": {"type": "string"},
                "g": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["f"],
            "additionalProperties": false,
        });
        assert_eq!(schema(&kind), expected);
    }
}
