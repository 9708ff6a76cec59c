//! A request and what it gets, rule by rule.

use crate::client::{Client, assistant, call, complete, result, says, tool, user};
use serde_json::{Value, json};

#[track_caller]
fn refused(body: Value, text: &str) {
    Client::with(&[]).refused(body, 400, "", text);
}

#[track_caller]
fn accepted(body: Value) {
    Client::with(&[]).answered(body);
}

fn list(messages: Value) -> Value {
    json!({"messages": messages, "tools": [tool()]})
}

#[test]
fn headers() {
    let mut client = Client::with(&[]);
    client.key = " ";
    let (status, answer) = client.ask(json!({}));
    assert_eq!(status, 401);
    assert_eq!(answer["error"]["type"], "authentication_error");
    client.key = "key";
    for (version, expected) in [("2026-10-21", 200), ("latest", 400), ("2026-13-01", 400)] {
        client.version = version;
        assert_eq!(client.ask(json!({})).0, expected, "{version}");
    }
}

#[test]
fn bodies() {
    let mut client = Client::with(&[]);
    let status = |client: &mut Client, body: &str| client.send("/v1/messages", body).status;
    assert_eq!(status(&mut client, "{"), 400);
    assert_eq!(status(&mut client, "[]"), 400);
    assert_eq!(status(&mut client, &" ".repeat(sim::LONGEST_BODY + 1)), 413);
    let answer = client.send("/v1/nothing", "{}");
    assert_eq!(answer.status, 404);
    let (status, answer) = client.ask(json!({"model": "claudius"}));
    assert_eq!(
        (status, &answer["error"]["type"]),
        (404, &json!("not_found_error"))
    );
}

#[test]
fn parameters() {
    refused(json!({"max_tokens": null}), "max_tokens");
    refused(
        json!({"max_tokens": 1_000_000}),
        "maximum allowed number of output tokens",
    );
    refused(
        json!({"surprise": 1}),
        "surprise: Extra inputs are not permitted",
    );
    refused(json!({"stream": "yes"}), "stream");
    refused(
        json!({"tool_choice": {"type": "auto"}}),
        "while providing tools",
    );
    refused(
        json!({"tools": [tool()], "tool_choice": {"type": "tool", "name": "x"}}),
        "Tool 'x' not found",
    );
    refused(json!({"tools": [tool(), tool()]}), "must be unique");
    refused(
        json!({"tools": [{"name": "a"}]}),
        "input_schema: Field required",
    );
    refused(json!({"thinking": {"type": "enabled"}}), "budget_tokens");
    accepted(json!({"tools": [tool()], "tool_choice": {"type": "none"}}));
    accepted(json!({"max_tokens": 0}));
}

#[test]
fn betas_open_fields() {
    refused(
        json!({"compaction": {"type": "summarize"}}),
        "compaction: Extra inputs",
    );
    refused(
        json!({"context_management": {"edits": []}}),
        "context_management: Extra inputs",
    );
    refused(json!({"diagnostics": {}}), "diagnostics: Extra inputs");
    refused(
        json!({"thread": {"type": "create"}}),
        "thread: Extra inputs",
    );
    refused(
        json!({"thinking": {"type": "adaptive", "block_binding": {}}}),
        "block_binding: Extra inputs",
    );
    let clears = json!({"role": "system", "clear_at": "never", "content": "x"});
    refused(
        json!({"messages": [user("a"), clears]}),
        "clear_at: Extra inputs",
    );
}

