//! JSON files with comments, edited in their concrete syntax tree.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstContainerNode, CstInputValue, CstNode, CstObject};
use jsonc_parser::cst::{CstObjectProp, CstRootNode};
use serde_json::Value;

use super::document::{Document, Malformed};

/// Comments and trailing commas, which the clients accept too, and nothing else of JSON5.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A JSON file.
pub struct JsonDocument {
    root: CstRootNode,
}

impl JsonDocument {
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| Malformed {
            line: error.line_display(),
            column: error.column_display(),
            reason: error.kind().to_string().to_lowercase(),
        })?;
        Ok(Self { root })
    }

    fn property(&self, keys: &[String]) -> Option<CstObjectProp> {
        let (last, path) = keys.split_last()?;
        let mut object = self.root.object_value()?;
        for key in path {
            object = property(&object, key)?.object_value()?;
        }
        property(&object, last)
    }

    /// The object at a path, created with all the objects on the way.
    fn object(&self, keys: &[String]) -> Option<CstObject> {
        let mut object = self.root.object_value_or_create()?;
        for key in keys {
            let next = match property(&object, key) {
                Some(found) => found,
                None => object.append(key, CstInputValue::Object(Vec::new())),
            };
            object = next.object_value()?;
        }
        Some(object)
    }

    fn list(&self, keys: &[String]) -> Option<CstArray> {
        self.property(keys)?.array_value()
    }
}

impl Document for JsonDocument {
    fn value(&self) -> Value {
        let empty = || Value::Object(serde_json::Map::new());
        self.root.to_serde_value().unwrap_or_else(empty)
    }

    fn set(&mut self, keys: &[String], value: &Value) {
        let Some((last, path)) = keys.split_last() else {
            return;
        };
        let Some(object) = self.object(path) else {
            return;
        };
        match property(&object, last) {
            Some(found) => found.set_value(input(value)),
            None => {
                object.append(last, input(value));
            }
        }
    }

    fn append(&mut self, keys: &[String], element: &Value) {
        if self.property(keys).is_none() {
            self.set(keys, &Value::Array(Vec::new()));
        }
        if let Some(list) = self.list(keys) {
            list.append(input(element));
        }
    }

    fn remove(&mut self, keys: &[String]) {
        if let Some(found) = self.property(keys) {
            found.remove();
        }
    }

    fn take(&mut self, keys: &[String], element: &Value) {
        let Some(list) = self.list(keys) else {
            return;
        };
        let mut elements = list.elements().into_iter();
        let equal = |node: &CstNode| node.to_serde_value().as_ref() == Some(element);
        if let Some(found) = elements.find(equal) {
            found.remove();
        }
    }

    fn prune(&mut self, keys: &[String]) {
        let container = |found: &CstObjectProp| {
            let object = found.object_value().map(CstContainerNode::Object);
            object.or_else(|| found.array_value().map(CstContainerNode::Array))
        };
        let Some(found) = self.property(keys) else {
            return;
        };
        let holds = |node: &CstNode| node.is_comment() || !(node.is_trivia() || node.is_token());
        if container(&found).is_some_and(|container| !container.children().iter().any(holds)) {
            found.remove();
        }
    }

    fn text(&self) -> String {
        self.root.to_string()
    }
}

/// The property of this name. Where a name stands twice, the clients read the last one.
fn property(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let mut properties = object.properties().into_iter().rev();
    properties.find(|found| found.decoded_name().as_deref() == Some(name))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(bit) => CstInputValue::Bool(*bit),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(elements) => CstInputValue::Array(elements.iter().map(input).collect()),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(pairs.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Document, JsonDocument};

    fn keys(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    fn document(text: &str) -> JsonDocument {
        JsonDocument::parse(text).unwrap()
    }

    const TEXT: &str = "{\n    // about the model\n    \"model\": \"opus\", // the large one\n    \"hooks\": {\n        \"Stop\": []\n    }\n}\n";

    #[test]
    fn an_edit_keeps_comments_and_the_indent() {
        let mut document = document(TEXT);
        document.set(&keys("env.URL"), &json!("http://h"));
        document.append(&keys("hooks.Stop"), &json!({"url": "x"}));
        document.set(&keys("model"), &json!("haiku"));
        insta::assert_snapshot!(document.text(), @r#"
        {
            // about the model
            "model": "haiku", // the large one
            "hooks": {
                "Stop": [
                    {
                        "url": "x"
                    }
                ]
            },
            "env": {
                "URL": "http://h"
            }
        }
        "#);
    }

    #[test]
    fn what_was_added_is_taken_out_again() {
        let mut document = document(TEXT);
        document.set(&keys("env.URL"), &json!("http://h"));
        document.append(&keys("hooks.Start"), &json!({"url": "x"}));
        document.take(&keys("hooks.Start"), &json!({"url": "x"}));
        document.prune(&keys("hooks.Start"));
        document.remove(&keys("env.URL"));
        document.prune(&keys("env"));
        assert_eq!(document.text(), TEXT);
    }

    #[test]
    fn a_comment_keeps_an_empty_object() {
        let text = "{\n  \"env\": {\n    // mine\n  }\n}\n";
        let mut document = document(text);
        document.prune(&keys("env"));
        assert_eq!(document.text(), text);
    }

    #[test]
    fn an_empty_file_becomes_an_object() {
        let mut document = document("");
        assert_eq!(document.value(), json!({}));
        document.set(&keys("a.b"), &json!(1));
        assert_eq!(document.text(), "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
    }

    #[test]
    fn of_two_equal_names_the_last_counts() {
        let mut document = document(r#"{"a": 1, "a": 2}"#);
        document.set(&keys("a"), &json!(3));
        assert_eq!(document.text(), r#"{"a": 1, "a": 3}"#);
        assert_eq!(document.value(), json!({"a": 3}));
    }

    #[test]
    fn a_syntax_error_has_a_place_and_quotes_nothing() {
        let error = JsonDocument::parse("{\n  \"key\": \"secret\n}")
            .err()
            .unwrap();
        assert_eq!(error.line, 2);
        assert!(!error.reason.contains("secret"), "{}", error.reason);
        assert!(JsonDocument::parse("{'a': 1}").is_err());
    }
}
