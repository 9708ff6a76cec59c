//! Requests and answers over Chat Completions.

use serde_json::{Value, json};

use super::Bridge;
use crate::api::{
    Accumulator, Decoder, Dialect, LONGEST_BODY, LONGEST_STREAM, Reply, Request, Response, Stop,
};

fn bridge(request: &Value) -> (Value, Bridge) {
    let bridge = Bridge::new(request.to_string().as_bytes(), 7).unwrap();
    let body = serde_json::from_slice(bridge.body()).unwrap();
    assert!(Request::parse(Dialect::Chat, bridge.body()).is_ok());
    (body, bridge)
}

/// Checks the messages of a request.
#[expect(clippy::needless_pass_by_value, reason = "literals need no borrow")]
#[track_caller]
fn check(request: Value, messages: Value) {
    let (body, _) = bridge(&request);
    assert_eq!(body["messages"], messages);
}

#[test]
fn items_become_messages() {
    let said = |text: &str| {
        json!({"type": "message", "role": "assistant", "content":
            [{"type": "output_text", "text": text, "annotations": []}]})
    };
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"});
    let result = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let called = |ids: &[&str]| -> Vec<Value> {
        ids.iter()
            .map(|id| {
                json!({"id": id, "type": "function",
                    "function": {"name": "read", "arguments": "{}"}})
            })
            .collect()
    };
    let tool = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    let user = json!({"role": "user", "content": "hi"});
    check(json!({"input": "hi"}), json!([user]));
    check(
        json!({"instructions": "be brief", "input": [
            {"role": "developer", "content": "no files"}, user,
            {"role": "developer", "content": [{"type": "input_text", "text": "later"}]},
        ]}),
        json!([
            {"role": "system", "content": "be brief\n\nno files"},
            {"role": "user", "content": "hi\n\nlater"},
        ]),
    );
    let reasoning = json!({"type": "reasoning", "summary": [], "encrypted_content": "x"});
    check(
        json!({"input": [user, reasoning, said("I look."), call("1"), call("2"),
            result("1"), result("2"), said("Done."), user]}),
        json!([user,
            {"role": "assistant", "content": "I look.", "tool_calls": called(&["1", "2"])},
            tool("1"), tool("2"), {"role": "assistant", "content": "Done."}, user]),
    );
    check(
        json!({"input": [user, call("1"), result("1"), call("2"), result("2")]}),
        json!([user,
            {"role": "assistant", "content": null, "tool_calls": called(&["1"])}, tool("1"),
            {"role": "assistant", "content": null, "tool_calls": called(&["2"])}, tool("2")]),
    );
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AA"});
    let shown = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
    check(
        json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "see"}, image]},
            call("1"), {"type": "function_call_output", "call_id": "1",
                "output": [{"type": "input_text", "text": "x"}, image]}]}),
        json!([{"role": "user", "content": [{"type": "text", "text": "see"}, shown]},
            {"role": "assistant", "content": null, "tool_calls": called(&["1"])},
            tool("1"), {"role": "user", "content": [shown]}]),
    );
}

#[test]
fn tools_and_fields_are_translated() {
    let (body, _) = bridge(&json!({
        "model": "m", "input": "hi", "stream": true, "store": false, "include": ["x"],
        "max_output_tokens": 9, "parallel_tool_calls": true, "tool_choice": "auto",
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}},
        "tools": [
            {"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": false},
            {"type": "custom", "name": "patch", "description": "Patches.",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
            {"type": "namespace", "name": "mcp", "tools": [{"type": "function", "name": "find"}]},
            {"type": "web_search"},
        ],
    }));
    assert_eq!(body["max_completion_tokens"], 9);
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!(body["reasoning_effort"], "low");
    assert_eq!(body["response_format"]["json_schema"]["name"], "n");
    assert!(body.get("store").is_none() && body.get("include").is_none());
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["read", "patch", "mcp__find"]);
    let told = body["tools"][1]["function"]["description"]
        .as_str()
        .unwrap();
    assert!(told.contains("start: x"));
    let (body, _) = bridge(&json!({"input": "hi", "tools": [{"type": "web_search"}],
        "tool_choice": "auto", "parallel_tool_calls": true}));
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none());
    assert!(Bridge::new(b"[]", 0).is_err());
}

fn tools() -> Value {
    json!({"model": "m", "input": "hi", "tools": [
        {"type": "function", "name": "read"}, {"type": "custom", "name": "patch"},
        {"type": "namespace", "name": "mcp", "tools": [{"type": "function", "name": "find"}]}]})
}

/// The reply that a client reads, from a body that comes cut into pieces.
fn read(streams: bool, body: &str) -> (Reply, String) {
    let (_, bridge) = bridge(&tools());
    let mut answer = bridge.answer(streams);
    let mut out = Vec::new();
    for piece in body.as_bytes().chunks(11) {
        out.extend(answer.piece(piece));
    }
    out.extend(answer.end());
    let text = String::from_utf8(out.clone()).unwrap();
    if !streams {
        let response = Response::parse(Dialect::Responses, &out).unwrap();
        return (response.reply(), text);
    }
    let mut decoder = Decoder::default();
    decoder.push(&out);
    let mut accumulator = Accumulator::new(Dialect::Responses);
    while let Some(event) = decoder.next_event() {
        accumulator.accept(&event.unwrap()).unwrap();
    }
    (accumulator.reply(), text)
}

#[expect(clippy::needless_pass_by_value, reason = "literals need no borrow")]
fn chunk(delta: Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
}

