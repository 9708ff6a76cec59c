//! Members of JSON objects that are built step by step.

use serde_json::{Map, Value};

/// Sets a member; a value that is not an object stays.
pub(crate) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(members) = object {
        members.insert(key.to_owned(), value.into());
    }
}

/// Adds members; a value that is not an object stays.
pub(crate) fn extend(object: &mut Value, more: Map<String, Value>) {
    if let Value::Object(members) = object {
        members.extend(more);
    }
}
