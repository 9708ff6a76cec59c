//! Laws over generated requests, conversations and bytes.

use context::turn::{Outcome, ToolCall, ToolResult};
use context::{CallId, Heuristic, Part, Role, Text, Turn, TurnDraft, TurnId};
use proptest::prelude::*;

use super::hashes::canonical;
use crate::api::{
    Accumulator, Breakpoint, BreakpointPosition, Conversation, Decoder, Dialect, Failure, Limits,
    Piece, Request, Response,
};

/// JSON with spellings that a reader could lose: white space, escapes, numbers, repeated keys.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?",
        string(),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let pair = (key(), inner.clone()).prop_map(|(key, value)| format!("{key} :{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|all| format!("[ {}\n]", all.join(" ,"))),
            prop::collection::vec(pair, 0..5).prop_map(|all| format!("{{{}}}", all.join(", "))),
        ]
    })
}

fn string() -> impl Strategy<Value = String> {
    "([ -!#-\\[\\]-~é漢😀]|\\\\[nt\"/\\\\]|\\\\u00e9|\\\\ud83d){0,24}"
        .prop_map(|inner| format!("\"{inner}\""))
}

fn key() -> impl Strategy<Value = String> {
    let words = [
        "role",
        "type",
        "content",
        "text",
        "id",
        "name",
        "input",
        "tool_calls",
        "function",
        "arguments",
        "cache_control",
        "tool_use_id",
        "output",
        "call_id",
        "source",
        "thinking",
        "summary",
        "usage",
        "delta",
        "index",
        "choices",
        "message",
        "error",
        "x",
    ];
    prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(|word| format!("\"{word}\"")),
        1 => string(),
    ]
}

