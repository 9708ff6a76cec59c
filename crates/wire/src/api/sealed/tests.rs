//! Sealed summaries in requests and answers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Asked, Closed, Opened, Sealed};
use crate::api::{Accumulator, Decoder, Dialect, LONGEST_BODY, Prefixed, Remake, Request};

/// Opens `good` with two texts and leaves `bad` out; anything else stays.
fn open(sealed: &Sealed<'_>) -> Opened {
    match &*sealed.seal {
        "good" => Opened::Summary(vec!["one".to_owned(), "two".to_owned()]),
        "bad" => Opened::LeftOut("gone".to_owned()),
        _ => Opened::Kept,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "literals need no borrow")]
#[track_caller]
fn check(dialect: Dialect, list: Value, expected: Option<Value>) {
    let key = dialect.list_key();
    let body = json!({"model": "m", key: list, "x": 1}).to_string();
    let request = Request::parse(dialect, body.as_bytes()).unwrap();
    let opened = request.opened(&mut open);
    let opened = opened.map(|body| serde_json::from_slice::<Value>(&body).unwrap());
    assert_eq!(
        opened,
        expected.map(|list| json!({"model": "m", key: list, "x": 1}))
    );
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn a_block_stands_for_everything_before_it() {
    let block = |seal: &str| json!({"type": "compaction", "content": "c", "signature": seal});
    let texts = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    let summary = json!({"role": "user", "content": texts});
    let said = |blocks: Value| json!({"role": "assistant", "content": blocks});
    let hello = json!({"type": "text", "text": "hello"});
    let anthropic = Dialect::Anthropic;
    check(anthropic, json!([user("a")]), None);
    check(anthropic, json!([said(json!([block("theirs")]))]), None);
    check(
        anthropic,
        json!([said(json!([block("good")]))]),
        Some(json!([summary])),
    );
    check(
        anthropic,
        json!([
            user("a"),
            said(json!([hello, block("good"), hello])),
            user("b")
        ]),
        Some(json!([summary, said(json!([hello])), user("b")])),
    );
    check(
        anthropic,
        json!([
            said(json!([block("good"), hello])),
            user("b"),
            said(json!([block("good")]))
        ]),
        Some(json!([summary])),
    );
    let own = json!({"role": "user", "content": [block("good"), hello]});
    let all = json!({"role": "user", "content":
        [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}, hello]});
    check(anthropic, json!([own]), Some(json!([all])));
    let left = json!({"role": "user", "content": [{"type": "text", "text": "gone"}]});
    check(
        anthropic,
        json!([user("a"), said(json!([block("bad"), hello])), user("b")]),
        Some(json!([user("a"), left, said(json!([hello])), user("b")])),
    );
    check(
        anthropic,
        json!([said(json!([hello, block("bad")]))]),
        Some(json!([said(json!([hello]))])),
    );
    let marked = json!({"type": "compaction", "content": "c", "encrypted_content": "good",
        "cache_control": {"type": "ephemeral"}});
    let texts = json!([{"type": "text", "text": "one"},
        {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}]);
    check(
        anthropic,
        json!([said(json!([marked]))]),
        Some(json!([{"role": "user", "content": texts}])),
    );
}

#[test]
fn an_item_leaves_the_messages_of_people() {
    let item = |seal: &str| json!({"type": "compaction", "id": "c", "encrypted_content": seal});
    let summary = json!({"type": "message", "role": "user", "content":
        [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]});
    let call = json!({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "1", "output": "x"});
    let developer = json!({"role": "developer", "content": "d"});
    let responses = Dialect::Responses;
    check(responses, json!([user("a"), item("theirs")]), None);
    check(
        responses,
        json!([
            developer,
            user("a"),
            call,
            result,
            item("good"),
            call,
            result
        ]),
        Some(json!([developer, user("a"), summary, call, result])),
    );
    check(
        responses,
        json!([
            user("a"),
            item("good"),
            call,
            result,
            item("good"),
            user("b")
        ]),
        Some(json!([user("a"), summary, user("b")])),
    );
    let left = json!({"type": "message", "role": "user", "content":
        [{"type": "input_text", "text": "gone"}]});
    check(
        responses,
        json!([user("a"), item("bad"), call, result]),
        Some(json!([user("a"), left, call, result])),
    );
    check(
        responses,
        json!([{"type": "compaction_summary", "encrypted_content": "good"}]),
        Some(json!([summary])),
    );
}

