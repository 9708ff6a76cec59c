//! `ebbtide mcp` before a running gateway.

use serde_json::{Value, json};

use crate::listening::Served;
use crate::{program, run};

/// The answers to these messages, in order.
fn answers(served: &Served, messages: &[Value]) -> Vec<Value> {
    let lines: String = messages.iter().map(|it| format!("{it}\n")).collect();
    let ran = run(
        program(&["mcp", "--url", &served.gateway.url()]),
        lines.as_bytes(),
    );
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{}", ran.shown());
    let answers = ran.stdout.lines().map(serde_json::from_str);
    answers.collect::<Result<_, _>>().expect("JSON lines")
}

fn handshake(id: u32, revision: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})
}

#[test]
fn each_request_is_answered_once_and_no_notification_is() {
    let served = Served::start(&[]);
    let came = answers(
        &served,
        &[
            handshake(1, "2025-06-18"),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            // Its version is not served. The gateway refuses it, and that may not be passed on.
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {
                "_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}}),
            json!({"jsonrpc": "2.0", "id": "b", "method": "tools/list"}),
            handshake(3, "2025-11-25"),
        ],
    );
    let ids: Vec<&Value> = came.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("b"), &json!(3)]);
    let agreed = |at: usize| &came[at]["result"]["protocolVersion"];
    assert_eq!(
        (agreed(0), agreed(2)),
        (&json!("2025-06-18"), &json!("2025-11-25"))
    );
    let tools = came[1]["result"]["tools"].as_array().map_or(0, Vec::len);
    assert!(tools > 4, "{}", came[1]);
}

#[test]
fn a_name_in_any_script_reaches_the_gateway() {
    let served = Served::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = |name: &str| {
        let params = json!({"_meta": meta, "name": name, "arguments": {}});
        json!({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})
    };
    let names = ["memory_status", "ged\u{e4}chtnis", " expand", "a\nb"];
    let came = answers(&served, &names.map(call));
    assert_eq!(came.len(), names.len(), "{came:?}");
    assert!(came[0]["result"].is_object(), "{}", came[0]);
    for (answer, name) in came.iter().zip(names).skip(1) {
        assert_eq!(answer["id"], name);
        assert_eq!(answer["error"]["code"], -32_602, "{answer}");
    }
}

#[test]
fn a_name_of_any_length_is_answered_after_a_handshake() {
    let served = Served::start(&[]);
    let long = "\u{e9}".repeat(200_000);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": long}});
    let came = answers(&served, &[handshake(1, "2025-11-25"), call]);
    assert_eq!(came[1]["error"]["code"], -32_602);
}

#[test]
fn what_is_too_long_for_a_header_is_said() {
    let served = Served::start(&[]);
    // Short enough that an answer that quotes it fits into a pipe while the messages are written.
    let long = "x".repeat(9_000);
    let meta = |revision: &str| json!({"io.modelcontextprotocol/protocolVersion": revision});
    let call = |id: u32, revision: &str| {
        let params = json!({"_meta": meta(revision), "name": long});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let method = json!({"jsonrpc": "2.0", "id": 3, "method": long});
    let came = answers(
        &served,
        &[call(1, "2026-07-28"), call(2, "2025-11-25"), method],
    );
    let told = |at: usize| came[at]["error"]["message"].as_str().unwrap_or_default();
    assert!(told(0).contains("longer than 4096 bytes"), "{}", told(0));
    // A revision with a handshake wants no name in a header, so the gateway itself says that there is no such tool.
    assert_eq!(came[1]["error"]["code"], -32_602);
    assert!(!told(1).contains("bytes"), "{}", told(1));
    assert!(told(2).contains("longer than 4096 bytes"), "{}", told(2));
}
