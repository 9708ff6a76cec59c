//! The tools that a request offers, and the items that call them.
//!
//! Responses has two forms besides functions: a namespace holds functions, whose calls name both, and a search
//! finds tools that the client holds back. A script names a function in a namespace `namespace__function`.

use serde_json::{Value, json};

use super::items::Call;

/// A tool that can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    /// The name in a script.
    pub called: String,
    /// The namespace that it stands in.
    namespace: Option<String>,
    /// Its own name.
    name: String,
    /// True for the search.
    searches: bool,
}

/// The tools of a request: those that it lists, and those that earlier searches found.
pub(super) fn tools(call: &Call) -> Vec<Tool> {
    let mut out = Vec::new();
    push(&mut out, call.field("tools"));
    let found = call.items.iter();
    let found = found.filter(|item| item.kind() == "tool_search_output");
    found.for_each(|item| push(&mut out, item.value.get("tools")));
    out
}

fn push(out: &mut Vec<Tool>, list: Option<&Value>) {
    for tool in list.and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| tool.get(key).and_then(Value::as_str);
        match text("type") {
            Some("namespace") => {
                let inside = tool.get("tools").and_then(Value::as_array);
                let names = inside.into_iter().flatten().filter_map(name);
                out.extend(names.map(|name| Tool {
                    called: format!("{}__{name}", text("name").unwrap_or_default()),
                    namespace: text("name").map(str::to_owned),
                    name: name.to_owned(),
                    searches: false,
                }));
            }
            Some("tool_search") => out.push(Tool {
                called: "tool_search".to_owned(),
                namespace: None,
                name: String::new(),
                searches: true,
            }),
            _ => out.extend(name(tool).map(|name| Tool {
                called: name.to_owned(),
                namespace: None,
                name: name.to_owned(),
                searches: false,
            })),
        }
    }
}

/// The name of a function, in the form of Responses or of Chat Completions.
fn name(tool: &Value) -> Option<&str> {
    let inner = tool.get("function").unwrap_or(tool);
    inner.get("name")?.as_str()
}

/// The Responses item that calls a tool.
pub(super) fn item(tools: &[Tool], called: &str, input: &Value, ids: (String, String)) -> Value {
    let tool = tools.iter().find(|tool| tool.called == called);
    let (id, call_id) = ids;
    if tool.is_some_and(|tool| tool.searches) {
        return json!({
            "type": "tool_search_call",
            "id": id,
            "call_id": call_id,
            "execution": "client",
            "arguments": input,
            "status": "completed",
        });
    }
    let mut item = json!({
        "type": "function_call",
        "id": id,
        "call_id": call_id,
        "name": tool.map_or(called, |tool| &tool.name),
        "arguments": input.to_string(),
        "status": "completed",
    });
    let namespace = tool.and_then(|tool| tool.namespace.as_deref());
    if let (Some(namespace), Some(item)) = (namespace, item.as_object_mut()) {
        item.insert("namespace".to_owned(), json!(namespace));
    }
    item
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{item, push};

    #[test]
    fn calls_take_the_form_of_their_tool() {
        let listed = json!([
            {"type": "function", "name": "read"},
            {"type": "function", "function": {"name": "chat"}},
            {"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "pin"}]},
            {"type": "tool_search", "execution": "client"},
        ]);
        let mut tools = Vec::new();
        push(&mut tools, Some(&listed));
        let ids = || ("fc_1".to_owned(), "call_1".to_owned());
        let call = |called: &str| item(&tools, called, &json!({"a": 1}), ids());
        let member = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
        assert_eq!(member(&call("read"), "arguments"), r#"{"a":1}"#);
        assert_eq!(member(&call("chat"), "name"), "chat");
        assert_eq!(member(&call("read"), "namespace"), Value::Null);
        let pin = call("mcp__x__pin");
        assert_eq!(member(&pin, "name"), "pin");
        assert_eq!(member(&pin, "namespace"), "mcp__x");
        let search = call("tool_search");
        assert_eq!(member(&search, "type"), "tool_search_call");
        assert_eq!(member(&search, "arguments"), json!({"a": 1}));
    }
}