#[test]
fn shape() {
    refused(list(json!([])), "at least one message");
    refused(
        list(json!([assistant("a"), user("b")])),
        "first message must use",
    );
    refused(
        list(json!([{"role": "tool", "content": "a"}])),
        "messages.0.role",
    );
    refused(list(json!([user("")])), "non-empty content");
    refused(list(json!([says("user", json!([]))])), "non-empty content");
    refused(
        list(json!([says("user", json!([{"type": "text", "text": ""}]))])),
        "non-empty",
    );
    refused(list(json!([user(" \n")])), "non-whitespace");
    refused(
        list(json!([says("user", json!([{"type": "poem"}]))])),
        "Input tag 'poem'",
    );
    refused(list(json!([user("a"), assistant("b")])), "prefill");
    // Consecutive messages of one role are merged.
    accepted(list(json!([
        user("a"),
        user("b"),
        assistant("c"),
        assistant("d"),
        user("e")
    ])));
}

#[test]
fn tool_calls() {
    let asks = |ids: &[&str]| says("assistant", ids.iter().map(|id| call(id)).collect());
    let tells = |ids: &[&str]| says("user", ids.iter().map(|id| result(id)).collect());
    let check = |messages: Value, text: &str| refused(list(messages), text);
    accepted(list(json!([
        user("a"),
        asks(&["1", "2"]),
        tells(&["1", "2"])
    ])));
    accepted(list(json!([
        user("a"),
        asks(&["1", "2"]),
        tells(&["1"]),
        tells(&["2"])
    ])));
    check(
        json!([user("a"), asks(&["1"])]),
        "without `tool_result` blocks immediately after: 1",
    );
    check(
        json!([user("a"), asks(&["1", "2"]), tells(&["1"])]),
        "after: 2",
    );
    check(
        json!([user("a"), asks(&["1"]), user("b"), tells(&["1"])]),
        "after: 1",
    );
    check(
        json!([user("a"), tells(&["1"])]),
        "unexpected `tool_use_id`",
    );
    check(
        json!([tells(&["1"]), user("a")]),
        "unexpected `tool_use_id`",
    );
    check(
        json!([user("a"), asks(&["1"]), tells(&["1", "1"])]),
        "single result",
    );
    check(
        json!([
            user("a"),
            asks(&["1"]),
            tells(&["1"]),
            asks(&["1"]),
            tells(&["1"])
        ]),
        "ids must be unique",
    );
    let late = json!([{"type": "text", "text": "x"}, result("1")]);
    check(
        json!([user("a"), asks(&["1"]), says("user", late)]),
        "after: 1",
    );
    let note = json!({"role": "system", "content": "now"});
    check(
        json!([user("a"), asks(&["1"]), note, tells(&["1"])]),
        "after: 1",
    );
    accepted(list(json!([user("a"), asks(&["1"]), tells(&["1"]), note])));
    check(
        json!([user("a"), says("user", json!([call("1")]))]),
        "may not be in `user`",
    );
}

#[test]
fn breakpoints() {
    let text = |ttl: Option<&str>| {
        let mut block =
            json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
        if let Some(ttl) = ttl {
            block["cache_control"]["ttl"] = json!(ttl);
        }
        block
    };
    let marked = |ttls: &[Option<&str>]| {
        list(json!([says(
            "user",
            ttls.iter().map(|ttl| text(*ttl)).collect()
        )]))
    };
    accepted(marked(&[None; 4]));
    refused(
        marked(&[None; 5]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    );
    accepted(marked(&[Some("1h"), Some("5m"), None]));
    refused(
        marked(&[None, Some("1h")]),
        "must not come after a ttl='5m'",
    );
    refused(marked(&[Some("2h")]), "ttl: Input should be '5m' or '1h'");
    let automatic = |ttls: &[Option<&str>], ttl: &str, after: bool| {
        let mut body = marked(ttls);
        body["cache_control"] = json!({"type": "ephemeral", "ttl": ttl});
        if after {
            body["messages"].as_array_mut().unwrap().push(user("plain"));
        }
        body
    };
    accepted(automatic(&[None; 3], "5m", true));
    refused(automatic(&[None; 4], "5m", true), "Found 5");
    accepted(automatic(&[None; 4], "5m", false));
    refused(automatic(&[None], "1h", false), "another ttl");
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "", "cache_control": {"type": "ephemeral"}});
    refused(
        list(json!([
            user("a"),
            says("assistant", json!([thinking])),
            user("b")
        ])),
        "thinking.cache_control: Extra inputs",
    );
}

