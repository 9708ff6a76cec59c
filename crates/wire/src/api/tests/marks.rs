//! Cache breakpoints: where they are, how they are set and taken away.

use super::hashes::canonical;
use crate::api::{Breakpoint, Dialect, Place, Request};

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
    let message = Place::Message {
        message: 1,
        block: 1,
    };
    assert_eq!(
        request(body).breakpoints(),
        [
            at(Place::Tool(0), Some("5m")),
            at(Place::System(1), Some("1h")),
            at(message, None),
            at(Place::Automatic, None),
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