#[test]
fn an_answer_comes_back_whole_and_as_a_stream() {
    let call = |index: u64, id: &str, name: &str, arguments: &str| {
        json!({"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": arguments}})
    };
    let calls = [
        call(0, "c1", "read", r#"{"path":"x"}"#),
        call(1, "c2", "patch", r#"{"input":"a\nb"}"#),
        call(2, "c3", "mcp__find", "{}"),
    ];
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 2}});
    let message = json!({"role": "assistant", "content": "I look.", "tool_calls": calls});
    let whole = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": usage});
    let mut stream = chunk(json!({"role": "assistant", "content": ""}), None);
    stream += &chunk(json!({"content": "I "}), None);
    stream += &chunk(json!({"content": "look."}), None);
    for call in &calls {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        let (first, second) = arguments.split_at(2);
        let mut opened = call.clone();
        opened["function"]["arguments"] = json!(first);
        stream += &chunk(json!({"tool_calls": [opened]}), None);
        let more = json!({"index": call["index"], "function": {"arguments": second}});
        stream += &chunk(json!({"tool_calls": [more]}), None);
    }
    stream += &chunk(json!({}), Some("tool_calls"));
    stream += &format!("data: {}\n\n", json!({"choices": [], "usage": usage}));
    stream += "data: [DONE]\n\n";
    let (one, _) = read(false, &whole.to_string());
    let (other, text) = read(true, &stream);
    let values = |reply: &Reply| -> Vec<Value> {
        let pieces = reply.pieces.iter();
        pieces.map(|it| serde_json::from_str(it).unwrap()).collect()
    };
    assert_eq!(values(&one), values(&other));
    assert_eq!(
        (one.stop, one.usage),
        (other.stop.clone(), other.usage.clone())
    );
    assert_eq!(other.stop, Some(Stop::ToolUse));
    assert_eq!(other.usage.billed().all_input().get(), 5);
    let pieces = values(&other);
    assert_eq!(pieces[0]["content"][0]["text"], "I look.");
    assert_eq!(pieces[1]["arguments"], r#"{"path":"x"}"#);
    assert_eq!(
        (&pieces[2]["type"], &pieces[2]["input"]),
        (&json!("custom_tool_call"), &json!("a\nb"))
    );
    assert_eq!(
        (&pieces[3]["name"], &pieces[3]["namespace"]),
        (&json!("find"), &json!("mcp"))
    );
    for name in [
        "response.created",
        "response.content_part.added",
        "response.output_text.delta",
        "response.function_call_arguments.done",
        "response.custom_tool_call_input.done",
        "response.completed",
    ] {
        assert!(text.contains(&format!("event: {name}\n")), "{name}");
    }
}

#[test]
fn what_goes_wrong_is_told() {
    let length = chunk(json!({"content": "half"}), Some("length"));
    assert_eq!(read(true, &length).0.stop, Some(Stop::MaxTokens));
    let cut = chunk(json!({"content": "half"}), None);
    assert!(!read(true, &cut).1.contains("response.completed"));
    let error = json!({"error": {"message": "no", "code": "overloaded"}});
    let (reply, text) = read(true, &format!("data: {error}\n\n"));
    assert!(text.contains("response.failed"));
    assert_eq!(reply.failure.unwrap().code.as_deref(), Some("overloaded"));
    // A body that is no completion stays as it is.
    let body = r#"{"error":{"message":"no"}}"#;
    assert_eq!(read(false, body).1, body);
}

/// Gives an answer this piece again and again until it has failed, and returns its last events and the bytes
/// that it took.
fn overflown(piece: &str) -> (String, usize) {
    let mut answer = bridge(&tools()).1.answer(true);
    let mut taken = 0;
    loop {
        taken += piece.len();
        assert!(taken <= LONGEST_STREAM + piece.len(), "it goes on");
        let out = String::from_utf8(answer.piece(piece.as_bytes())).unwrap();
        if out.contains("response.failed") {
            let more = answer.piece(piece.as_bytes());
            assert!(more.is_empty() && answer.end().is_empty());
            return (out, taken);
        }
    }
}

#[test]
fn a_stream_without_end_fails() {
    let text = "x".repeat(1 << 20);
    let call = json!({"index": 0, "function": {"name": "read", "arguments": text}});
    for delta in [
        json!({"content": text}),
        json!({"tool_calls": [call]}),
        // Nothing is said.
        json!({"reasoning_content": text}),
    ] {
        let (failed, _) = overflown(&chunk(delta, None));
        assert!(failed.len() < 2_000, "{}", failed.len());
        assert!(failed.contains("the answer has more than 67108864 bytes"));
    }
    // Calls of which each is small.
    let calls: Vec<Value> = (0..1_000)
        .map(|index| json!({"index": index, "id": index.to_string()}))
        .collect();
    let (failed, taken) = overflown(&chunk(json!({"tool_calls": calls}), None));
    assert!(failed.len() < 2_000, "{}", failed.len());
    assert!(taken < LONGEST_STREAM / 8, "{taken}");
}

#[test]
fn a_body_without_end_fails() {
    let mut answer = bridge(&tools()).1.answer(false);
    let piece = vec![b'x'; LONGEST_BODY / 2 + 1];
    for _ in 0..3 {
        assert!(answer.piece(&piece).is_empty());
    }
    let body = answer.end();
    let response = Response::parse(Dialect::Responses, &body).unwrap();
    let failure = response.reply().failure.unwrap();
    assert_eq!(
        failure.message,
        "the answer has more than 16777216 bytes".into()
    );
}
