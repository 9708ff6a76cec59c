//! Messages of every shape, and the turns that they are.

use super::line;
use crate::api::{Dialect, Request};
use Dialect::{Anthropic, Chat, Responses};

/// Checks the turns of the messages in `list`, which is the content of the list.
fn check(dialect: Dialect, list: &str, expected: &[&str]) {
    // Behind another message, since a chat may begin with instructions.
    let first = r#"{"role":"user","content":"u"}"#;
    let body = format!(r#"{{"{}":[{first},{list}]}}"#, dialect.list_key());
    let request = Request::parse(dialect, body.as_bytes()).unwrap();
    let lines: Vec<String> = request
        .messages()
        .skip(1)
        .map(|message| line(&message.draft()))
        .collect();
    assert_eq!(lines, expected, "{list}");
}

#[test]
fn anthropic_texts_and_tools() {
    let check = |list, expected| check(Anthropic, list, &[expected]);
    check(
        r#"{"role":"user","content":"hi \"you\"\n"}"#,
        "user | text hi \"you\"\n",
    );
    check(
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]}"#,
        "user | text a | text b",
    );
    check(r#"{"content":"x","role":"system"}"#, "system | text x");
    check(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},
           {"type":"tool_use","id":"toolu_1","name":"read","input":{ "path":"x" }}]}"#,
        r#"assistant | thinking t | text a | call toolu_1 read { "path":"x" }"#,
    );
    check(
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}"#,
        "tool | result toolu_1 ok",
    );
    check(
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"a"},
           {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"b"}]},
           {"type":"tool_result","tool_use_id":"u"}]}"#,
        "tool | failed t a\nb | attachment image/png 82 | result u ",
    );
    check(
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"},{"type":"text","text":"and"}]}"#,
        "user | result t r | text and",
    );
}

