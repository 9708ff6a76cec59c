//! Chat Completions.

use crate::client::{Client, same_as_a_stream};
use serde_json::{Value, json};
use wire::api::Dialect;

const PATH: &str = "/v1/chat/completions";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn tells(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "done"})
}

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}])
}

#[test]
fn messages() {
    let mut client = Client::new();
    let mut check = |messages: Value, code: &str, text: &str| {
        client.refused(PATH, &json!({ "messages": messages }), code, text);
    };
    check(json!([]), "empty_array", "empty array");
    check(
        json!([{"role": "judge", "content": "x"}]),
        "invalid_value",
        "messages[0].role",
    );
    check(json!([{"role": "user", "content": null}]), "", "got null");
    check(
        json!([user("a"), tells("1")]),
        "",
        "must be a response to a preceeding message",
    );
    check(
        json!([user("a"), calls(&["1"])]),
        "",
        "did not have response messages: 1",
    );
    check(
        json!([user("a"), calls(&["1", "2"]), tells("1"), user("b")]),
        "",
        "messages: 2",
    );
    check(
        json!([user("a"), calls(&["1"]), tells("2")]),
        "",
        "'2' not found",
    );
    let fine = json!({"messages": [user("a"), calls(&["1", "2"]), tells("2"), tells("1")]});
    client.answered(PATH, &fine);
}

#[test]
fn parameters_and_the_window() {
    let mut client = Client::new();
    let messages = json!([user("a")]);
    let mut check = |more: Value, code: &str, text: &str| {
        let mut body = more;
        body["messages"] = messages.clone();
        client.refused(PATH, &body, code, text);
    };
    check(
        json!({"stream_options": {}}),
        "",
        "only allowed when 'stream' is enabled",
    );
    check(
        json!({"tool_choice": "auto"}),
        "",
        "only allowed when 'tools'",
    );
    check(
        json!({"prompt_cache_options": {"ttl": "1h"}}),
        "invalid_value",
        "ttl",
    );
    client.provider.config_mut().window = Some(context::Tokens::new(30));
    let long = json!({"messages": [user(&"word ".repeat(50))]});
    client.refused(
        PATH,
        &long,
        "context_length_exceeded",
        "maximum context length is 30 tokens",
    );
    let mut unknown = json!({"messages": [user("a")], "model": "claude-opus-5"});
    assert_eq!(client.send(PATH, &unknown).status, 404);
    unknown["model"] = json!(null);
    client.refused(PATH, &unknown, "", "model");
}

#[test]
fn streams_add_up() {
    let text = format!(
        "@sim say {}\n@sim call read {{\"path\":\"x\"}}",
        "wörd ".repeat(40)
    );
    same_as_a_stream(
        Dialect::Chat,
        PATH,
        &json!({"messages": [user(&text)], "tools": tools()}),
    );
    same_as_a_stream(Dialect::Chat, PATH, &json!({"messages": [user("hi")]}));
}

#[test]
fn prefixes_are_cached_by_themselves() {
    let mut client = Client::new();
    let long = "some words ".repeat(1_000);
    let mut body = json!({"messages": [user(&long)]});
    let details = |answer: &Value| answer["usage"]["prompt_tokens_details"].clone();
    let first = client.answered(PATH, &body);
    assert_eq!(details(&first)["cached_tokens"], 0);
    let written = details(&first)["cache_write_tokens"].as_u64().unwrap();
    assert_eq!(written % 128, 0);
    body["messages"] = json!([user(&long), {"role": "assistant", "content": "b"}, user("c")]);
    body["prompt_cache_options"] = json!({"comparison_response_id": first["id"]});
    let next = client.answered(PATH, &body);
    assert_eq!(details(&next)["cached_tokens"].as_u64(), Some(written));
    assert_eq!(next["prompt_cache_diagnostics"]["type"], "cache_hit");
    body["prompt_cache_key"] = json!("k");
    let other = client.answered(PATH, &body);
    assert_eq!(details(&other)["cached_tokens"], 0);
    assert_eq!(
        other["prompt_cache_diagnostics"]["reason"],
        "prompt_cache_key_changed"
    );
}
