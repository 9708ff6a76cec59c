//! Tools, and the choice among them.

use serde_json::{Value, json};

use super::{Known, Tools};
use crate::api::parts;

/// The argument that holds the text of a custom tool.
const INPUT: &str = "input";

/// The tools as Chat Completions lists them, and the way back. Those that the provider runs are left out.
pub(super) fn written(tools: Option<&Value>) -> (Vec<Value>, Tools) {
    let (mut listed, mut known) = (Vec::new(), Tools::new());
    for tool in tools.and_then(Value::as_array).into_iter().flatten() {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "namespace" {
            let inside = tool.get("tools").and_then(Value::as_array);
            let namespace = tool.get("name").and_then(Value::as_str);
            for inner in inside.into_iter().flatten() {
                listed.extend(one(inner, namespace, &mut known));
            }
        } else {
            listed.extend(one(tool, None, &mut known));
        }
    }
    (listed, known)
}

fn one(tool: &Value, namespace: Option<&str>, known: &mut Tools) -> Option<Value> {
    let name = tool.get("name")?.as_str()?;
    let is_custom = match tool.get("type")?.as_str()? {
        "function" => false,
        "custom" => true,
        _ => return None,
    };
    let there = there(name, namespace);
    known.insert(
        there.clone(),
        Known {
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            is_custom,
        },
    );
    let mut function = json!({"name": there});
    let mut add = |key: &str, value: Value| {
        if let Some(function) = function.as_object_mut().filter(|_| !value.is_null()) {
            function.insert(key.to_owned(), value);
        }
    };
    if is_custom {
        add("description", json!(described(tool)));
        add(
            "parameters",
            json!({"type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT]}),
        );
    } else {
        for key in ["description", "parameters", "strict"] {
            add(key, tool.get(key).cloned().unwrap_or_default());
        }
    }
    Some(json!({"type": "function", "function": function}))
}

/// The name of a tool as the server sees it.
pub(super) fn there(name: &str, namespace: Option<&str>) -> String {
    parts::qualified(namespace.unwrap_or_default(), name)
}

/// The description of a custom tool, with the grammar of its text.
fn described(tool: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let told = text(tool.get("description"));
    let grammar = text(tool.get("format").and_then(|it| it.get("definition")));
    match grammar.is_empty() {
        true => told,
        false => format!("{told}\n\nThe text follows this grammar:\n{grammar}"),
    }
}

/// The text of a custom tool, out of the arguments of its function.
pub(super) fn input(arguments: &str) -> String {
    let read: Option<Value> = serde_json::from_str(arguments).ok();
    let text = read.as_ref().and_then(|it| it.get(INPUT)?.as_str());
    text.unwrap_or(arguments).to_owned()
}

/// The arguments of the function that stands for a custom tool.
pub(super) fn arguments(input: &str) -> String {
    json!({INPUT: input}).to_string()
}

/// The choice among the tools.
pub(super) fn choice(choice: &Value, tools: &Tools) -> Option<Value> {
    if choice.is_string() {
        return Some(choice.clone());
    }
    let text = |key| choice.get(key).and_then(Value::as_str);
    match text("type")? {
        "function" | "custom" => {
            let name = there(text("name")?, text("namespace"));
            tools
                .contains_key(&name)
                .then(|| json!({"type": "function", "function": {"name": name}}))
        }
        "allowed_tools" => text("mode").map(Value::from),
        _ => None,
    }
}