#[test]
fn thresholds_are_taken_out_and_other_edits_stay() {
    let check = |dialect: Dialect, field: Value, left: Option<Value>| {
        let body = json!({dialect.list_key(): [], "context_management": field}).to_string();
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        let without = request.without_threshold();
        let without = without.map(|body| serde_json::from_slice::<Value>(&body).unwrap());
        assert_eq!(
            without.map(|body| body.get("context_management").cloned().unwrap_or_default()),
            left,
            "{field}"
        );
    };
    let clear = json!({"type": "clear_tool_uses_20250919"});
    let compact = json!({"type": "compact_20260112"});
    let anthropic = Dialect::Anthropic;
    check(
        anthropic,
        json!({"edits": [compact, clear]}),
        Some(json!({"edits": [clear]})),
    );
    check(anthropic, json!({"edits": [compact]}), Some(Value::Null));
    check(anthropic, json!({"edits": [clear]}), None);
    let responses = Dialect::Responses;
    check(
        responses,
        json!([{"type": "compaction", "compact_threshold": 9}]),
        Some(Value::Null),
    );
    check(responses, json!("x"), None);
}

const CLOSED: Closed<'_> = Closed {
    text: "the text",
    seal: "the seal",
    asked: Asked::Now,
    kept: &[],
};

fn pieces(dialect: Dialect, body: &str) -> Vec<Value> {
    let mut decoder = Decoder::default();
    decoder.push(body.as_bytes());
    let mut accumulator = Accumulator::new(dialect);
    while let Some(event) = decoder.next_event() {
        accumulator.accept(&event.unwrap()).unwrap();
    }
    assert!(accumulator.is_complete(), "{body}");
    let reply = accumulator.reply();
    let pieces = reply.pieces.iter();
    pieces.map(|it| serde_json::from_str(it).unwrap()).collect()
}

#[test]
fn an_answer_says_the_same_whole_and_as_a_stream() {
    for (dialect, asked) in [
        (Dialect::Anthropic, Asked::Now),
        (Dialect::Anthropic, Asked::FromSize),
        (Dialect::Responses, Asked::Now),
    ] {
        let closed = Closed { asked, ..CLOSED };
        let body = |streams: bool| {
            let list = dialect.list_key();
            let body = json!({"model": "m", list: [user("a")], "stream": streams}).to_string();
            let request = Request::parse(dialect, body.as_bytes()).unwrap();
            let now = Timestamp::UNIX_EPOCH;
            let piece = request.sealed_piece(&closed, now).unwrap();
            (request.synthetic_summary(&closed, now).unwrap().body, piece)
        };
        let (whole, _) = body(false);
        let (stream, piece) = body(true);
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let content = whole.get("content").or_else(|| whole.get("output"));
        let streamed = pieces(dialect, &stream);
        assert_eq!(streamed, [serde_json::from_str::<Value>(&piece).unwrap()]);
        let told = content.unwrap()[0].to_string();
        assert!(told.contains("the seal"), "{told}");
        if dialect == Dialect::Anthropic {
            assert_eq!(whole["stop_reason"], "compaction");
            assert_eq!(whole["usage"]["iterations"][0]["type"], "compaction");
        }
    }
}

