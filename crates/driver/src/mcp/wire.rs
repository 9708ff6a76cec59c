//! The messages of the protocol.

use serde_json::{Value, json};

use super::{ListedTool, ToolAnswer};

/// A message from a server.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// The result of one of our requests.
    Result { of: u64, result: Value },
    /// A request of ours was refused.
    Error { of: u64, message: String },
    /// A request from the server, with our answer.
    Request { answer: Value },
    /// Notifications, and lines that are not messages.
    Other,
}

impl Incoming {
    /// A line.
    pub fn read(line: &[u8]) -> Self {
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else {
            return Self::Other;
        };
        let id = message.remove("id").filter(|id| !id.is_null());
        let Some(id) = id else {
            return Self::Other;
        };
        if let Some(method) = message.get("method") {
            let answer = if method == "ping" {
                json!({"jsonrpc": "2.0", "id": id, "result": {}})
            } else {
                let error = json!({"code": -32601, "message": "this client does not support that"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            };
            return Self::Request { answer };
        }
        let Some(of) = id.as_u64() else {
            return Self::Other;
        };
        match (message.remove("result"), message.remove("error")) {
            (Some(result), _) => Self::Result { of, result },
            (None, Some(error)) => {
                let said = error.get("message").and_then(Value::as_str);
                let message = said.unwrap_or("it refused and did not say why").to_owned();
                Self::Error { of, message }
            }
            (None, None) => Self::Other,
        }
    }
}

/// The tools of a page.
pub(super) fn listed(page: &Value) -> Vec<ListedTool> {
    let tools = page.get("tools").and_then(Value::as_array);
    let tools = tools.into_iter().flatten();
    tools
        .filter_map(|tool| {
            let text = |key: &str| tool.get(key)?.as_str();
            let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
            Some(ListedTool {
                name: text("name")?.to_owned(),
                description: text("description").unwrap_or_default().to_owned(),
                schema: schema.cloned().unwrap_or_else(|| json!({"type": "object"})),
            })
        })
        .collect()
}

/// The answer in the result of a call.
pub(super) fn answered(result: &Value) -> ToolAnswer {
    let content = result.get("content").and_then(Value::as_array);
    let texts = content.into_iter().flatten().map(|block| {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match (text("text"), text("type")) {
            (Some(text), _) => text.to_owned(),
            (None, kind) => format!("[{}]", kind.unwrap_or("something without a type")),
        }
    });
    let value = result.get("structuredContent").filter(|it| !it.is_null());
    ToolAnswer {
        text: texts.collect::<Vec<_>>().join("\n"),
        value: value.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Incoming, answered, listed};

    #[test]
    fn lines_are_told_apart() {
        let read = |line: &str| Incoming::read(line.as_bytes());
        let result = read(r#"{"jsonrpc":"2.0","id":3,"result":{"a":1}}"#);
        let expected = json!({"a": 1});
        assert_eq!(
            result,
            Incoming::Result {
                of: 3,
                result: expected
            }
        );
        let error = read(r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}"#);
        let message = "no".to_owned();
        assert_eq!(error, Incoming::Error { of: 3, message });
        let ping = read(r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#);
        let answer = json!({"jsonrpc": "2.0", "id": "x", "result": {}});
        assert_eq!(ping, Incoming::Request { answer });
        for other in [
            "",
            "starting…",
            r#"{"method":"notifications/message"}"#,
            r#"{"id":3}"#,
        ] {
            assert_eq!(read(other), Incoming::Other, "{other}");
        }
    }

    #[test]
    fn tools_and_answers_are_read_as_far_as_they_can_be() {
        let page = json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}, {"no": 1}]});
        let tools = listed(&page);
        assert_eq!(tools.len(), 1);
        assert_eq!(
            (tools[0].name.as_str(), tools[0].description.as_str()),
            ("a", "")
        );
        let content = json!([{"type": "text", "text": "x"}, {"type": "image", "data": ""}]);
        let answer = answered(&json!({"content": content, "structuredContent": {"n": 1}}));
        assert_eq!(answer.text, "x\n[image]");
        assert_eq!(answer.value, Some(json!({"n": 1})));
    }
}
