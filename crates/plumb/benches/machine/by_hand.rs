//! The same written by hand.

use plumb::value::Value;

use crate::{FAN, ROUNDS};

/// `{ kind: kind, count: count + 1 }`.
pub fn next(message: &Value) -> Value {
    let Some(Value::Int(count)) = message.get("count") else {
        return Value::Null;
    };
    let kind = message.get("kind").cloned().unwrap_or(Value::Null);
    let fields = [
        ("kind".into(), kind),
        ("count".into(), Value::Int(count + 1)),
    ];
    Value::record(fields).unwrap_or(Value::Null)
}

/// `count < bound`.
pub fn is_below(message: &Value, bound: i64) -> bool {
    matches!(message.get("count"), Some(Value::Int(count)) if *count < bound)
}

/// Maps and filters in turn.
pub fn chain(length: usize, message: Value) -> Option<Value> {
    (0..length).try_fold(message, |message, at| match at % 2 {
        0 => Some(next(&message)),
        _ => is_below(&message, i64::MAX).then_some(message),
    })
}

/// Eight maps of one message.
pub fn fan(message: &Value) -> Vec<Value> {
    (0..FAN).map(|_| next(message)).collect()
}

/// Round until it has counted to the end.
pub fn feedback(mut message: Value) -> Value {
    while is_below(&message, ROUNDS) {
        message = next(&message);
    }
    message
}