#[test]
fn a_path_answers_with_the_messages_of_the_user() {
    let body = r#"{"model":"m","input":"hi"}"#;
    let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
    let kept = ["\"hi\"", r#"{"role":"user","content":"a","id":"own"}"#];
    let closed = Closed {
        asked: Asked::ByPath,
        kept: &kept,
        ..CLOSED
    };
    let reply = request.synthetic_summary(&closed, Timestamp::UNIX_EPOCH);
    let reply = reply.unwrap();
    assert_eq!(reply.content_type, "application/json");
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(body["object"], "response.compaction");
    let output = body["output"].as_array().unwrap();
    assert_eq!(
        output[0]["content"],
        json!([{"type": "input_text", "text": "hi"}])
    );
    assert_eq!(output[1]["id"], "own");
    assert_eq!(output[2]["encrypted_content"], "the seal");
}

#[test]
fn a_summary_stands_in_front_of_an_answer() {
    for dialect in [Dialect::Anthropic, Dialect::Responses] {
        let list = dialect.list_key();
        let say = |streams: bool| {
            let body = json!({"model": "m", list: [user("a")], "stream": streams}).to_string();
            let request = Request::parse(dialect, body.as_bytes()).unwrap();
            let now = Timestamp::UNIX_EPOCH;
            let closed = Closed {
                asked: Asked::FromSize,
                ..CLOSED
            };
            let piece = request.sealed_piece(&closed, now).unwrap();
            let mut prefixed = Prefixed::new(dialect, &piece, streams).unwrap();
            let mut out = Vec::new();
            // In pieces that are cut anywhere.
            for piece in request
                .synthetic_reply("hello", now)
                .body
                .as_bytes()
                .chunks(7)
            {
                out.extend(prefixed.piece(piece));
            }
            out.extend(prefixed.end());
            String::from_utf8(out).unwrap()
        };
        let streamed = pieces(dialect, &say(true));
        let whole: Value = serde_json::from_str(&say(false)).unwrap();
        let content = whole.get("content").or_else(|| whole.get("output"));
        // Ids cover the request, which says how it is answered.
        let without_ids = |pieces: &[Value]| -> Vec<Value> {
            let mut pieces = pieces.to_vec();
            for piece in pieces.iter_mut().filter_map(Value::as_object_mut) {
                piece.shift_remove("id");
            }
            pieces
        };
        let whole = content.unwrap().as_array().unwrap();
        assert_eq!(without_ids(whole), without_ids(&streamed));
        assert_eq!(streamed.len(), 2);
        assert_eq!(streamed[0]["type"], "compaction");
        assert_eq!(streamed[0]["encrypted_content"], "the seal");
    }
    let numbers = {
        let body = r#"{"model":"m","input":"a","stream":true}"#;
        let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let piece = request.sealed_piece(&CLOSED, now).unwrap();
        let mut prefixed = Prefixed::new(Dialect::Responses, &piece, true).unwrap();
        let mut out = prefixed.piece(request.synthetic_reply("hi", now).body.as_bytes());
        out.extend(prefixed.end());
        let mut decoder = Decoder::default();
        decoder.push(&out);
        let mut numbers = Vec::new();
        while let Some(event) = decoder.next_event() {
            let data: Value = serde_json::from_str(&event.unwrap().data).unwrap();
            numbers.push(data["sequence_number"].as_u64().unwrap());
        }
        numbers
    };
    let count = numbers.len() as u64;
    assert_eq!(numbers, (0..count).collect::<Vec<u64>>());
}

#[test]
fn a_body_that_is_too_long_goes_on_as_it_is() {
    let block = r#"{"type": "compaction", "content": "c", "signature": "s"}"#;
    let mut prefixed = Prefixed::new(Dialect::Anthropic, block, false).unwrap();
    let half = vec![b' '; LONGEST_BODY / 2 + 1];
    assert!(prefixed.piece(&half).is_empty());
    assert_eq!(prefixed.piece(&half).len(), 2 * half.len());
    assert_eq!(prefixed.piece(b"{}"), b"{}");
    assert!(prefixed.end().is_empty());
}
