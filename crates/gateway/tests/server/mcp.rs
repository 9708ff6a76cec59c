//! Tests of the protocol MCP at `/mcp`: what each revision asks for, and what is refused.

use serde_json::{Value, json};

use crate::harness::{gateway, sim};
use crate::memory::call;

type Headers<'a> = &'a [(&'a str, &'a str)];

const STATELESS: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
const HANDSHAKE: (&str, &str) = ("mcp-protocol-version", "2025-11-25");
const CALL: (&str, &str) = ("mcp-method", "tools/call");

/// Sends a message with these headers beside the usual ones.
async fn message(url: &str, body: &Value, headers: Headers<'_>) -> (u16, Value) {
    let usual = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let all: Vec<_> = usual.iter().chain(headers).copied().collect();
    let came = call("POST /mcp", url, &all, body).await;
    let value = match came.body.is_empty() {
        true => Value::Null,
        false => came.json(),
    };
    (came.status.as_u16(), value)
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params})
}

/// The `_meta` that each request of 2026-07-28 carries.
fn meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}})
}

#[tokio::test]
async fn a_handshake_agrees_on_a_revision() {
    let provider = sim().await;
    let gateway = gateway(&provider.url(), |_| {}).await;
    let url = gateway.url();
    for (wanted, agreed) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let body = request("initialize", &json!({"protocolVersion": wanted}));
        let (status, came) = message(&url, &body, &[]).await;
        assert_eq!((status, &came["id"]), (200, &json!("a")), "{came}");
        assert_eq!(came["result"]["protocolVersion"], agreed);
        assert_eq!(came["result"]["capabilities"], json!({"tools": {}}));
    }
    let none = json!({});
    let (status, came) = message(&url, &request("tools/list", &none), &[HANDSHAKE]).await;
    assert_eq!((status, came["result"].get("resultType")), (200, None));
    assert_eq!(came["result"]["tools"][0]["name"], "recall");
    // Results have their optional fields, as `null`; arguments may leave theirs out.
    let lost = &came["result"]["tools"][5];
    let required = |schema: &str| lost[schema]["required"].as_array().map_or(0, Vec::len);
    assert_eq!(
        (required("inputSchema"), required("outputSchema")),
        (0, 7),
        "{lost}"
    );
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(message(&url, &note, &[HANDSHAKE]).await, (202, Value::Null));
    let (status, came) = message(&url, &request("ping", &none), &[HANDSHAKE]).await;
    assert_eq!((status, &came["result"]), (200, &none));
    let (status, came) = message(&url, &request("prompts/list", &none), &[HANDSHAKE]).await;
    assert_eq!((status, &came["error"]["code"]), (200, &json!(-32601)));
    gateway.shutdown().await;
}

