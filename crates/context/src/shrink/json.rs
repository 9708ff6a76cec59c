//! The structure of a JSON value, with the values by which its parts are known.

use serde_json::Value;

use crate::note::grouped;

use super::budget::Budget;
use super::clip;

/// Keys whose values say what an object is, or that something is wrong with it.
const TELLING: [&str; 16] = [
    "id", "name", "key", "title", "type", "kind", "status", "state", "error", "errors", "message",
    "code", "path", "url", "number", "reason",
];

/// The detail in which a value is shown.
#[derive(Clone, Copy)]
struct Detail {
    /// Items of an array.
    items: usize,
    /// Bytes of a string.
    string: usize,
    /// Levels below which only sizes are told.
    depth: usize,
    /// Keys of an object.
    keys: usize,
}

/// From all that may be of use to hardly anything; the first that fits is taken.
const LEVELS: [Detail; 9] = [
    Detail {
        items: 400,
        string: 400,
        depth: 12,
        keys: 400,
    },
    Detail {
        items: 100,
        string: 300,
        depth: 10,
        keys: 200,
    },
    Detail {
        items: 40,
        string: 200,
        depth: 8,
        keys: 100,
    },
    Detail {
        items: 20,
        string: 120,
        depth: 8,
        keys: 80,
    },
    Detail {
        items: 10,
        string: 100,
        depth: 6,
        keys: 60,
    },
    Detail {
        items: 5,
        string: 80,
        depth: 5,
        keys: 40,
    },
    Detail {
        items: 3,
        string: 60,
        depth: 4,
        keys: 24,
    },
    Detail {
        items: 2,
        string: 40,
        depth: 3,
        keys: 12,
    },
    Detail {
        items: 1,
        string: 24,
        depth: 2,
        keys: 6,
    },
];

/// The outline of a JSON text, or `None` where it is not JSON or where even the shortest outline is
/// too long. Arrays show their first items and how many more there are; an item among those more
/// that has an `error` is shown all the same.
pub(super) fn outline(text: &str, budget: &Budget<'_>) -> Option<String> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    LEVELS.iter().find_map(|detail| {
        let mut out = String::new();
        write(&value, *detail, 0, &mut out);
        out.push('\n');
        budget.fits(&out).then_some(out)
    })
}

fn write(value: &Value, detail: Detail, depth: usize, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::String(text) => {
            let quoted = Value::from(text.as_str()).to_string();
            out.push_str(&clip::line(&quoted, detail.string));
        }
        Value::Array(items) if depth >= detail.depth => {
            out.push_str(&format!("[… {} items …]", grouped(items.len() as u64)));
        }
        Value::Object(keys) if depth >= detail.depth => {
            out.push_str(&format!("{{… {} keys …}}", grouped(keys.len() as u64)));
        }
        Value::Array(items) => array(items, detail, depth, out),
        Value::Object(keys) => object(keys, detail, depth, out),
    }
}

fn array(items: &[Value], detail: Detail, depth: usize, out: &mut String) {
    out.push('[');
    let mut hidden = 0_u64;
    let mut shown = 0_usize;
    for (index, item) in items.iter().enumerate() {
        let wrong = shown < detail.items.saturating_mul(2) && has_error(item);
        if index >= detail.items && !wrong {
            hidden += 1;
            continue;
        }
        if shown > 0 {
            out.push(',');
        }
        shown += 1;
        new_line(depth + 1, out);
        write(item, detail, depth + 1, out);
    }
    if hidden > 0 {
        new_line(depth + 1, out);
        out.push_str(&format!(
            "… {} more of {} items …",
            grouped(hidden),
            grouped(items.len() as u64)
        ));
    }
    if !items.is_empty() {
        new_line(depth, out);
    }
    out.push(']');
}

/// Telling keys first where not all are shown.
fn object(keys: &serde_json::Map<String, Value>, detail: Detail, depth: usize, out: &mut String) {
    let telling = |key: &str| TELLING.contains(&key);
    let mut room = detail.keys;
    let mut told = keys.keys().filter(|key| telling(key)).count();
    out.push('{');
    let mut first = true;
    let mut hidden = 0_u64;
    for (key, value) in keys {
        let shown = if telling(key) {
            told = told.saturating_sub(1);
            room > 0
        } else {
            room > told
        };
        if !shown {
            hidden += 1;
            continue;
        }
        room -= 1;
        if !first {
            out.push(',');
        }
        first = false;
        new_line(depth + 1, out);
        out.push_str(&clip::line(&Value::from(key.as_str()).to_string(), 120));
        out.push_str(": ");
        write(value, detail, depth + 1, out);
    }
    if hidden > 0 {
        new_line(depth + 1, out);
        out.push_str(&format!("… {} more keys …", grouped(hidden)));
    }
    if !keys.is_empty() {
        new_line(depth, out);
    }
    out.push('}');
}

fn has_error(item: &Value) -> bool {
    ["error", "errors"].iter().any(|key| {
        item.get(key)
            .is_some_and(|error| !matches!(error, Value::Null | Value::Bool(false)))
    })
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    for _ in 0..depth.min(20) {
        out.push(' ');
    }
}
