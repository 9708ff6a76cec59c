//! Fields of requests beside the messages, and bodies that are refused.

use context::coded::Coded;
use context::{Heuristic, Role, TurnId};

use crate::api::{ApiError, Dialect, Limits, Position, Request};

const BODY: &str = r#"{"model":"m\u002d1", "stream":true,"system":[{"type":"text","text":"a"},
 {"type":"text","text":"b","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"t"}],
 "messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]}"#;

#[test]
fn the_fields_are_readable_and_stand_where_they_say() {
    let request = Request::parse(Dialect::Anthropic, BODY.as_bytes()).unwrap();
    assert_eq!(request.model().unwrap(), "m-1");
    assert!(request.streams());
    let system = request.instructions().unwrap();
    assert_eq!(system.text, "a\nb");
    assert_eq!(
        BODY.get(system.span.start..system.span.end),
        Some(system.raw)
    );
    assert_eq!(request.tools().unwrap().value, r#"[{"name":"t"}]"#);
    let keys: Vec<_> = request
        .fields()
        .map(|field| field.key.into_owned())
        .collect();
    assert_eq!(keys, ["model", "stream", "system", "tools", "messages"]);
    let message = request.message(1).unwrap();
    assert_eq!(message.raw(), r#"{"role":"assistant","content":"yes"}"#);
    assert_eq!(
        BODY.get(message.span().start..message.span().end),
        Some(message.raw())
    );
    assert!(request.message(2).is_none());
    assert_eq!(request.body(), BODY.as_bytes());
}

#[test]
fn turns_are_placed_one_after_the_other() {
    let request = Request::parse(Dialect::Anthropic, BODY.as_bytes()).unwrap();
    let turns = request.turns(&Heuristic);
    let first = request
        .message(0)
        .unwrap()
        .draft()
        .after(TurnId::ROOT, &Heuristic);
    let second = request
        .message(1)
        .unwrap()
        .draft()
        .after(first.id(), &Heuristic);
    assert_eq!(turns, [first, second]);
}

fn refused(dialect: Dialect, body: &[u8], limits: Limits, code: &str) -> ApiError {
    let error = Request::parse_with(dialect, body, limits).unwrap_err();
    assert_eq!(error.code().as_str(), code, "{error}");
    assert!(error.hint().is_some());
    error
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let limits = Limits::default();
    let error = refused(
        Dialect::Chat,
        b"{\"messages\":[\n{\"a\":}]}",
        limits,
        "E0110",
    );
    let at = Position { byte: 19, line: 2 };
    assert_eq!(
        error,
        ApiError::Syntax {
            expected: "expected a value",
            at
        }
    );
    assert_eq!(
        error.to_string(),
        "malformed JSON at line 2, byte 19: expected a value"
    );
    refused(Dialect::Chat, b"", limits, "E0110");
    refused(Dialect::Chat, b"{\"messages\":[]", limits, "E0110");
    refused(Dialect::Chat, b"{\"messages\":[]} x", limits, "E0110");
    refused(Dialect::Chat, b"{\"messages\":[\"\xFF\"]}", limits, "E0111");
    refused(Dialect::Chat, b"[]", limits, "E0115");
    refused(Dialect::Chat, b"{}", limits, "E0116");
    refused(Dialect::Anthropic, b"{\"messages\":\"x\"}", limits, "E0116");
    refused(Dialect::Responses, b"{\"input\":7}", limits, "E0116");
}

#[test]
fn limits_hold() {
    let body = br#"{"messages":[{},{},{"a":[[]]}]}"#;
    let limits = |bytes, messages, depth| Limits {
        bytes,
        messages,
        depth,
    };
    assert!(Request::parse_with(Dialect::Chat, body, limits(31, 3, 5)).is_ok());
    refused(Dialect::Chat, body, limits(30, 3, 5), "E0112");
    refused(Dialect::Chat, body, limits(31, 2, 5), "E0114");
    refused(Dialect::Chat, body, limits(31, 3, 4), "E0113");
}

#[test]
fn deep_nesting_does_not_reach_the_stack() {
    let deep = |levels: usize| {
        format!(
            r#"{{"messages":[{{"role":"user","content":{}{}}}]}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    let limits = Limits {
        depth: usize::MAX,
        ..Limits::default()
    };
    refused(Dialect::Chat, deep(1_000_000).as_bytes(), limits, "E0113");
    let body = deep(1_021);
    let request = Request::parse_with(Dialect::Anthropic, body.as_bytes(), limits).unwrap();
    let message = request.message(0).unwrap();
    assert_eq!(message.draft().parts.len(), 1);
}

#[test]
fn many_messages_are_read() {
    let list = vec![r#"{"role":"user","content":"x"}"#; 100_000].join(",");
    let body = format!(r#"{{"messages":[{list}]}}"#);
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
    assert_eq!(request.len(), 100_000);
}

#[test]
fn system_messages_that_begin_a_chat_are_instructions() {
    let body = br#"{"messages":[{"role":"system","content":"a"},
        {"role":"developer","content":[{"type":"text","text":"b","prompt_cache_breakpoint":{}}]},
        {"role":"user","content":"c"},{"role":"system","content":"d"}]}"#;
    let request = Request::parse(Dialect::Chat, body).unwrap();
    let instructions = request.instructions().unwrap();
    assert_eq!((&*instructions.text, instructions.messages), ("a\nb", 2));
    assert_eq!(request.len(), 2);
    let roles: Vec<Role> = request.messages().map(|it| it.role()).collect();
    assert_eq!(roles, [Role::User, Role::System]);
    assert_eq!(request.elements_of(0), 2..3);
    assert_eq!(request.breakpoints().len(), 1);
    let body = br#"{"messages":[{"role":"user","content":"c"},{"role":"system","content":"d"}]}"#;
    let request = Request::parse(Dialect::Chat, body).unwrap();
    assert!(request.instructions().is_none());
    assert_eq!(request.len(), 2);
}
