//! Conversations written from turns.

use context::turn::{Outcome, ToolCall, ToolResult};
use context::{CallId, Heuristic, Part, Role, Text, Turn, TurnDraft, TurnId};

use super::line;
use crate::api::{Conversation, Dialect, Request, render_turn};

fn text(text: &str) -> Part {
    Part::Text(Text::from(text))
}

fn call(id: &str, arguments: &str) -> Part {
    Part::Call(ToolCall {
        id: CallId::from(id),
        name: Text::from("run"),
        arguments: Text::from(arguments),
    })
}

fn result(id: &str, text: &str, outcome: Outcome) -> Part {
    Part::Result(ToolResult {
        call: CallId::from(id),
        text: Text::from(text),
        outcome,
    })
}

fn place(drafts: Vec<(Role, Vec<Part>)>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let place = |(role, parts)| {
        let turn = TurnDraft::said(role, parts).after(parent, &Heuristic);
        parent = turn.id();
        turn
    };
    drafts.into_iter().map(place).collect()
}

/// Writes a body from `turns` and reads it again.
fn lines(dialect: Dialect, turns: &[Turn]) -> Vec<String> {
    let body = Conversation::from_turns(dialect, turns).body("m", Some(9));
    let request = Request::parse(dialect, body.as_bytes()).unwrap();
    let system = request
        .instructions()
        .map(|system| format!("({})", system.text));
    let said = request.messages().map(|message| line(&message.draft()));
    system.into_iter().chain(said).collect()
}

#[test]
fn calls_and_results_are_brought_together() {
    let ok = Outcome::Succeeded;
    let turns = place(vec![
        (Role::System, vec![text("be brief")]),
        (Role::Assistant, vec![text("hello")]),
        (Role::User, vec![text("go")]),
        (
            Role::Assistant,
            vec![call("a", "{}"), call("b", r#"{"x":1}"#)],
        ),
        (Role::Tool, vec![result("b", "B", ok)]),
        (Role::User, vec![text("wait")]),
        (
            Role::Tool,
            vec![result("a", "A", Outcome::Failed), result("z", "Z", ok)],
        ),
        (Role::Assistant, vec![call("a", "free"), call("c", "")]),
        (Role::Tool, vec![result("a", "A2", ok)]),
        (
            Role::Assistant,
            vec![Part::Thinking(Text::from("only thought"))],
        ),
        (Role::User, vec![text("end")]),
    ]);
    let none = "[no result was recorded]";
    assert_eq!(
        lines(Dialect::Anthropic, &turns),
        [
            "(be brief)".to_owned(),
            "user | text [the conversation starts here]".to_owned(),
            "assistant | text hello".to_owned(),
            "user | text go".to_owned(),
            r#"assistant | call a run {} | call b run {"x":1}"#.to_owned(),
            "user | result b B | failed a A | text wait | text [result of call z] Z".to_owned(),
            r#"assistant | call a_2 run {"input":"free"} | call c run {}"#.to_owned(),
            format!("user | result a_2 A2 | failed c {none} | text end"),
        ]
    );
    assert_eq!(
        lines(Dialect::Chat, &turns),
        [
            "(be brief)".to_owned(),
            "assistant | text hello".to_owned(),
            "user | text go".to_owned(),
            r#"assistant | call a run {} | call b run {"x":1}"#.to_owned(),
            "tool | result b B".to_owned(),
            "tool | result a A".to_owned(),
            "user | text wait".to_owned(),
            "user | text [result of call z] Z".to_owned(),
            "assistant | call a_2 run free | call c run ".to_owned(),
            "tool | result a_2 A2".to_owned(),
            format!("tool | result c {none}"),
            "user | text end".to_owned(),
        ]
    );
    assert_eq!(lines(Dialect::Responses, &turns).len(), 12);
}

#[test]
fn one_turn_is_written_in_each_dialect() {
    let turns = place(vec![
        (Role::System, vec![text("s")]),
        (
            Role::Assistant,
            vec![text("t"), call("a|b", r#"{"k": 1.0}"#)],
        ),
        (Role::Tool, vec![result("a|b", "r", Outcome::Failed)]),
        (Role::User, vec![]),
    ]);
    let check = |turn: usize, dialect, expected: &str| {
        assert_eq!(render_turn(dialect, &turns[turn]), expected);
    };
    check(
        0,
        Dialect::Anthropic,
        r#"{"role":"system","content":[{"type":"text","text":"s"}]}"#,
    );
    check(0, Dialect::Chat, r#"{"role":"system","content":"s"}"#);
    check(
        0,
        Dialect::Responses,
        r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"s"}]}"#,
    );
    check(
        1,
        Dialect::Anthropic,
        r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"a_b","name":"run","input":{"k": 1.0}}]}"#,
    );
    check(
        1,
        Dialect::Chat,
        r#"{"role":"assistant","content":"t","tool_calls":[{"id":"a|b","type":"function","function":{"name":"run","arguments":"{\"k\": 1.0}"}}]}"#,
    );
    check(
        1,
        Dialect::Responses,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]},{"type":"function_call","call_id":"a|b","name":"run","arguments":"{\"k\": 1.0}"}"#,
    );
    check(
        2,
        Dialect::Anthropic,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_b","content":"r","is_error":true}]}"#,
    );
    check(
        2,
        Dialect::Chat,
        r#"{"role":"tool","tool_call_id":"a|b","content":"r"}"#,
    );
    check(3, Dialect::Anthropic, "");
    check(3, Dialect::Chat, "");
}