#[test]
fn anthropic_other_blocks() {
    let check = |list, expected| check(Anthropic, list, &[expected]);
    check(
        r#"{"role":"user","content":[{"type":"image","source":{"type":"url","url":"x"}},{"type":"document","source":{}}]}"#,
        "user | attachment image 50 | attachment document 31",
    );
    check(
        r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"xx"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},
           {"type":"compaction","content":"sum","signature":"q"},{"new":1}]}"#,
        "assistant | opaque redacted_thinking 40 | opaque server_tool_use 66 | opaque compaction 53 | opaque object 9",
    );
    check(r#"{"role":"user","content":[]}"#, "user");
    check(r#"{"role":"user","content":null}"#, "user");
    check(r#"{"role":"user"}"#, "user");
    check(r#"{"role":"user","content":7}"#, "user | opaque number 1");
    check(r#"{"role":"narrator","content":"x"}"#, "other | text x");
    check(r#"{"role":3,"content":"x"}"#, "other | text x");
    check(r#""x""#, "other | opaque string 3");
    check(
        r#"{"role":"user","content":[{"type":"text","text":5}, "bare"]}"#,
        "user | opaque text 24 | opaque string 6",
    );
    check(
        r#"{"role":"user","role":"assistant","content":"a","content":"b"}"#,
        "assistant | text b",
    );
    check(
        r#"{"\u0072ole":"user","content":"\ud83d\ude00 \ud800"}"#,
        "user | text 😀 \u{fffd}",
    );
}

#[test]
fn chat_messages() {
    let check = |list, expected| check(Chat, list, &[expected]);
    check(r#"{"role":"developer","content":"d"}"#, "system | text d");
    check(
        r#"{"role":"system","content":[{"type":"text","text":"s"}]}"#,
        "system | text s",
    );
    check(
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
           {"id":"c2","type":"custom","custom":{"name":"g","input":"free"}},{"id":"c3","type":"new"}]}"#,
        r#"assistant | call c1 f {"a":1} | call c2 g free | opaque new 24"#,
    );
    check(
        r#"{"role":"tool","tool_call_id":"c1","content":"r"}"#,
        "tool | result c1 r",
    );
    check(
        r#"{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        "tool | result c1 a\nb",
    );
    check(
        r#"{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{}"}}"#,
        "assistant | call f f {}",
    );
    check(
        r#"{"role":"function","name":"f","content":"r"}"#,
        "tool | result f r",
    );
    check(
        r#"{"role":"assistant","content":null,"refusal":"no"}"#,
        "assistant | text no",
    );
    check(
        r#"{"role":"assistant","reasoning_content":"hm","content":"a"}"#,
        "assistant | thinking hm | text a",
    );
    check(
        r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AA"}},
           {"type":"input_audio","input_audio":{}},{"type":"file","file":{}},{"type":"new"},{"type":"refusal","refusal":"r"}]}"#,
        "user | text see | attachment image/jpeg 68 | attachment audio 39 | attachment file 25 | opaque new 14 | text r",
    );
    check(
        r#"{"role":"assistant","audio":{"id":"a"}}"#,
        "assistant | attachment audio 10",
    );
    check("[1]", "other | opaque list 3");
}

#[test]
fn responses_items_of_one_answer_are_one_turn() {
    check(
        Responses,
        r#"{"role":"user","content":"q"},
           {"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"gAAA"},
           {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},
           {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
           {"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},
           {"type":"function_call_output","call_id":"c1","output":"r1"},
           {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"r2"},{"type":"input_image","image_url":"u"}]},
           {"type":"message","role":"developer","content":[{"type":"input_text","text":"d"}]}"#,
        &[
            "user | text q",
            "assistant | thinking s | opaque reasoning 6 | text a | call c1 f {} | call c2 f {}",
            "tool | result c1 r1",
            "tool | result c2 r2 | attachment image 38",
            "system | text d",
        ],
    );
}

#[test]
fn responses_other_items() {
    let check = |list, expected| check(Responses, list, &[expected]);
    check(
        r#"{"type":"custom_tool_call","call_id":"c","name":"n","input":"i"}"#,
        "assistant | call c n i",
    );
    check(
        r#"{"type":"function_call","call_id":"c","namespace":"mcp__ebbtide","name":"pin","arguments":"{}"}"#,
        "assistant | call c mcp__ebbtide__pin {}",
    );
    check(
        r#"{"type":"custom_tool_call_output","call_id":"c","output":"o"}"#,
        "tool | result c o",
    );
    check(
        r#"{"type":"local_shell_call","call_id":"c","action":{"command":["ls"]}}"#,
        r#"assistant | call c local_shell {"command":["ls"]}"#,
    );
    check(
        r#"{"type":"local_shell_call_output","id":"c","output":"{}"}"#,
        "tool | result c {}",
    );
    check(
        r#"{"type":"function_call_output","call_id":"c","output":{"a":1}}"#,
        r#"tool | result c {"a":1}"#,
    );
    check(
        r#"{"type":"web_search_call","id":"w"}"#,
        "assistant | opaque web_search_call 35",
    );
    check(
        r#"{"type":"compaction","id":"k","encrypted_content":"x"}"#,
        "assistant | opaque compaction 54",
    );
    check(
        r#"{"type":"compaction_trigger"}"#,
        "other | opaque compaction_trigger 29",
    );
    check(
        r#"{"type":"item_reference","id":"m"}"#,
        "other | opaque item_reference 34",
    );
    check(
        r#"{"type":"reasoning","summary":[]}"#,
        "assistant | opaque reasoning 33",
    );
    check(
        r#"{"type":"new_thing_output","x":1}"#,
        "tool | opaque new_thing_output 33",
    );
    check(
        r#"{"type":"message","role":"user","content":[{"type":"input_file"},{"type":"new"}]}"#,
        "user | attachment file 21 | opaque new 14",
    );
}

#[test]
fn a_bare_input_is_a_message_and_no_input_is_none() {
    let request = Request::parse(Responses, br#"{"input":"hi\u0021","model":"m"}"#).unwrap();
    assert_eq!(
        line(&request.message(0).unwrap().draft()),
        "user | text hi!"
    );
    let body = br#"{"previous_response_id":"resp_1","instructions":"be \"brief\""}"#;
    let request = Request::parse(Responses, body).unwrap();
    assert!(request.is_empty());
    assert_eq!(
        request.field_text("previous_response_id").unwrap(),
        "resp_1"
    );
    assert_eq!(request.instructions().unwrap().text, "be \"brief\"");
}