#[test]
fn overflow() {
    let mut client = Client::with(&[]);
    client.provider.config_mut().window = Some(context::Tokens::new(50));
    client.refused(
        json!({"messages": [user(&"word ".repeat(100))]}),
        400,
        "",
        "prompt is too long: ",
    );
    let answer =
        client.answered(json!({"messages": [user(&format!("@sim say {}", "w ".repeat(15)))]}));
    let reasons = ["end_turn", "model_context_window_exceeded"];
    assert!(
        reasons.contains(&answer["stop_reason"].as_str().unwrap()),
        "{answer}"
    );
    let usage = &answer["usage"];
    let all = usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap();
    assert!(all <= 50, "{answer}");
    let short = client
        .answered(json!({"max_tokens": 2, "messages": [user("@sim say one two three four")]}));
    assert_eq!(short["stop_reason"], "max_tokens");
}

#[test]
fn counts_are_what_is_billed() {
    let mut client = Client::with(&[]);
    let body = json!({"system": "Be brief.", "tools": [tool()]});
    let mut counted = complete(&body);
    counted.as_object_mut().unwrap().remove("max_tokens");
    let answer = client.send("/v1/messages/count_tokens", &counted.to_string());
    let count: Value = serde_json::from_str(&answer.text()).unwrap();
    let usage = &client.answered(body)["usage"];
    assert_eq!(count["input_tokens"], usage["input_tokens"]);
    assert!(usage["input_tokens"].as_u64().unwrap() > 10);
}

#[test]
fn editing() {
    let mut client = Client::with(&["context-management-2025-06-27"]);
    let mut messages = vec![user("go")];
    for id in ["1", "2", "3", "4", "5"] {
        messages.push(says("assistant", json!([call(id)])));
        let long =
            json!([{"type": "tool_result", "tool_use_id": id, "content": "word ".repeat(50)}]);
        messages.push(says("user", long));
    }
    let edit = json!({"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 3}, "keep": {"type": "tool_uses", "value": 2}});
    let body =
        json!({"tools": [tool()], "messages": messages, "context_management": {"edits": [edit]}});
    let answer = client.answered(body.clone());
    let applied = &answer["context_management"]["applied_edits"][0];
    assert_eq!(applied["cleared_tool_uses"], 3, "{answer}");
    let counted = client.send("/v1/messages/count_tokens", &complete(&body).to_string());
    let counted: Value = serde_json::from_str(&counted.text()).unwrap();
    let before = counted["context_management"]["original_input_tokens"]
        .as_u64()
        .unwrap();
    let after = counted["input_tokens"].as_u64().unwrap();
    assert_eq!(
        before - after,
        applied["cleared_input_tokens"].as_u64().unwrap()
    );
    let unknown = json!({"context_management": {"edits": [{"type": "fold"}]}});
    client.refused(unknown, 400, "", "context_management.edits.0.type");
}

#[test]
fn cleared_system_messages_cost_nothing() {
    let mut client = Client::with(&["mid-conversation-system-clear-at-2026-08-21"]);
    let note =
        json!({"role": "system", "clear_at": "next_user_message", "content": "word ".repeat(40)});
    let cost = |client: &mut Client, messages: Value| {
        client.answered(json!({"messages": messages}))["usage"]["input_tokens"]
            .as_u64()
            .unwrap()
    };
    let shown = cost(&mut client, json!([user("a"), note]));
    let cleared = cost(
        &mut client,
        json!([user("a"), note, assistant("b"), user("c")]),
    );
    let never = cost(&mut client, json!([user("a"), assistant("b"), user("c")]));
    assert!(shown > 40);
    assert_eq!(cleared, never);
}
