//! Compactions of clients: those that are recognized, those that are not, and the answers.

use jiff::Timestamp;
use wire::api::{Accumulator, Decoder, Dialect, Request, Response, Stop};

use super::{ClientCompaction, Form, Wants, answer, answer_sealed, own_compaction};

fn ask(dialect: Dialect, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    let key = dialect.list_key();
    format!(
        r#"{{"model":"m","{key}":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":"hello"}},{{"role":"user","content":{text}}}]}}"#
    )
}

fn found(dialect: Dialect, body: &str) -> Option<ClientCompaction> {
    let request = Request::parse(dialect, body.as_bytes()).unwrap();
    own_compaction("/v1/x?beta=true", &request, None)
}

#[track_caller]
fn check(dialect: Dialect, text: &str, expected: Option<(&str, Wants)>) {
    let own = found(dialect, &ask(dialect, text));
    assert_eq!(own.as_ref().map(|own| (own.client, own.wants)), expected);
    assert!(own.is_none_or(|own| own.covers == 2));
}

const SUMMARY: Wants = Wants::Text(Form::Summary);
const PLAIN: Wants = Wants::Text(Form::Plain);

#[test]
fn prompts_of_clients_are_recognised() {
    let task = "Your task is to create a detailed summary of the conversation so far, … <analysis> … <summary> …";
    let claude = Some(("claude-code", SUMMARY));
    check(Dialect::Anthropic, task, claude);
    let newer = format!("CRITICAL: Respond with TEXT ONLY. …\n\n{task}");
    check(Dialect::Anthropic, &newer, claude);
    let reminded = format!("<system-reminder>\nx\n</system-reminder>\n{task}");
    check(Dialect::Anthropic, &reminded, claude);
    check(
        Dialect::Responses,
        "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary …",
        Some(("codex", PLAIN)),
    );
    check(
        Dialect::Anthropic,
        "You have been working on the task described above … a continuation summary … <summary></summary>",
        Some(("anthropic-sdk", SUMMARY)),
    );
    check(
        Dialect::Chat,
        "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
        Some(("gemini-cli", Wants::Text(Form::Snapshot))),
    );
    check(
        Dialect::Chat,
        "<role>\nContext Extraction Assistant\n</role> … Messages to summarize:\nHuman: hi",
        Some(("langchain", Wants::Foreign)),
    );
}

#[test]
fn what_a_summary_of_everything_does_not_answer_is_told_apart() {
    let foreign = Some(("claude-code", Wants::Foreign));
    check(
        Dialect::Anthropic,
        "Your task is to create a detailed summary of the RECENT portion of the conversation … <summary>",
        foreign,
    );
    check(
        Dialect::Anthropic,
        "Your task is to create a detailed summary of the conversation so far … <analysis> <summary> … Additional Instructions:\nonly the tests",
        foreign,
    );
}

#[test]
fn a_text_about_compaction_is_not_one() {
    for text in [
        "Your task is to create a detailed summary of the paper",
        "Why does Claude Code say \"Your task is to create a detailed summary of the conversation so far\" with <analysis> and <summary>?",
        "You are performing a CONTEXT CHECKPOINT COMPACTION is what Codex says first",
        "summarize the conversation",
        "/compact",
        "",
    ] {
        for dialect in [Dialect::Anthropic, Dialect::Chat, Dialect::Responses] {
            check(dialect, text, None);
        }
    }
}

