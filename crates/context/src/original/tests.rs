//! Tests of handles, sections and originals.

use proptest::prelude::*;

use super::{Handle, OriginalError, Section};
use crate::turn::{CallId, Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};
use crate::{Heuristic, Tokens};

const LOG: &str = "one\r\ntwo\n\n  three\t\nfour";

fn conversation() -> Vec<Turn> {
    let result = |text: &str| {
        Part::Result(ToolResult {
            call: CallId::from("c1"),
            text: text.into(),
            outcome: Outcome::Succeeded,
        })
    };
    let call = Part::Call(ToolCall {
        id: CallId::from("c1"),
        name: "Bash".into(),
        arguments: r#"{"command": "make"}"#.into(),
    });
    let drafts = [
        TurnDraft::text(Role::User, "please build"),
        TurnDraft::said(Role::Assistant, vec![Part::Text("I build.".into()), call]),
        TurnDraft::said(Role::Tool, vec![result("an older one")]),
        TurnDraft::said(Role::Tool, vec![result(LOG)]),
    ];
    let mut parent = TurnId::ROOT;
    let place = |draft: TurnDraft| {
        let turn = draft.after(parent, &Heuristic);
        parent = turn.id();
        turn
    };
    drafts.into_iter().map(place).collect()
}

#[track_caller]
fn check(handle: &str, title: &str, text: &str) {
    let original = Handle::parse(handle).unwrap().original(&conversation());
    let original = original.unwrap();
    assert_eq!(
        (original.title.as_str(), original.text.as_str()),
        (title, text)
    );
}

#[test]
fn a_handle_gives_the_bytes() {
    check("turn:1", "text (turn:1.1)", "please build");
    check("turn:4", "tool result (turn:4.1)", LOG);
    check("call:c1", "tool result (turn:4.1)", LOG);
    check(
        "turn:2.2",
        "call of Bash (turn:2.2)",
        r#"{"command": "make"}"#,
    );
    let id = conversation()[3].id().to_string();
    check(&id, "tool result (turn:4.1)", LOG);
    check(
        "turns:1-2",
        "turns:1-2",
        "--- user, text (turn:1.1) ---\nplease build\n--- assistant, text (turn:2.1) ---\nI build.\n\
         --- assistant, call of Bash (turn:2.2) ---\n{\"command\": \"make\"}\n",
    );
}

#[test]
fn a_gap_is_told_from_an_original() {
    let mut turns = conversation();
    turns[0] = Turn::gap(turns[0].id(), Role::User, Tokens::new(3), "lost");
    let handle = Handle::parse("turns:1-2").unwrap();
    assert_eq!(handle.turns(&turns), 1..=2);
    let text = handle.original(&turns).unwrap().text;
    let expected = "--- turn:1 is damaged, this is no original ---\nlost\n--- assistant, text";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn what_names_nothing_is_refused() {
    for wrong in [
        "",
        "turn",
        "turn:",
        "turn:0",
        "turn:1.0",
        "turns:1",
        "call:",
        "path:a",
        "turns:3-2",
        "x",
    ] {
        let refused = Handle::parse(wrong);
        assert!(
            matches!(refused, Err(OriginalError::NotAHandle(_))),
            "{wrong}"
        );
    }
    for absent in ["turn:5", "turn:1.2", "turns:3-5", "call:c2"] {
        let handle = Handle::parse(absent).unwrap();
        let refused = handle.original(&conversation());
        assert!(
            matches!(refused, Err(OriginalError::Nothing { turns: 4, .. })),
            "{absent}"
        );
        assert_eq!(handle.to_string(), absent);
    }
    for wrong in ["", "0-3", "4-3", "b4-3", "x", "-3"] {
        assert!(Section::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn sections_are_lines_or_bytes() {
    let log = Handle::Call("c1".into()).original(&conversation()).unwrap();
    let check = |section: &str, room, text: &str, next: Option<&str>| {
        let excerpt = log.excerpt(Some(Section::parse(section).unwrap()), room);
        assert_eq!(excerpt.text, text, "{section}");
        assert_eq!(
            excerpt.next.map(|it| it.to_string()).as_deref(),
            next,
            "{section}"
        );
    };
    check("2", 99, "two\n", None);
    check("2-4", 99, "two\n\n  three\t\n", None);
    check("2-", 6, "two\n\n", Some("4-5"));
    check("4-4", 4, "  th", Some("b14-19"));
    check("b1-3", 99, "ne", None);
    check("9-12", 99, "", None);
    assert_eq!(log.excerpt(None, 99).text, LOG);
}

proptest! {
    #[test]
    fn the_sections_in_a_row_are_the_whole(text in "[a-zé\n\r ]{0,200}", room in 4usize..40) {
        let whole = super::Original { text: text.clone(), title: String::new() };
        let mut out = String::new();
        let mut section = None;
        for _ in 0..=text.len() {
            let excerpt = whole.excerpt(section, room);
            prop_assert!(excerpt.text.len() <= room);
            out.push_str(excerpt.text);
            // A reader passes on what it was told.
            let told = excerpt.next.map(|next| Section::parse(&next.to_string()).unwrap());
            if told.is_none() {
                break;
            }
            section = told;
        }
        prop_assert_eq!(out, text);
    }
}