#[tokio::test]
async fn without_a_handshake_each_request_says_what_it_is() {
    let provider = sim().await;
    let gateway = gateway(&provider.url(), |_| {}).await;
    let url = gateway.url();
    let complete = json!("complete");
    for method in ["server/discover", "tools/list"] {
        let body = request(method, &json!({"_meta": meta()}));
        let (status, came) = message(&url, &body, &[STATELESS, ("mcp-method", method)]).await;
        let kind = &came["result"]["resultType"];
        assert_eq!((status, kind), (200, &complete), "{came}");
    }
    let body = request("ping", &json!({"_meta": meta()}));
    let (status, came) = message(&url, &body, &[STATELESS, ("mcp-method", "ping")]).await;
    assert_eq!((status, &came["error"]["code"]), (404, &json!(-32601)));
    let body = request(
        "tools/call",
        &json!({"_meta": meta(), "name": "memory_status"}),
    );
    for name in ["memory_status", "=?base64?bWVtb3J5X3N0YXR1cw==?="] {
        let headers = [STATELESS, CALL, ("mcp-name", name)];
        let (status, came) = message(&url, &body, &headers).await;
        let kind = &came["result"]["resultType"];
        assert_eq!((status, kind), (200, &complete), "{came}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn what_is_no_message_of_mcp_is_refused_with_its_reason() {
    let provider = sim().await;
    let gateway = gateway(&provider.url(), |_| {}).await;
    let url = gateway.url();
    let list = request("tools/list", &json!({"_meta": meta()}));
    let named = request("tools/call", &json!({"_meta": meta(), "name": "lost"}));
    let bare = request("tools/list", &json!({}));
    let mismatched: [(&Value, Headers<'_>); 8] = [
        (&list, &[STATELESS]),
        (&list, &[STATELESS, CALL]),
        (&list, &[("mcp-method", "tools/list")]),
        (&list, &[HANDSHAKE]),
        (&named, &[STATELESS, CALL]),
        (&named, &[STATELESS, CALL, ("mcp-name", "pin")]),
        (&named, &[STATELESS, CALL, ("mcp-name", "=?base64?!?=")]),
        (&named, &[STATELESS, CALL, CALL, ("mcp-name", "lost")]),
    ];
    let of_call = |params| request("tools/call", &params);
    let with_id = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": [1]});
    let others: [(&Value, Headers<'_>, u16, i32); 13] = [
        (&with_id, &[], 400, -32600),
        (&json!({"id": "a", "method": "ping"}), &[], 400, -32600),
        (&request("initialize", &json!({})), &[], 200, -32602),
        (
            &bare,
            &[STATELESS, ("mcp-method", "tools/list")],
            400,
            -32602,
        ),
        (
            &bare,
            &[("mcp-protocol-version", "2099-01-01")],
            400,
            -32022,
        ),
        (&of_call(json!({"name": "nothing"})), &[], 200, -32602),
        (&of_call(json!({"name": 3})), &[], 200, -32602),
        (
            &of_call(json!({"name": "lost", "arguments": []})),
            &[],
            200,
            -32602,
        ),
        (
            &json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            &[],
            400,
            -32600,
        ),
        (
            &json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
            &[],
            400,
            -32600,
        ),
        (&json!({"id": 1, "method": "ping"}), &[], 400, -32600),
        (&json!([bare]), &[], 400, -32600),
        (
            &json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            &[],
            400,
            -32600,
        ),
    ];
    let mismatched = mismatched.map(|(body, headers)| (body, headers, 400, -32020));
    for (body, headers, status, code) in mismatched.into_iter().chain(others) {
        let (came, answer) = message(&url, body, headers).await;
        let found = (came, &answer["error"]["code"]);
        assert_eq!(found, (status, &json!(code)), "{body}: {answer}");
        // The sender of a request with an ID waits for an answer with it.
        let id = body.get("id").filter(|id| id.is_string());
        assert_eq!(answer.get("id").filter(|_| id.is_some()), id, "{answer}");
    }
    let whole = json!({"jsonrpc": "2.0", "id": 1e3, "method": "ping"});
    let (status, answer) = message(&url, &whole, &[]).await;
    assert_eq!((status, &answer["id"]), (200, &json!(1e3)), "{answer}");
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_long_name_is_clipped_in_its_refusal() {
    let provider = sim().await;
    let gateway = gateway(&provider.url(), |_| {}).await;
    let long = "ä".repeat(9_000);
    for body in [
        request("tools/call", &json!({"name": &long})),
        request(&long, &json!({})),
    ] {
        let (_, answer) = message(&gateway.url(), &body, &[]).await;
        let said = answer["error"]["message"].as_str().expect("a message");
        assert!(said.starts_with("there is no "), "{said}");
        assert!(said.ends_with("ä…`") && said.len() < 300, "{said}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn the_media_types_and_the_size_of_a_message_are_checked() {
    let provider = sim().await;
    let gateway = gateway(&provider.url(), |_| {}).await;
    let url = gateway.url();
    let bare = request("tools/list", &json!({}));
    for (kind, accept, status) in [
        ("text/plain", "*/*", 415),
        ("application/json", "text/event-stream", 406),
        (
            "application/json",
            "application/json;q=0, text/event-stream",
            406,
        ),
        ("application/json", "application/json;Q=0, */*", 406),
        (
            "application/json",
            "text/event-stream, application/json",
            200,
        ),
        ("application/json; charset=utf-8", "*/*", 200),
    ] {
        let headers = [("content-type", kind), ("accept", accept)];
        let came = call("POST /mcp", &url, &headers, &bare).await;
        assert_eq!(came.status, status, "{kind} {accept}");
    }
    let long = request("ping", &json!({"x": "y".repeat(1 << 20)}));
    assert_eq!(message(&url, &long, &[]).await.0, 413);
    let came = call("GET /mcp", &url, &[], &Value::Null).await;
    assert_eq!((came.status.as_u16(), came.header("allow")), (405, "POST"));
    gateway.shutdown().await;
}