#[test]
fn only_the_user_can_ask_and_only_with_the_newest_message() {
    let task = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary";
    for body in [
        format!(
            r#"{{"messages":[{{"role":"user","content":"{task}"}},{{"role":"assistant","content":"done"}}]}}"#
        ),
        format!(
            r#"{{"messages":[{{"role":"user","content":"{task}"}},{{"role":"assistant","content":"done"}},{{"role":"user","content":"go on"}}]}}"#
        ),
        format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"{task}"}}]}}]}}"#
        ),
        format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"{task}"}},{{"type":"text","text":"what is that?"}}]}}]}}"#
        ),
    ] {
        assert_eq!(found(Dialect::Anthropic, &body), None);
    }
    let after_results = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"x"}},{{"type":"text","text":"{task}"}}]}}]}}"#
    );
    assert!(found(Dialect::Anthropic, &after_results).is_some());
    let before_a_reminder = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"{task}"}},{{"type":"text","text":"<system-reminder>x</system-reminder>"}}]}}]}}"#
    );
    assert!(found(Dialect::Anthropic, &before_a_reminder).is_some());
    assert_eq!(found(Dialect::Anthropic, r#"{"messages":[]}"#), None);
}

#[test]
fn parameters_triggers_and_paths_are_recognised() {
    let check = |dialect, body: &str, client, covers, wants| {
        let expected = ClientCompaction {
            client,
            covers,
            wants,
        };
        assert_eq!(found(dialect, body), Some(expected), "{body}");
    };
    let said = r#""messages":[{"role":"user","content":"x"}]"#;
    check(
        Dialect::Anthropic,
        &format!(r#"{{{said},"compaction":{{"type":"summarize"}}}}"#),
        "anthropic-api",
        1,
        Wants::Sealed,
    );
    let later = |tokens: Option<u64>| Wants::Later(tokens.map(context::Tokens::new));
    check(
        Dialect::Anthropic,
        &format!(
            r#"{{{said},"context_management":{{"edits":[{{"type":"clear_tool_uses_20250919"}},{{"type":"compact_20260112","trigger":{{"type":"input_tokens","value":60000}}}}]}}}}"#
        ),
        "anthropic-api",
        1,
        later(Some(60_000)),
    );
    let items = r#"{"role":"user","content":"x"}"#;
    check(
        Dialect::Responses,
        &format!(r#"{{"input":[{items},{{"type":"compaction_trigger"}}]}}"#),
        "openai-api",
        1,
        Wants::Sealed,
    );
    check(
        Dialect::Responses,
        &format!(r#"{{"input":[{items}],"context_management":[{{"type":"compaction"}}]}}"#),
        "openai-api",
        1,
        later(None),
    );
    let cleared = format!(
        r#"{{{said},"compaction":null,"context_management":{{"edits":[{{"type":"clear_thinking_20251015"}}]}}}}"#
    );
    assert_eq!(found(Dialect::Anthropic, &cleared), None);
    let body = format!(r#"{{"input":[{items}]}}"#);
    let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
    let own = own_compaction("/v1/responses/compact", &request, None).unwrap();
    assert_eq!((own.covers, own.wants), (1, Wants::Listed));
    assert_eq!(own_compaction("/v1/responses", &request, None), None);
}

/// The answer of a stream or of one JSON text, as a client reads it.
fn read(dialect: Dialect, content_type: &str, body: &[u8]) -> wire::api::Reply {
    if content_type == "application/json" {
        return Response::parse(dialect, body).unwrap().reply();
    }
    let mut decoder = Decoder::default();
    decoder.push(body);
    decoder.finish();
    let mut accumulator = Accumulator::new(dialect);
    while let Some(event) = decoder.next_event() {
        accumulator.accept(&event.unwrap()).unwrap();
    }
    accumulator.reply()
}

#[test]
fn answers_read_as_the_providers_own() {
    let summary = format!("# Goal\n{}", "ship \"it\" — naïve 漢字 ".repeat(400));
    let task = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary";
    for dialect in [Dialect::Anthropic, Dialect::Chat, Dialect::Responses] {
        for streams in [
            "",
            r#","stream":true,"stream_options":{"include_usage":true}"#,
        ] {
            let body = ask(dialect, task);
            let body = format!("{}{streams}}}", body.strip_suffix('}').unwrap());
            let request = Request::parse(dialect, body.as_bytes()).unwrap();
            let own = own_compaction("", &request, None).unwrap();
            let direct = answer(&request, &own, &summary, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(direct.status, 200);
            assert_eq!(
                direct.content_type == "application/json",
                streams.is_empty()
            );
            let reply = read(dialect, direct.content_type, &direct.body);
            assert_eq!(reply.draft().parts.len(), 1);
            let turn = reply.draft().parts.remove(0);
            assert_eq!(turn.readable().next(), Some(summary.trim()));
            assert_eq!(reply.stop, Some(Stop::EndOfTurn));
            assert_eq!(reply.model.as_deref(), Some("m"));
            let later = answer(&request, &own, &summary, Timestamp::MAX).unwrap();
            assert_ne!(later.body, direct.body, "ids differ");
        }
    }
}

#[test]
fn a_summary_is_wrapped_as_its_client_reads_it() {
    let task =
        "Your task is to create a detailed summary of the conversation so far <analysis> <summary>";
    let body = ask(Dialect::Anthropic, task);
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
    let own = own_compaction("", &request, None).unwrap();
    let direct = answer(&request, &own, "it", Timestamp::UNIX_EPOCH).unwrap();
    let body = String::from_utf8(direct.body.to_vec()).unwrap();
    assert!(body.contains(r#""content":[{"type":"text","text":"<summary>\nit\n</summary>"}]"#));
    assert!(body.contains(r#""usage":{"input_tokens":0,"#));
    assert_eq!(
        answer_sealed(&request, &own, "{}", Timestamp::UNIX_EPOCH).map(|it| it.status),
        None
    );
}

#[test]
fn a_block_goes_out_byte_for_byte() {
    let block =
        r#"{ "type":"compaction","content":"s\u00e9","signature":"x", "tool_changes":null}"#;
    for streams in ["", r#","stream":true"#] {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],"compaction":{{"type":"summarize"}}{streams}}}"#
        );
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
        let own = own_compaction("", &request, None).unwrap();
        assert!(answer(&request, &own, "s", Timestamp::UNIX_EPOCH).is_none());
        let direct = answer_sealed(&request, &own, block, Timestamp::UNIX_EPOCH).unwrap();
        let body = String::from_utf8(direct.body.to_vec()).unwrap();
        assert!(body.contains(block), "{body}");
        let reply = read(Dialect::Anthropic, direct.content_type, &direct.body);
        assert_eq!(reply.stop, Some(Stop::Compaction));
    }
}
