//! A program that serves tools by the Model Context Protocol, for the tests: `repeat`, which says a word
//! several times, on a second page `fail`, which fails, `leave`, at which the program says something on its standard
//! error and ends, `shout`, which answers with more than 16 MiB, and `wait`, which it never answers.
//!
//! It says a line that is no message before it does anything, asks its client something of its own before it
//! answers a call, and writes a file `ended` in its folder when its input has ended.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "starting")?;
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?).map_err(io::Error::other)?;
        let method = message.get("method").and_then(Value::as_str);
        let (Some(method), Some(id)) = (method, message.get("id")) else {
            continue;
        };
        let parameters = message.get("params").cloned().unwrap_or_default();
        if method == "tools/call" {
            writeln!(
                out,
                r#"{{"jsonrpc":"2.0","id":"own","method":"roots/list"}}"#
            )?;
            if parameters.get("name") == Some(&json!("wait")) {
                continue;
            }
            if parameters.get("name") == Some(&json!("leave")) {
                writeln!(io::stderr(), "leaving\n\nthe tide is out")?;
                return Ok(());
            }
        }
        let answer = match answer(method, &parameters) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(text) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": text}})
            }
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    std::fs::write("ended", "")
}

fn answer(method: &str, parameters: &Value) -> Result<Value, String> {
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": parameters.get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        })),
        "tools/list" if parameters.get("cursor").is_none() => Ok(json!({
            "tools": [{
                "name": "repeat",
                "description": "Says a word several times.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"word": {"type": "string"}, "times": {"type": "integer"}},
                    "required": ["word"],
                },
            }],
            "nextCursor": "more",
        })),
        "tools/list" => Ok(json!({
            "tools": [
                {"name": "fail", "inputSchema": {"type": "object"}},
                {"name": "leave", "inputSchema": {"type": "object"}},
                {"name": "shout", "inputSchema": {"type": "object"}},
                {"name": "wait", "inputSchema": {"type": "object"}},
            ],
        })),
        "tools/call" => called(parameters),
        other => Err(format!("there is no {other}")),
    }
}

fn called(parameters: &Value) -> Result<Value, String> {
    let arguments = parameters.get("arguments").cloned().unwrap_or_default();
    match parameters.get("name").and_then(Value::as_str) {
        Some("repeat") => {
            let word = arguments.get("word").and_then(Value::as_str);
            let times = arguments.get("times").and_then(Value::as_u64);
            let said = vec![word.unwrap_or_default(); times.unwrap_or(2) as usize].join(" ");
            Ok(json!({
                "content": [{"type": "text", "text": said}],
                "structuredContent": {"said": said, "words": times.unwrap_or(2)},
            }))
        }
        Some("shout") => {
            let content = json!([{"type": "text", "text": "A".repeat(17 << 20)}]);
            Ok(json!({ "content": content }))
        }
        Some("fail") => {
            let content = json!([{"type": "text", "text": "the disk is full"}]);
            Ok(json!({"content": content, "isError": true}))
        }
        _ => Err("there is no such tool".to_owned()),
    }
}
