//! Streamed answers, put together again.

use crate::api::tests::line;
use crate::api::{Accumulator, Decoder, Dialect, Reply, Response, Stop};

fn accumulate(dialect: Dialect, events: &[&str]) -> (Reply, bool) {
    let mut stream = String::new();
    for event in events {
        let name = serde_json::from_str::<serde_json::Value>(event)
            .ok()
            .and_then(|event| event["type"].as_str().map(str::to_owned));
        if let Some(name) = name {
            stream.push_str(&format!("event: {name}\n"));
        }
        stream.push_str(&format!("data: {event}\n\n"));
    }
    let mut decoder = Decoder::default();
    let mut accumulator = Accumulator::new(dialect);
    for chunk in stream.as_bytes().chunks(7) {
        decoder.push(chunk);
        while let Some(event) = decoder.next_event() {
            accumulator.accept(&event.unwrap()).unwrap();
        }
    }
    (accumulator.reply(), accumulator.is_complete())
}

/// Checks that the events amount to what the body says, but for the spelling of the pieces.
fn check(dialect: Dialect, events: &[&str], body: &str) -> Reply {
    let (mut streamed, complete) = accumulate(dialect, events);
    let whole = Response::parse(dialect, body.as_bytes()).unwrap().reply();
    assert!(complete);
    assert_eq!(line(&streamed.draft()), line(&whole.draft()));
    let value = |json: &String| serde_json::from_str::<serde_json::Value>(json).unwrap();
    let pieces = |reply: &Reply| reply.pieces.iter().map(value).collect::<Vec<_>>();
    assert_eq!(pieces(&streamed), pieces(&whole));
    streamed.pieces.clone_from(&whole.pieces);
    assert_eq!(streamed, whole, "{streamed:?}\n{whole:?}");
    whole
}

#[test]
fn anthropic() {
    let reply = check(
        Dialect::Anthropic,
        &[
            r#"{"type":"message_start","message":{"id":"msg_1","model":"m","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm "}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"so"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a\""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"n":1}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"brand_new_delta","x":1}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{},"caller":{"type":"direct"}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"p\":"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1.0}"}}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"w","input":{"q":1}}}"#,
            r#"{"type":"brand_new_event"}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":null,"output_tokens":40,"output_tokens_details":{"thinking_tokens":9}}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[
            {"type":"thinking","thinking":"hm so","signature":"sig"},
            {"type":"text","text":"a\"","citations":[{"n":1}]},
            {"type":"tool_use","id":"t1","name":"f","input":{"p":1.0},"caller":{"type":"direct"}},
            {"type":"server_tool_use","id":"s","name":"w","input":{"q":1}}],
            "usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":40,"output_tokens_details":{"thinking_tokens":9}}}"#,
    );
    assert_eq!(reply.stop, Some(Stop::ToolUse));
    assert!(
        reply
            .message()
            .starts_with(r#"{"role":"assistant","content":[{"type":"thinking""#)
    );
}

#[test]
fn anthropic_compactions_of_both_kinds() {
    let usage = r#""usage":{"input_tokens":0,"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":144,"output_tokens":276}]}"#;
    let block = r#"{"type":"compaction","content":"sum\u006d","signature":"EuYB","encrypted_content":null}"#;
    let start = format!(r#"{{"type":"message_start","message":{{"id":"a",{usage}}}}}"#);
    let whole = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"compaction"}}"#;
    let end = r#"{"type":"message_stop"}"#;
    let body = format!(r#"{{"id":"a","content":[{block}],"stop_reason":"compaction",{usage}}}"#);
    let reply = check(Dialect::Anthropic, &[&start, &whole, stop, end], &body);
    assert_eq!(reply.stop, Some(Stop::Compaction));
    assert_eq!(reply.compaction(), Some(block));
    let (streamed, _) = accumulate(Dialect::Anthropic, &[&start, &whole, stop, end]);
    assert_eq!(streamed.compaction(), Some(block));

    check(
        Dialect::Anthropic,
        &[
            &start,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"s","encrypted_content":"e"}}"#,
            stop,
            end,
        ],
        &format!(
            r#"{{"id":"a","content":[{{"type":"compaction","content":"s","encrypted_content":"e"}}],"stop_reason":"compaction",{usage}}}"#
        ),
    );
}

