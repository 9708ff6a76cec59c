//! Messages that count as the same, and messages that do not.

use crate::api::canonical::hash_of_block;
use crate::api::{Dialect, Message, Request};
use Dialect::{Anthropic, Chat, Responses};

fn hash(dialect: Dialect, message: &str) -> [u8; 16] {
    let body = format!(r#"{{"{}":[{message}]}}"#, dialect.list_key());
    let request = Request::parse(dialect, body.as_bytes()).unwrap();
    canonical(request.message(0).unwrap())
}

/// The hash of the first element of a message.
pub fn canonical(message: Message<'_>) -> [u8; 16] {
    hash_of_block(message.trees()[0].root())
}

fn same(dialect: Dialect, one: &str, other: &str) {
    assert_eq!(hash(dialect, one), hash(dialect, other), "{one}\n{other}");
}

fn differ(dialect: Dialect, one: &str, other: &str) {
    assert_ne!(hash(dialect, one), hash(dialect, other), "{one}\n{other}");
}

#[test]
fn spelling_order_and_breakpoints_do_not_count() {
    let plain = r#"{"role":"user","content":"hé\n"}"#;
    same(
        Anthropic,
        plain,
        r#"{ "content": "h\u00e9\u000a", "role":"user" }"#,
    );
    same(
        Anthropic,
        plain,
        r#"{"role":"user","content":[{"type":"text","text":"hé\n"}]}"#,
    );
    same(
        Anthropic,
        plain,
        r#"{"role":"user","content":[{"cache_control":{"type":"ephemeral","ttl":"1h"},"text":"hé\n","type":"text","citations":null}]}"#,
    );
    let result =
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}"#;
    same(
        Anthropic,
        result,
        r#"{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"r","cache_control":{}}],"cache_control":{}}]}"#,
    );
    same(
        Anthropic,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"b":1.0,"a":[-0,1e2]}}]}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"a":[0.0,100],"b":1}}]}"#,
    );
    same(
        Chat,
        r#"{"role":"user","content":[{"type":"text","text":"x","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#,
        r#"{"role":"user","content":"x","name":null}"#,
    );
    same(
        Responses,
        r#"{"role":"user","content":"x"}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#,
    );
}

#[test]
fn what_the_model_sees_counts() {
    let plain = r#"{"role":"user","content":"ab"}"#;
    differ(Anthropic, plain, r#"{"role":"assistant","content":"ab"}"#);
    differ(Anthropic, plain, r#"{"role":"user","content":"aB"}"#);
    differ(
        Anthropic,
        plain,
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
    );
    let call = |input: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"n","input":{input}}}]}}"#
        )
    };
    differ(Anthropic, &call(r#"{"cache_control":1}"#), &call("{}"));
    differ(Anthropic, &call(r#"{"a":null}"#), &call("{}"));
    differ(Anthropic, &call(r#"{"a":"1"}"#), &call(r#"{"a":1}"#));
    differ(Anthropic, &call(r#"{"a":[1,2]}"#), &call(r#"{"a":[2,1]}"#));
    differ(
        Anthropic,
        &call(r#"{"a":12345678901234567890}"#),
        &call(r#"{"a":12345678901234567891}"#),
    );
    differ(
        Anthropic,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"S"}]}"#,
    );
}