/// A block or an item, with its own type or an unknown one.
fn block() -> impl Strategy<Value = String> {
    let kinds = [
        "text",
        "thinking",
        "tool_use",
        "tool_result",
        "image",
        "compaction",
        "input_text",
        "output_text",
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "new_kind",
    ];
    let members = prop::collection::vec((key(), json()), 0..5);
    (prop::sample::select(kinds.to_vec()), members).prop_map(|(kind, members)| {
        let rest: String = members
            .into_iter()
            .map(|(key, value)| format!(",{key}:{value}"))
            .collect();
        format!(r#"{{"type" : "{kind}"{rest}}}"#)
    })
}

fn message() -> impl Strategy<Value = String> {
    let roles = [
        "user",
        "assistant",
        "system",
        "tool",
        "developer",
        "narrator",
    ];
    let content = prop_oneof![
        string(),
        prop::collection::vec(block(), 0..4).prop_map(|all| format!("[{}]", all.join(" , "))),
        json(),
    ];
    let known = (prop::sample::select(roles.to_vec()), content, key(), json()).prop_map(
        |(role, content, key, value)| {
            format!(r#"{{ {key}:{value},"role":"{role}", "content":{content} }}"#)
        },
    );
    prop_oneof![6 => known, 2 => block(), 1 => json()]
}

prop_compose! {
    fn request()(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        before in prop::collection::vec((key(), json()), 0..3),
        messages in prop::collection::vec(message(), 0..7),
        after in prop::collection::vec((string(), json()), 0..3),
    ) -> (Dialect, String, Vec<String>) {
        let list_key = dialect.list_key();
        let keep = |pair: &(String, String)| pair.0 != format!("\"{list_key}\"");
        let mut members: Vec<String> = before.iter().filter(|pair| keep(pair))
            .map(|(key, value)| format!("{key}: {value}")).collect();
        members.push(format!("\"{list_key}\":[ {} ]", messages.join("\t,\n")));
        members.extend(after.iter().filter(|pair| keep(pair))
            .map(|(key, value)| format!("{key}:{value}")));
        (dialect, format!(" {{{}}}\n", members.join(" , ")), messages)
    }
}

/// Checks the laws on any bytes that can be read; other bytes must not panic.
fn lawful(dialect: Dialect, body: &[u8]) -> Option<usize> {
    let request = Request::parse(dialect, body).ok()?;
    let one_by_one = (0..request.len()).map(|index| Piece::Kept(index..index + 1));
    assert_eq!(request.edit().render().unwrap(), body);
    let same = request.edit().messages(one_by_one.collect()).render();
    assert_eq!(same.unwrap(), body);
    let turns = request.turns(&Heuristic);
    assert_eq!(turns.len(), request.len());
    for message in request.messages() {
        let bare = message.without_breakpoints();
        let list = behind_another(dialect, &bare);
        let again = Request::parse(dialect, list.as_bytes()).unwrap();
        assert!(
            again
                .messages()
                .all(|message| message.breakpoints().is_empty())
        );
        if !message.raw().starts_with('"') {
            assert_eq!(again.message(1).map(canonical), Some(canonical(message)));
        }
        if let Some(marked) = message.with_breakpoint("{}") {
            let list = format!(r#"{{"{}":[{marked}]}}"#, dialect.list_key());
            assert!(Request::parse(dialect, list.as_bytes()).is_ok());
        }
    }
    edited_messages_can_be_read(dialect, &request);
    let each = request.messages().flat_map(|message| message.breakpoints());
    let in_messages = |mark: &Breakpoint| matches!(mark.place, BreakpointPosition::Message { .. });
    let all = request.breakpoints().into_iter().filter(in_messages);
    assert!(each.eq(all));
    let _ = request.instructions();
    for dialect in Dialect::ALL {
        let written = Conversation::from_turns(dialect, &turns).body("m", None);
        assert!(Request::parse(dialect, written.as_bytes()).is_ok());
    }
    Some(request.len())
}

/// A request with this message behind another one, so that it is no instruction.
fn behind_another(dialect: Dialect, message: &str) -> String {
    let comma = if message.is_empty() { "" } else { "," };
    let user = r#"{"role":"user","content":"u"}"#;
    format!(r#"{{"{}":[{user}{comma}{message}]}}"#, dialect.list_key())
}

/// Every change of a message leaves JSON, and what is cleared or taken out is gone.
fn edited_messages_can_be_read(dialect: Dialect, request: &Request<'_>) {
    for message in request.messages() {
        let edits = [
            message.edit().without_thinking(),
            message.edit().without_thinking().with_block("{}"),
            message.edit().with_results_cleared("-").with_block("1"),
            message.edit().with_result_text(0, "-"),
        ];
        for edit in edits {
            let Some(text) = edit.render() else { continue };
            let list = behind_another(dialect, &text);
            let again = Request::parse(dialect, list.as_bytes()).unwrap();
            let again: Vec<_> = again.messages().map(|message| message.draft()).collect();
            assert_eq!(again.len(), 1 + usize::from(!text.is_empty()));
        }
    }
}

/// Reads bytes as a response and as a stream; what is rebuilt has to be JSON.
fn answers(dialect: Dialect, bytes: &[u8]) {
    if let Ok(response) = Response::parse(dialect, bytes) {
        let _ = response.reply().draft();
    }
    let _ = Failure::parse(bytes);
    let mut decoder = Decoder::default();
    decoder.push(bytes);
    decoder.finish();
    let mut accumulator = Accumulator::new(dialect);
    while let Some(event) = decoder.next_event() {
        let _ = event.map(|event| accumulator.accept(&event));
    }
    let reply = accumulator.reply();
    let _ = reply.draft();
    for piece in &reply.pieces {
        serde_json::from_str::<serde::de::IgnoredAny>(piece).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_request_keeps_every_byte((dialect, body, messages) in request()) {
        let read = lawful(dialect, body.as_bytes());
        prop_assert!(read.is_some());
        if dialect != Dialect::Responses {
            let request = Request::parse(dialect, body.as_bytes()).unwrap();
            let raw: Vec<&str> = request.messages().map(|message| message.raw()).collect();
            prop_assert_eq!(read, Some(raw.len()));
            // On Chat, instructions come first.
            let lead = messages.len() - raw.len();
            prop_assert!(lead == 0 || dialect == Dialect::Chat);
            prop_assert_eq!(request.instructions().is_some() && dialect == Dialect::Chat, lead > 0);
            prop_assert_eq!(raw, &messages[lead..]);
        }
    }

    #[test]
    fn the_reader_takes_what_json_is(text in json()) {
        let body = format!(r#"{{"input":[{text}]}}"#);
        prop_assert!(Request::parse(Dialect::Responses, body.as_bytes()).is_ok());
    }

    #[test]
    fn bytes_that_are_changed_do_no_harm(
        (dialect, body, _) in request(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = body.into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let limits = Limits::default();
        let ours = Request::parse_with(Dialect::Responses, &bytes, limits).is_ok();
        let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
        prop_assert!(theirs || !ours);
        lawful(dialect, &bytes);
        answers(dialect, &bytes);
        bytes.truncate(cut.index(bytes.len()));
        lawful(dialect, &bytes);
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for dialect in Dialect::ALL {
            lawful(dialect, &bytes);
            answers(dialect, &bytes);
        }
    }

    #[test]
    fn any_events_do_no_harm(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        events in prop::collection::vec((prop::sample::select(EVENTS.to_vec()), block(), block()), 0..8),
    ) {
        let stream: String = events
            .iter()
            .map(|(name, one, other)| {
                let fields = ["item", "content_block", "delta", "response", "message", "usage"];
                let of = |(at, field): (usize, &&str)| {
                    format!(r#","{field}":{}"#, if at % 2 == 0 { one } else { other })
                };
                let rest: String = fields.iter().enumerate().map(of).collect();
                let choices = format!(r#""choices":[{{"delta":{other}}}]"#);
                format!("event: {name}\ndata: {{\"type\":\"{name}\",{choices}{rest}}}\n\n")
                    .replace("\\ud83d", "")
            })
            .collect();
        answers(dialect, stream.as_bytes());
    }

    #[test]
    fn turns_come_back_from_what_is_written(turns in conversation()) {
        for dialect in Dialect::ALL {
            let body = Conversation::from_turns(dialect, &turns).body("m", Some(1));
            let request = Request::parse(dialect, body.as_bytes()).unwrap();
            let back = request.turns(&Heuristic);
            prop_assert_eq!(said(dialect, &back), said(dialect, &turns));
            if dialect == Dialect::Anthropic {
                let roles: Vec<Role> = request.messages().map(|message| message.role()).collect();
                prop_assert!(roles.windows(2).all(|pair| pair[0] != pair[1]));
            }
        }
    }
}

const EVENTS: [&str; 10] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "response.output_item.added",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.completed",
    "error",
];

/// The parts of all turns, without the borders of turns, which dialects draw differently. Chat
/// and Responses have no place for a tool's failure.
fn said(dialect: Dialect, turns: &[Turn]) -> Vec<(Role, Part)> {
    let part = |turn: &Turn, part: &Part| match part {
        Part::Result(result) => {
            let mut result = result.clone();
            if dialect != Dialect::Anthropic {
                result.outcome = Outcome::Succeeded;
            }
            (Role::Tool, Part::Result(result))
        }
        other => (turn.role(), other.clone()),
    };
    turns
        .iter()
        .flat_map(|turn| turn.parts().iter().map(move |piece| part(turn, piece)))
        .collect()
}

/// Rounds of a user's text and an assistant's text with calls, all of them answered.
fn conversation() -> impl Strategy<Value = Vec<Turn>> {
    let texts = || prop::collection::vec("[ -~é漢\n\"\\\\]{1,20}", 1..3);
    let calls = prop::collection::vec((object(), "[ -~\n]{0,20}", any::<bool>()), 0..4);
    let round = (texts(), texts(), calls);
    prop::collection::vec(round, 0..6).prop_map(|rounds| {
        let mut drafts = Vec::new();
        let mut number = 0;
        let speak = |role, texts: Vec<String>| {
            let parts = texts.into_iter().map(|text| Part::Text(Text::from(text)));
            TurnDraft::said(role, parts.collect())
        };
        for (question, answer, calls) in rounds {
            drafts.push(speak(Role::User, question));
            let mut answer = speak(Role::Assistant, answer);
            let mut results = Vec::new();
            for (arguments, text, failed) in calls {
                number += 1;
                let id = CallId::from(format!("call_{number}").as_str());
                answer.parts.push(Part::Call(ToolCall {
                    id: id.clone(),
                    name: Text::from("run-it"),
                    arguments: Text::from(arguments),
                }));
                let outcome = if failed {
                    Outcome::Failed
                } else {
                    Outcome::Succeeded
                };
                results.push(Part::Result(ToolResult {
                    call: id,
                    text: Text::from(text),
                    outcome,
                }));
            }
            drafts.push(answer);
            if !results.is_empty() {
                drafts.push(TurnDraft::said(Role::Tool, results));
            }
        }
        let mut parent = TurnId::ROOT;
        let mut place = |draft: TurnDraft| {
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        };
        drafts.into_iter().map(&mut place).collect()
    })
}

fn object() -> impl Strategy<Value = String> {
    prop::collection::vec((key(), json()), 0..3).prop_map(|members| {
        let members: Vec<String> = members
            .into_iter()
            .map(|(key, value)| format!("{key}:{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}
