//! Cache breakpoints: where they are, how they are set and taken away.

use super::hashes::canonical;
use crate::api::{Breakpoint, BreakpointPosition, Dialect, Request};

fn request(body: &str) -> Request<'_> {
    Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap()
}

#[test]
fn breakpoints_are_found_in_the_order_of_the_prompt() {
    let body = r#"{"cache_control":{"type":"ephemeral"},
        "messages":[{"role":"user","content":"cache_control"},
          {"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","content":[{"type":"text","text":"y","cache_control":{"type":"ephemeral"}}]}]}],
        "system":[{"type":"text","text":"s"},{"type":"text","text":"t","\u0063ache_control":{"ttl":"1h"}}],
        "tools":[{"name":"a","cache_control":{"type":"ephemeral","ttl":"5m"}},{"name":"b","cache_control":null}]}"#;
    let at = |place, ttl: Option<&str>| Breakpoint {
        place,
        ttl: ttl.map(str::to_owned),
    };
    let message = BreakpointPosition::Message {
        message: 1,
        block: 1,
    };
    assert_eq!(
        request(body).breakpoints(),
        [
            at(BreakpointPosition::Tool(0), Some("5m")),
            at(BreakpointPosition::System(1), Some("1h")),
            at(message, None),
            at(BreakpointPosition::Automatic, None),
        ]
    );
}

fn check(message: &str, marked: Option<&str>) {
    let body = format!(r#"{{"messages":[{message}]}}"#);
    let request = request(&body);
    let message = request.message(0).unwrap();
    let found = message.with_breakpoint(r#"{"type":"ephemeral"}"#);
    assert_eq!(found.as_deref(), marked);
    if let Some(marked) = found {
        let body = format!(r#"{{"messages":[{marked}]}}"#);
        let again = self::request(&body);
        assert_eq!(again.breakpoints().len(), 1);
        assert_eq!(canonical(again.message(0).unwrap()), canonical(message));
    }
}

#[test]
fn a_breakpoint_is_put_at_the_last_block() {
    check(
        r#"{"role":"user", "content": "a\n"}"#,
        Some(
            r#"{"role":"user", "content": [{"type":"text","text":"a\n","cache_control":{"type":"ephemeral"}}]}"#,
        ),
    );
    check(
        r#"{"content":[{"type":"text","text":"a"}, {"type":"text","text":"b" }],"role":"user"}"#,
        Some(
            r#"{"content":[{"type":"text","text":"a"}, {"type":"text","text":"b" ,"cache_control":{"type":"ephemeral"}}],"role":"user"}"#,
        ),
    );
    check(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"}]}"#,
        None,
    );
    check(
        r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}]}"#,
        None,
    );
    check(r#"{"role":"user","content":[]}"#, None);
    check(r#"{"role":"user","content":""}"#, None);
    check(
        r#"{"role":"user","content":[{"type":"text","text":""}]}"#,
        None,
    );
    check(
        r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":null}]}"#,
        None,
    );
    check(r#"{"role":"user"}"#, None);
}

#[test]
fn breakpoints_are_taken_away_and_nothing_else() {
    let body = r#"{"messages":[{"role":"user","cache_control":{}, "content":[{"cache_control":{"type":"ephemeral"}, "type":"text","text":"a"},
        {"type":"tool_result","content":[{"cache_control":{}}],"cache_control":{} },{"type":"tool_use","input":{"cache_control":1}}]}]}"#;
    let expected = r#"{"role":"user", "content":[{"type":"text","text":"a"},
        {"type":"tool_result","content":[{}] },{"type":"tool_use","input":{"cache_control":1}}]}"#;
    let request = request(body);
    assert_eq!(request.message(0).unwrap().without_breakpoints(), expected);
}

#[test]
fn an_edited_message_is_marked_behind_its_changes() {
    let body = r#"{"messages":[{"role":"user","content":"a"}]}"#;
    let request = request(body);
    let message = request.message(0).unwrap();
    let block = r#"{"type":"text","text":"b"}"#;
    let edit = message.edit().with_block(block).with_breakpoint("{}");
    assert_eq!(
        edit.render().unwrap(),
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{}}]}"#
    );
}

#[test]
fn a_block_of_an_unknown_kind_is_not_marked_for_a_client() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"hologram"}]}]}"#;
    let request = request(body);
    let edit = request.message(0).unwrap().edit().with_breakpoint("{}");
    assert_eq!(
        edit.render().unwrap(),
        r#"{"role":"user","content":[{"type":"hologram"}]}"#
    );
}

#[test]
fn instructions_are_marked_at_their_end() {
    let check = |fields: &str, expected: Option<(&str, &str)>| {
        let body = format!(r#"{{{fields},"messages":[]}}"#);
        let marked = request(&body).instructions_with_breakpoint("{}");
        let marked = marked.as_ref().map(|(key, value)| (*key, value.as_str()));
        assert_eq!(marked, expected, "{fields}");
    };
    check(
        r#""tools":[{"name":"a"}],"system":"s\n""#,
        Some((
            "system",
            r#"[{"type":"text","text":"s\n","cache_control":{}}]"#,
        )),
    );
    check(
        r#""system":[{"type":"text","text":"s"}, {"type":"text","text":"t" }]"#,
        Some((
            "system",
            r#"[{"type":"text","text":"s"}, {"type":"text","text":"t" ,"cache_control":{}}]"#,
        )),
    );
    check(
        r#""system":null,"tools":[{"name":"a"},{"name":"b"}]"#,
        Some(("tools", r#"[{"name":"a"},{"name":"b","cache_control":{}}]"#)),
    );
    check(r#""tools":[{"name":"a","defer_loading":true}]"#, None);
    check(r#""system":"","tools":[{"name":"a"}]"#, None);
    check(r#""system":[{"type":"text","text":""}]"#, None);
    check(r#""tools":[{}]"#, None);
    check(r#""model":"m""#, None);
}