#[test]
fn a_stream_that_is_cut_is_what_had_come() {
    let events = [
        r#"{"type":"message_start","message":{"id":"msg_1"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"p\":\"ha"}}"#,
    ];
    let (reply, complete) = accumulate(Dialect::Anthropic, &events);
    assert!(!complete);
    assert_eq!(reply.stop, None);
    assert_eq!(
        line(&reply.draft()),
        r#"assistant | text a | call t f {"p":"ha"#
    );
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let (reply, complete) = accumulate(Dialect::Anthropic, &[events[0], error]);
    assert!(complete);
    assert_eq!(reply.failure.unwrap().kind, "overloaded_error");
}

#[test]
fn chat() {
    let reply = check(
        Dialect::Chat,
        &[
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null},"finish_reason":null}],"usage":null}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"h"}},{"index":1,"delta":{"content":"other"}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"m","content":"a"}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"content":"b"}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"y","type":"function","function":{"name":"g","arguments":"{}"}},{"index":0,"function":{"arguments":"{\"a\""}}]}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":":1}"}}]}}]}"#,
            r#"{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8}}}"#,
            "[DONE]",
        ],
        r#"{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{
            "role":"assistant","content":"ab","refusal":null,"reasoning_content":"hm","tool_calls":[
            {"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
            {"id":"y","type":"function","function":{"name":"g","arguments":"{}"}}]}}],
            "usage":{"prompt_tokens":10,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8}}}"#,
    );
    assert_eq!(reply.usage.counts.input, context::Tokens::new(2));
}

#[test]
fn chat_calls_without_numbers_and_legacy_calls() {
    let (reply, _) = accumulate(
        Dialect::Chat,
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"1"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"2"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"y","custom":{"name":"g","input":"3"}}]}}]}"#,
            r#"{"choices":[{"delta":{"function_call":{"name":"h","arguments":"{"}}}]}"#,
            r#"{"choices":[{"delta":{"function_call":{"arguments":"}"}}}]}"#,
        ],
    );
    assert_eq!(
        line(&reply.draft()),
        "assistant | call x f 12 | call y g 3 | call h h {}"
    );
}

const ITEMS: &str = r#"[{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"s"}]},
    {"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"ab"}]},
    {"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}"}]"#;

#[test]
fn responses_take_the_last_event() {
    let response = format!(
        r#"{{"id":"resp_1","object":"response","status":"completed","error":null,"model":"m","output":{},"usage":{{"input_tokens":9,"output_tokens":3}}}}"#,
        ITEMS.replace('\n', " ")
    );
    let completed = format!(r#"{{"type":"response.completed","response":{response}}}"#);
    let reply = check(
        Dialect::Responses,
        &[
            r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"ab"}"#,
            &completed,
        ],
        &response,
    );
    assert_eq!(reply.stop, Some(Stop::ToolUse));
}

#[test]
fn responses_without_output_in_the_last_event_and_cut_ones() {
    let mut events = vec![
        r#"{"type":"response.created","response":{"id":"resp_1","model":"m"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"s"}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"m1","role":"assistant","content":[]}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"a"}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"b"}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}"#,
    ];
    let expected = "assistant | thinking s | text ab | call c f {}";
    let (reply, complete) = accumulate(Dialect::Responses, &events);
    assert_eq!((line(&reply.draft()).as_str(), complete), (expected, false));
    assert_eq!(reply.id.as_deref(), Some("resp_1"));
    events.push(r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}"}}"#);
    events.push(r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}"#);
    let (reply, complete) = accumulate(Dialect::Responses, &events);
    assert_eq!((line(&reply.draft()).as_str(), complete), (expected, true));
    assert_eq!(reply.stop, Some(Stop::ToolUse));
}

#[test]
fn an_event_that_is_no_json_is_an_error_and_the_next_one_is_taken() {
    let mut accumulator = Accumulator::new(Dialect::Anthropic);
    let error = accumulator
        .accept(&crate::api::Event::new("ping", "{"))
        .unwrap_err();
    assert_eq!(context::coded::Coded::code(&error).as_str(), "E0119");
    let stop = crate::api::Event::new("message_stop", r#"{"type":"message_stop"}"#);
    accumulator.accept(&stop).unwrap();
    assert!(accumulator.is_complete());
}
