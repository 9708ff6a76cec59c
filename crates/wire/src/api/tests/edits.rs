//! Single messages with parts of them changed.

use crate::api::{Dialect, MessageEdit, Piece, Request};

fn check(
    dialect: Dialect,
    message: &str,
    edit: impl for<'r> Fn(MessageEdit<'r>) -> MessageEdit<'r>,
    expected: Option<&str>,
) {
    let key = dialect.list_key();
    let body = format!(r#"{{"{key}":[{message}]}}"#);
    let request = Request::parse(dialect, body.as_bytes()).unwrap();
    let first = request.message(0).unwrap();
    assert_eq!(edit(first.edit()).render().as_deref(), expected);
    if let Some(expected) = expected.filter(|text| !text.is_empty()) {
        let body = format!(r#"{{"{key}":[{expected}]}}"#);
        assert_eq!(
            Request::parse(dialect, body.as_bytes()).map(|it| it.len()),
            Ok(1)
        );
    }
}

#[test]
fn without_a_change_a_message_keeps_its_bytes() {
    let message = r#"{ "role":"user" ,"content" : "a\u0041"}"#;
    check(Dialect::Anthropic, message, |edit| edit, Some(message));
    check(
        Dialect::Anthropic,
        message,
        |edit| edit.without_thinking().with_results_cleared("x"),
        Some(message),
    );
}

#[test]
fn a_block_is_added_at_the_end_of_the_content() {
    let add = |dialect, message: &str, expected: Option<&str>| {
        check(dialect, message, |edit| edit.with_block("{}"), expected);
    };
    let text = r#"{"content":"a","role":"user"}"#;
    add(
        Dialect::Anthropic,
        text,
        Some(r#"{"content":[{"type":"text","text":"a"},{}],"role":"user"}"#),
    );
    add(
        Dialect::Responses,
        text,
        Some(r#"{"content":[{"type":"input_text","text":"a"},{}],"role":"user"}"#),
    );
    add(
        Dialect::Anthropic,
        r#"{"content":[1 ]}"#,
        Some(r#"{"content":[1 ,{}]}"#),
    );
    add(
        Dialect::Anthropic,
        r#"{"content":[ ]}"#,
        Some(r#"{"content":[ {}]}"#),
    );
    add(Dialect::Anthropic, "{}", None);
    add(
        Dialect::Responses,
        r#"{"type":"function_call_output","output":"x"}"#,
        None,
    );
}

#[test]
fn thinking_is_taken_out_whole_and_only_where_it_is_bound() {
    let strip = |message: &str, expected: &str| {
        check(
            Dialect::Anthropic,
            message,
            |edit| edit.without_thinking(),
            Some(expected),
        );
    };
    let thinking = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"d"}"#;
    let text = r#"{"type":"text","text":"thinking"}"#;
    strip(
        &format!(r#"{{"role":"assistant","content":[ {thinking} , {redacted},{text} ]}}"#),
        &format!(r#"{{"role":"assistant","content":[ {text} ]}}"#),
    );
    strip(
        &format!(r#"{{"role":"assistant","content":[{text}, {thinking},{text} , {redacted} ]}}"#),
        &format!(r#"{{"role":"assistant","content":[{text},{text} ]}}"#),
    );
    strip(
        &format!(r#"{{"role":"assistant","content":[{thinking}]}}"#),
        "",
    );
    strip(
        r#"{"role":"assistant","content":"thinking"}"#,
        r#"{"role":"assistant","content":"thinking"}"#,
    );
    let reasoning = r#"{"type":"reasoning","summary":[]}"#;
    check(
        Dialect::Responses,
        reasoning,
        |edit| edit.without_thinking(),
        Some(reasoning),
    );
    check(
        Dialect::Anthropic,
        &format!(r#"{{"role":"assistant","content":[{thinking}]}}"#),
        |edit| edit.without_thinking().with_block("1"),
        Some(r#"{"role":"assistant","content":[1]}"#),
    );
}

#[test]
fn the_text_of_one_result_is_replaced() {
    let results = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"long \"1\"","cache_control":{}},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"x"},{"type":"image","source":{}},{"type":"text","text":"y","cache_control":{}}]},{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"go on"}]}"#;
    check(
        Dialect::Anthropic,
        results,
        |edit| {
            edit.with_result_text(0, "replaced")
                .with_result_text(0, "short\n")
                .with_result_text(1, "z")
                .with_block("7")
        },
        Some(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"short\n","cache_control":{}},{"type":"tool_result","tool_use_id":"b","content":[{"type":"image","source":{}},{"type":"text","text":"z","cache_control":{}}]},{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"go on"},7]}"#,
        ),
    );
    check(
        Dialect::Anthropic,
        results,
        |edit| edit.with_result_text(2, "z"),
        None,
    );
    check(
        Dialect::Anthropic,
        results,
        |edit| edit.with_result_text(3, "z"),
        None,
    );
    check(
        Dialect::Chat,
        r#"{"role":"tool","tool_call_id":"a","content":["x","y"]}"#,
        |edit| edit.with_result_text(0, "z"),
        Some(r#"{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"z"}]}"#),
    );
    check(
        Dialect::Chat,
        r#"{"role":"user","content":"x"}"#,
        |edit| edit.with_result_text(0, "z"),
        None,
    );
    check(
        Dialect::Responses,
        r#"{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"},{"type":"input_image"}]}"#,
        |edit| edit.with_result_text(0, "z"),
        Some(
            r#"{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"z"},{"type":"input_image"}]}"#,
        ),
    );
}

#[test]
fn results_are_cleared_where_that_makes_them_shorter() {
    let clear = |dialect, message: &str, expected: &str| {
        check(
            dialect,
            message,
            |edit| edit.with_results_cleared("gone"),
            Some(expected),
        );
    };
    clear(
        Dialect::Anthropic,
        r#"{"role":"user","content":[{"type":"tool_result","content":[{"type":"image","source":{}}],"tool_use_id":"a"},{"type":"tool_result","content":"ok"}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","content":"gone","tool_use_id":"a"},{"type":"tool_result","content":"ok"}]}"#,
    );
    clear(
        Dialect::Chat,
        r#"{"role":"tool","content":"something long"}"#,
        r#"{"role":"tool","content":"gone"}"#,
    );
    clear(
        Dialect::Responses,
        r#"{"type":"custom_tool_call_output","output":"something long"}"#,
        r#"{"type":"custom_tool_call_output","output":"gone"}"#,
    );
}

#[test]
fn a_bare_input_becomes_a_message_when_something_is_added() {
    let body = r#"{"input":"hi"}"#;
    let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
    let message = request.message(0).unwrap();
    assert_eq!(message.edit().render().as_deref(), Some("\"hi\""));
    assert_eq!(
        message.edit().with_block("{}").render().as_deref(),
        Some(r#"{"role":"user","content":[{"type":"input_text","text":"hi"},{}]}"#)
    );
    assert_eq!(message.edit().with_result_text(0, "x").render(), None);
}

#[test]
fn an_empty_piece_is_none() {
    let body = r#"{"messages":[{"a":1}, {"b":2}]}"#;
    let request = Request::parse(Dialect::Chat, body.as_bytes()).unwrap();
    let pieces = vec![
        Piece::Written("".into()),
        Piece::Kept(0..1),
        Piece::Written("".into()),
        Piece::Kept(1..2),
    ];
    assert_eq!(
        request.edit().messages(pieces).render().unwrap(),
        body.as_bytes()
    );
}

#[test]
fn breakpoints_before_a_message_are_left_out_of_the_count() {
    let marked =
        r#"{"role":"user","content":[{"type":"text","text":"x","cache_control":{"ttl":"1h"}}]}"#;
    let body = format!(
        r#"{{"system":[{{"type":"text","text":"s","cache_control":{{}}}}],"messages":[{marked},{marked}]}}"#
    );
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
    assert_eq!(request.breakpoints().len(), 3);
    assert_eq!(request.breakpoints_from(1).len(), 2);
    assert_eq!(request.breakpoints_from(2).len(), 1);
}
