//! Transcripts in and out: each format with its quirks.

use std::fmt::Write as _;

use context::turn::Part;
use context::{Heuristic, Provenance, Role, Tokens, Turn, TurnDraft, TurnId};
use proptest::prelude::*;

use super::{Document, Format, LoadError, Session, detect, load, load_as};

fn open(text: &str) -> Document {
    load(text.as_bytes(), "test", &Heuristic).unwrap()
}

/// One line a turn: role and parts, shortened.
fn view(session: &Session) -> String {
    let mut out = String::new();
    for turn in &session.turns {
        write!(out, "{}", turn.role()).unwrap();
        for part in turn.parts() {
            match part {
                Part::Text(text) => write!(out, " {:?}", text.as_str()),
                Part::Thinking(text) => write!(out, " thinks {:?}", text.as_str()),
                Part::Call(call) => write!(out, " {}={}({})", call.id, call.name, call.arguments),
                Part::Result(result) => write!(
                    out,
                    " {}:{:?}{:?}",
                    result.call,
                    result.outcome,
                    result.text.as_str()
                ),
                Part::Attachment(attachment) => write!(out, " [{}]", attachment.kind),
                Part::Opaque(opaque) => write!(out, " <{}>", opaque.kind),
            }
            .unwrap();
        }
        out.push('\n');
    }
    out
}

/// The only session of a text: its format, its view, and the code and line of each problem.
fn check(text: &str, format: Format, expected: &[&str], problems: &[(&str, usize)]) -> Document {
    assert_eq!(detect(text.as_bytes()), Some(format));
    let document = open(text);
    assert_eq!(document.sessions.len(), 1);
    let session = &document.sessions[0];
    assert_eq!(session.format, format);
    let view = view(session);
    assert_eq!(view.lines().collect::<Vec<_>>(), expected);
    let found: Vec<(&str, usize)> = session
        .problems
        .iter()
        .map(|problem| (problem.code.as_str(), problem.line))
        .collect();
    assert_eq!(found, problems);
    let whole = document.render(0, &session.turns).unwrap();
    assert_eq!(whole, text.as_bytes(), "all turns give back the file");
    swap(&document, session);
    document
}

/// Writes a session with all but its last two turns replaced by a summary, and reads it again: the
/// kept turns must be there in their own bytes, the summary must be found.
fn swap(document: &Document, session: &Session) {
    let kept = session.turns.len().min(2);
    let tail = &session.turns[session.turns.len() - kept..];
    let summary = TurnDraft::text(Role::User, "what was before")
        .from_provenance(Provenance::Summary)
        .after(TurnId::ROOT, &Heuristic);
    let shown: Vec<Turn> = [summary].into_iter().chain(tail.iter().cloned()).collect();
    let written = document.render(0, &shown).unwrap();
    let again = load_as(session.format, &written, "again", &Heuristic).unwrap();
    let text = String::from_utf8_lossy(&written);
    let again = &again.sessions[0];
    let said: Vec<&[Part]> = again.turns.iter().map(Turn::parts).collect();
    let expected: Vec<&[Part]> = tail.iter().map(Turn::parts).collect();
    let found =
        again.compactions.len() == 1 || again.turns[0].texts().next() == Some("what was before");
    assert!(found, "the summary is found in {text}");
    let skipped = said.len() - expected.len();
    assert_eq!(said[skipped..], expected, "{text}");
}

const SYNTHETIC: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"look"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-02T03:04:05Z","message":{"id":"m1","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"x"}],"usage":{"input_tokens":1,"output_tokens":1}}}
{"type":"assistant","uuid":"u3","parentUuid":"u2","sessionId":"s","message":{"id":"m1","model":"claude-x","content":[{"type":"tool_use","id":"a","name":"Read","input":{"p":1}}],"usage":{"input_tokens":1,"output_tokens":2}}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","toolUseResult":{"x":1},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"}]}}
{"type":"assistant","uuid":"u5","parentUuid":"u3","sessionId":"s","message":{"id":"m1","model":"claude-x","content":[{"type":"tool_use","id":"b","name":"Read","input":{}}],"usage":{"input_tokens":1,"output_tokens":9,"cache_read_input_tokens":5}}}
{"type":"progress","uuid":"p1","parentUuid":"u5","sessionId":"s","data":{}}
{"type":"user","uuid":"u6","parentUuid":"p1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"B"},{"type":"image","source":{"media_type":"image/png","data":"AA"}}]}]}}
{"type":"assistant","uuid":"u7","parentUuid":"u6","sessionId":"s","message":{"id":"m2","model":"claude-x","content":[{"type":"text","text":"done"}]}}
"#;

#[test]
fn claude_code_puts_a_message_together_and_its_results_after_it() {
    let document = check(
        SYNTHETIC,
        Format::ClaudeCode,
        &[
            "user \"look\"",
            "assistant thinks \"hm\" a=Read({\"p\":1}) b=Read({})",
            "tool a:Succeeded\"A\"",
            "tool b:Failed\"B\" [image/png]",
            "assistant \"done\"",
        ],
        &[],
    );
    let session = &document.sessions[0];
    assert_eq!(session.model.as_deref(), Some("claude-x"));
    assert_eq!(session.usage.len(), 1);
    let usage = session.usage[0];
    assert_eq!(
        (usage.turn, usage.output.get(), usage.cache_read.get()),
        (1, 9, 5)
    );
    assert!(session.turns[1].at().is_some());
}

#[test]
fn claude_code_keeps_the_chain_through_a_swap() {
    let document = open(SYNTHETIC);
    let turns = &document.sessions[0].turns;
    let summary = TurnDraft::text(Role::User, "short")
        .from_provenance(Provenance::Summary)
        .after(TurnId::ROOT, &Heuristic);
    let pins = TurnDraft::text(Role::User, "pinned")
        .from_provenance(Provenance::Pins)
        .after(summary.id(), &Heuristic);
    let shown = [
        turns[0].clone(),
        summary,
        pins,
        turns[2].clone(),
        turns[4].clone(),
    ];
    let written = String::from_utf8(document.render(0, &shown).unwrap()).unwrap();
    let records: Vec<serde_json::Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = records
        .iter()
        .map(|record| {
            record["subtype"]
                .as_str()
                .or(record["type"].as_str())
                .unwrap()
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "compact_boundary",
            "user",
            "user",
            "user",
            "user",
            "informational",
            "assistant"
        ]
    );
    // From the last record up, every parent is the record above, down to the session's root.
    for pair in records[1..].windows(2) {
        assert_eq!(pair[1]["parentUuid"], pair[0]["uuid"], "{written}");
    }
    assert_eq!(records[2]["isCompactSummary"], true);
    assert_eq!(records[2]["sessionId"], "s");
    assert_eq!(records[3]["message"]["content"], "pinned");
    for own in [0, 3, 7] {
        assert!(written.contains(SYNTHETIC.lines().nth(own).unwrap()));
    }
}

#[test]
fn claude_code_finds_compactions_subagents_and_what_is_broken() {
    let text = r#"{"type":"summary","summary":"t","leafUuid":"x"}
{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"go"}}
{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"2","parentUuid":"1","isApiErrorMessage":true,"sessionId":"s","message":{"id":"e","content":[{"type":"text","text":"overloaded"}]}}
{"type":"user","uuid":"2m","parentUuid":"1","isMeta":true,"sessionId":"s","message":{"role":"user","content":"caveat"}}
{"type":"assis
{"type":"assistant","uuid":"s1","parentUuid":null,"isSidechain":true,"agentId":"q","message":{"id":"n","content":[{"type":"text","text":"sub"}]}}
{"type":"system","subtype":"compact_boundary","uuid":"3","parentUuid":null,"logicalParentUuid":"1","compactMetadata":{"trigger":"auto","preTokens":1234}}
{"type":"user","uuid":"4","parentUuid":"3","isCompactSummary":true,"message":{"role":"user","content":"so far"}}
{"type":"user","uuid":"5","parentUuid":"4","message":{"role":"user","content":"old"}}
{"type":"user","uuid":"6","parentUuid":"4","message":{"role":"user","content":"new"}}
{"type":"novelty","uuid":"7","parentUuid":"6"}
"#;
    let document = open(text);
    let titles: Vec<&str> = document
        .sessions
        .iter()
        .map(|session| &*session.title)
        .collect();
    assert_eq!(titles, ["test", "test (subagent 1)"]);
    let session = &document.sessions[0];
    assert_eq!(view(session), "user \"go\"\nuser \"new\"\n");
    assert_eq!(view(&document.sessions[1]), "assistant \"sub\"\n");
    let compaction = &session.compactions[0];
    assert_eq!(compaction.before, 1);
    assert_eq!(compaction.tokens_before.unwrap().get(), 1234);
    assert_eq!(compaction.summary.as_str(), "so far");
    let codes: Vec<(&str, usize)> = session
        .problems
        .iter()
        .map(|problem| (problem.code.as_str(), problem.line))
        .collect();
    assert_eq!(
        codes,
        [
            ("E0130", 3),
            ("E0129", 4),
            ("E0128", 5),
            ("E0125", 6),
            ("E0127", 10),
            ("E0126", 12)
        ]
    );
    let alone = document.render(1, &document.sessions[1].turns).unwrap();
    assert_eq!(
        view(&load(&alone, "", &Heuristic).unwrap().sessions[0]),
        "assistant \"sub\"\n"
    );
}

#[test]
fn pi_sessions_of_both_versions() {
    let first = r#"{"type":"session","id":"x","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/","provider":"anthropic","modelId":"m0"}
{"type":"message","timestamp":"2025-11-20T23:33:51Z","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}
{"type":"message","message":{"role":"assistant","content":[],"model":"m1","stopReason":"aborted"}}
{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a\n","exitCode":0}}
{"type":"compaction","summary":"before","tokensBefore":7,"firstKeptEntryIndex":1}
{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"p":1}}],"model":"m2","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}}
{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"ok"}],"isError":false}}
"#;
    let document = check(
        first,
        Format::Pi,
        &[
            "user \"hi\"",
            "assistant",
            "user \"Ran `ls`\\n```\\na\\n\\n```\"",
            "assistant c=read({\"p\":1})",
            "tool c:Succeeded\"ok\"",
        ],
        &[("E0134", 3)],
    );
    assert_eq!(document.sessions[0].compactions[0].before, 3);
    assert_eq!(document.sessions[0].model.as_deref(), Some("m2"));

    let third = r#"{"type":"session","version":3,"id":"x","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"three"}}
{"type":"message","id":"d","parentId":"b","message":{"role":"user","content":"instead"}}
"#;
    check(
        third,
        Format::Pi,
        &["user \"one\"", "assistant \"two\"", "user \"instead\""],
        &[("E0127", 4)],
    );
}

#[test]
fn codex_rollouts() {
    let text = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/"}}
{"type":"turn_context","payload":{"model":"gpt-x"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}
{"type":"event_msg","payload":{"type":"user_message","message":"go"}}
{"type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"plan"}],"encrypted_content":"zz"}}
{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"c\":1}","call_id":"k"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"patch","input":"free","call_id":"l"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":9}}}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"k","output":"{\"output\":\"bad\",\"metadata\":{\"exit_code\":2}}"}}
{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"l","output":{"content":"fine","success":true}}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"no"}]}}
{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
{"type":"compacted","payload":{"message":"so far","replacement_history":[]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}
"#;
    let document = check(
        text,
        Format::Codex,
        &[
            "user \"go\"",
            "assistant thinks \"plan\" k=shell({\"c\":1}) l=patch(free)",
            "tool k:Failed\"bad\"",
            "tool l:Succeeded\"fine\"",
            "assistant \"done\"",
        ],
        &[("E0127", 12)],
    );
    let session = &document.sessions[0];
    assert_eq!(session.model.as_deref(), Some("gpt-x"));
    assert_eq!(session.compactions[0].before, 4);
    assert_eq!(session.compactions[0].tokens_before.unwrap().get(), 109);
    assert_eq!(session.usage[0].input.get(), 60);
}

#[test]
fn copilot_events() {
    check(
        r#"{"type":"session.start","data":{"sessionId":"x","selectedModel":"m"},"id":"1","parentId":null}
{"type":"user.message","data":{"content":"go"},"id":"2","parentId":"1"}
{"type":"assistant.message","data":{"content":"","toolRequests":[{"toolCallId":"t","name":"view","arguments":{"p":1}}]},"id":"3","parentId":"2"}
{"type":"tool.execution_start","data":{"toolCallId":"t"},"id":"4","parentId":"3"}
{"type":"tool.execution_complete","data":{"toolCallId":"t","success":false,"error":{"message":"no"}},"id":"5","parentId":"4"}
{"type":"assistant.message","data":{"content":"sorry"},"id":"6","parentId":"5"}
"#,
        Format::Copilot,
        &[
            "user \"go\"",
            "assistant t=view({\"p\":1})",
            "tool t:Failed\"no\"",
            "assistant \"sorry\"",
        ],
        &[],
    );
}

#[test]
fn openai_lists_bare_and_in_records() {
    let list = r#"[ {"role":"system","content":"be"}, {"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"x"}}]},
 {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
 {"role":"tool","tool_call_id":"c","content":"r"}, {"role":"assistant","content":"bye"} ]"#;
    let expected = [
        "system \"be\"",
        "user \"hi\" [image]",
        "assistant c=f({})",
        "tool c:Succeeded\"r\"",
        "assistant \"bye\"",
    ];
    check(list, Format::OpenAiChat, &expected, &[]);
    for key in ["messages", "traj", "history"] {
        let record = format!("{{\"task\": {{\"messages\": 3}}, \"{key}\": {list}, \"n\": 1}}\n");
        check(&record, Format::OpenAiChat, &expected, &[]);
    }
    let lines: String = serde_json::from_str::<Vec<serde_json::Value>>(list)
        .unwrap()
        .iter()
        .map(|message| format!("{message}\r\n"))
        .collect();
    check(&lines, Format::OpenAiChat, &expected, &[]);
}

#[test]
fn the_output_of_a_command_is_no_message_of_the_users() {
    let record = r#"{"history":[{"role":"system","content":"s","message_type":"system_prompt"},
 {"role":"user","content":"a demo","message_type":"observation","is_demo":true},
 {"role":"assistant","content":"ls","action":"ls","message_type":"action","is_demo":true},
 {"role":"user","content":"Mend it","message_type":"observation"},
 {"role":"assistant","content":"I look. ls","action":"ls","message_type":"action"},
 {"role":"user","content":"a.py","message_type":"observation"},
 {"role":"assistant","content":"Done."},{"role":"user","content":"Thanks"}]}"#;
    let expected = [
        "system \"s\"",
        "user \"a demo\"",
        "assistant \"ls\"",
        "user \"Mend it\"",
        "assistant \"I look. ls\"",
        "tool \"a.py\"",
        "assistant \"Done.\"",
        "user \"Thanks\"",
    ];
    check(record, Format::OpenAiChat, &expected, &[]);
}

#[test]
fn a_list_that_breaks_off_is_read_as_far_as_it_goes() {
    check(
        r#"{"id": 1, "messages": [{"role":"user","content":"a"}, {"role":"assistant","content":"b"}, 7, {"role":"us"#,
        Format::OpenAiChat,
        &["user \"a\"", "assistant \"b\""],
        &[("E0125", 3), ("E0125", 4)],
    );
}

#[test]
fn anthropic_lists_and_logged_requests() {
    let one = r#"{"model":"claude-x","system":"s","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"new_block","q":1}]}]}"#;
    let two = r#"{"model":"claude-x","system":"s","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"new_block","q":1}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}"#;
    let document = check(
        &format!("{one}\n{two}\n"),
        Format::Anthropic,
        &[
            "user \"hi\"",
            "assistant a=f({\"x\":1}) <new_block>",
            "tool a:Succeeded\"\"",
        ],
        &[("E0136", 1), ("E0135", 2)],
    );
    assert_eq!(document.sessions[0].model.as_deref(), Some("claude-x"));
}

#[test]
fn langchain_dumps_of_all_forms() {
    let expected = ["human", "ai", "tool"];
    let dumps = [
        r#"[{"type":"human","data":{"content":"q"}},{"type":"ai","data":{"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"tool_calls":[{"name":"f","args":{},"id":"a"}]}},{"type":"tool","data":{"content":"r","tool_call_id":"a","status":"error"}}]"#,
        r#"[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"q"}},{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","additional_kwargs":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}}},{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"r","tool_call_id":"a","status":"error"}}]"#,
        r#"{"values":{"messages":[{"type":"human","content":"q"},{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"a"}]},{"type":"tool","content":"r","tool_call_id":"a","status":"error"}]}}"#,
    ];
    assert_eq!(expected.len(), 3);
    for dump in dumps {
        check(
            dump,
            Format::LangChain,
            &["user \"q\"", "assistant a=f({})", "tool a:Failed\"r\""],
            &[],
        );
    }
}

#[test]
fn several_transcripts_in_a_file_are_written_one_at_a_time() {
    let text = r#"[ {"task": 1, "traj": [{"role":"user","content":"a"}, {"role":"user","content":"b"}]},
 {"task": 2, "traj": [{"role":"user","content":"c"}]} ]"#;
    let document = open(text);
    let titles: Vec<&str> = document
        .sessions
        .iter()
        .map(|session| &*session.title)
        .collect();
    assert_eq!(titles, ["test #1", "test #2"]);
    let first = document.render(0, &document.sessions[0].turns).unwrap();
    let expected =
        r#"{"task": 1, "traj": [{"role":"user","content":"a"}, {"role":"user","content":"b"}]}"#;
    assert_eq!(String::from_utf8(first).unwrap().trim_end(), expected);
    assert!(document.render(2, &[]).is_err());
}

#[test]
fn haystacks_are_one_session_each_and_keep_their_chats_apart() {
    let text = r#"[{"question_id":"q","haystack_dates":["2023/05/20 (Sat) 02:21","2023/05/21 (Sun) 02:21"],"haystack_sessions":[[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],[{"role":"user","content":"c"}]]}]"#;
    let document = open(text);
    assert_eq!(document.sessions.len(), 1);
    let turns = &document.sessions[0].turns;
    assert_eq!(turns[2].at().unwrap().to_string(), "2023-05-21T02:21:00Z");
    let written = document.render(0, &turns[1..]).unwrap();
    let expected = r#""haystack_sessions":[[{"role":"assistant","content":"b"}],[{"role":"user","content":"c"}]]"#;
    assert!(String::from_utf8(written).unwrap().contains(expected));
}

#[test]
fn a_broken_last_record_does_not_hide_the_pi_conversation() {
    let log = r#"{"type":"session","version":3,"id":"x","cwd":"/"}
{"type":"message","id":"a","parentId":"x","message":{"role":"user","content":"one"}}
{"t9pe":"message","id":"b","parentId":null}
"#;
    let document = load(log.as_bytes(), "", &Heuristic).unwrap();
    assert_eq!(document.sessions[0].turns.len(), 1);
    let no_message = log.replace("t9pe", "type").replace("null", "\"x\"");
    let document = load(no_message.as_bytes(), "", &Heuristic).unwrap();
    assert_eq!(document.sessions[0].turns.len(), 1);
}

#[test]
fn a_log_that_begins_with_its_compaction_is_known_by_it() {
    let log = r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":0,"tokensBefore":7}"#;
    let document = load(log.as_bytes(), "", &Heuristic).unwrap();
    assert_eq!(document.sessions[0].format, Format::Pi);
    assert_eq!(&*document.sessions[0].compactions[0].summary, "s");
}

/// The formats of logs that hold compactions.
const FORMATS_OF_LOGS: [Format; 4] = [
    Format::ClaudeCode,
    Format::Pi,
    Format::Codex,
    Format::Copilot,
];

#[test]
fn new_records_have_the_time_of_their_neighbors() {
    let time = |n: usize| format!("2026-01-02T03:04:0{n}Z");
    let claude = |n: usize| {
        format!(
            r#"{{"type":"user","uuid":"{n}","parentUuid":"{}","sessionId":"s","timestamp":"{}","message":{{"role":"user","content":"{n}"}}}}"#,
            n - 1,
            time(n)
        )
    };
    let pi = |n: usize| {
        format!(
            r#"{{"type":"message","id":"{n}","parentId":"{}","timestamp":"{}","message":{{"role":"user","content":"{n}"}}}}"#,
            n - 1,
            time(n)
        )
    };
    let codex = |n: usize| {
        format!(
            r#"{{"timestamp":"{}","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{n}"}}]}}}}"#,
            time(n)
        )
    };
    let copilot = |n: usize| {
        format!(
            r#"{{"type":"user.message","id":"{n}","parentId":"{}","timestamp":"{}","data":{{"content":"{n}"}}}}"#,
            n - 1,
            time(n)
        )
    };
    let lines: [&dyn Fn(usize) -> String; 4] = [&claude, &pi, &codex, &copilot];
    for (format, line) in FORMATS_OF_LOGS.into_iter().zip(lines) {
        let log: Vec<String> = (1..5).map(line).collect();
        let document = load_as(format, log.join("\n").as_bytes(), "", &Heuristic).unwrap();
        let turns = &document.sessions[0].turns;
        let new = |provenance| {
            let draft = TurnDraft::text(Role::User, "new").from_provenance(provenance);
            draft.after(TurnId::ROOT, &Heuristic)
        };
        let (summary, note) = (new(Provenance::Summary), new(Provenance::Note));
        // Before the third turn, behind it, with a gap that a bridge fills, and alone.
        let shown = [
            vec![summary.clone(), turns[2].clone(), note.clone()],
            vec![turns[0].clone(), summary.clone(), turns[3].clone()],
            vec![summary, note],
        ];
        let expected = [3, 4, 4].map(time);
        if format == Format::Pi {
            // What stands before the summary is shown before it.
            let written = String::from_utf8(document.render(0, &shown[1]).unwrap()).unwrap();
            assert!(written.contains(r#""firstKeptEntryId":"1""#), "{written}");
        }
        for (shown, expected) in shown.iter().zip(&expected) {
            let written = String::from_utf8(document.render(0, shown).unwrap()).unwrap();
            for line in written
                .lines()
                .filter(|line| !log.iter().any(|it| it == line))
            {
                let record: serde_json::Value = serde_json::from_str(line).unwrap();
                let at = record["timestamp"].as_str();
                assert_eq!(at, Some(&**expected), "{line}");
            }
        }
    }
}

/// A file that `ebbtide compact` wrote holds the summary without its originals.
#[test]
fn a_summary_without_its_originals_is_a_turn() {
    let claude = r#"{"type":"system","subtype":"compact_boundary","uuid":"1","parentUuid":null,"sessionId":"s"}
{"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","message":{"role":"user","content":"<env>linux</env>"}}
{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"so far"}}
{"type":"user","uuid":"4","parentUuid":"3","sessionId":"s","message":{"role":"user","content":"go on"}}
{"type":"assistant","uuid":"5","parentUuid":"4","sessionId":"s","message":{"id":"m","content":[{"type":"text","text":"yes"}]}}
{"type":"system","subtype":"compact_boundary","uuid":"6","parentUuid":null,"logicalParentUuid":"5","sessionId":"s"}
{"type":"user","uuid":"7","parentUuid":"6","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"further"}}
{"type":"user","uuid":"8","parentUuid":"7","sessionId":"s","message":{"role":"user","content":"more"}}
"#;
    let pi = r#"{"type":"session","version":3,"id":"x","cwd":"/"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"<env>linux</env>"}}
{"type":"compaction","id":"b","parentId":"a","summary":"so far","tokensBefore":7}
{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"go on"}}
{"type":"message","id":"d","parentId":"c","message":{"role":"assistant","content":[{"type":"text","text":"yes"}]}}
{"type":"compaction","id":"e","parentId":"d","summary":"further","tokensBefore":7}
{"type":"message","id":"f","parentId":"e","message":{"role":"user","content":"more"}}
"#;
    let codex = r#"{"type":"session_meta","payload":{"id":"x","cwd":"/"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<env>linux</env>"}]}}
{"type":"compacted","payload":{"message":"so far","replacement_history":[]}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}}
{"type":"compacted","payload":{"message":"further","replacement_history":[]}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"more"}]}}
"#;
    let copilot = r#"{"type":"session.start","data":{"sessionId":"x"},"id":"1","parentId":null}
{"type":"user.message","data":{"content":"<env>linux</env>"},"id":"2","parentId":"1"}
{"type":"session.compaction_complete","data":{"summaryContent":"so far"},"id":"3","parentId":"2"}
{"type":"user.message","data":{"content":"go on"},"id":"4","parentId":"3"}
{"type":"assistant.message","data":{"content":"yes"},"id":"5","parentId":"4"}
{"type":"session.compaction_complete","data":{"summaryContent":"further"},"id":"6","parentId":"5"}
{"type":"user.message","data":{"content":"more"},"id":"7","parentId":"6"}
"#;
    let expected = [
        "user \"<env>linux</env>\"",
        "user \"so far\"",
        "user \"go on\"",
        "assistant \"yes\"",
        "user \"more\"",
    ];
    for (format, log) in FORMATS_OF_LOGS
        .into_iter()
        .zip([claude, pi, codex, copilot])
    {
        let document = open(log);
        let session = &document.sessions[0];
        assert_eq!(session.format, format);
        assert_eq!(view(session).lines().collect::<Vec<_>>(), expected);
        let kinds = session.turns.iter().map(Turn::provenance);
        let is_summary: Vec<bool> = kinds.map(|it| it == Provenance::Summary).collect();
        assert_eq!(is_summary, [false, true, false, false, false]);
        let places: Vec<usize> = session.compactions.iter().map(|it| it.before).collect();
        assert_eq!(places, [2, 4]);
        let whole = document.render(0, &session.turns).unwrap();
        assert_eq!(whole, log.as_bytes());
        // The summary and what announces it come and go together.
        let shown = [session.turns[1].clone(), session.turns[4].clone()];
        let written = document.render(0, &shown).unwrap();
        let again = load_as(format, &written, "", &Heuristic).unwrap();
        assert_eq!(view(&again.sessions[0]), "user \"so far\"\nuser \"more\"\n");
        let boundaries = String::from_utf8(written).unwrap();
        let boundaries = boundaries.matches("compact_boundary").count();
        assert_eq!(boundaries, usize::from(format == Format::ClaudeCode));
    }
}

#[test]
fn a_summary_of_prompts_without_an_answer_is_no_turn() {
    let log = r#"{"type":"session_meta","payload":{"id":"x","cwd":"/"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}}
{"type":"compacted","payload":{"message":"so far","replacement_history":[]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}}
"#;
    let document = open(log);
    let session = &document.sessions[0];
    assert_eq!(view(session), "user \"go on\"\nassistant \"yes\"\n");
    assert_eq!(session.compactions[0].before, 1);
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let check = |text: &str, expected: LoadError| {
        assert_eq!(load(text.as_bytes(), "", &Heuristic).unwrap_err(), expected);
    };
    check("", LoadError::Empty);
    check("\u{feff} \n", LoadError::Empty);
    check("hello", LoadError::UnknownFormat);
    check("{\"a\":1}", LoadError::UnknownFormat);
    check("[[1,2],[3]]", LoadError::UnknownFormat);
    let header = "{\"type\":\"session\",\"cwd\":\"/\"}\n";
    check(header, LoadError::NoMessages);
    let broken = LoadError::NothingReadable {
        broken: 2,
        first: 2,
    };
    check(&format!("{header}nonsense\n{{\n"), broken);
    for entry in super::CODES {
        assert!(entry.code.as_str().starts_with("E01"));
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let text = format!("\u{feff}{}", SYNTHETIC.replace('\n', "\r\n"));
    let document = open(&text);
    assert_eq!(
        view(&document.sessions[0]),
        view(&open(SYNTHETIC).sessions[0])
    );
    let whole = document.render(0, &document.sessions[0].turns).unwrap();
    assert_eq!(whole, text.as_bytes());
}

const FORMATS: [Format; 7] = [
    Format::ClaudeCode,
    Format::Codex,
    Format::Pi,
    Format::OpenAiChat,
    Format::Anthropic,
    Format::LangChain,
    Format::Copilot,
];

/// Loads in every way, and writes what was loaded with every second turn left out.
fn survive(bytes: &[u8]) {
    let mut documents: Vec<Document> = FORMATS
        .into_iter()
        .filter_map(|format| load_as(format, bytes, "", &Heuristic).ok())
        .collect();
    documents.extend(load(bytes, "", &Heuristic).ok());
    for document in &documents {
        for (index, session) in document.sessions.iter().enumerate() {
            let half: Vec<Turn> = session.turns.iter().step_by(2).cloned().collect();
            assert!(document.render(index, &half).is_ok());
            assert!(document.render(index, &session.turns).is_ok());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survive(&bytes);
    }

    #[test]
    fn mutated_logs_never_panic(
        cut in 0..SYNTHETIC.len(),
        at in 0..SYNTHETIC.len(),
        byte in any::<u8>(),
        swap in any::<[prop::sample::Index; 2]>(),
    ) {
        let mut lines: Vec<&str> = SYNTHETIC.lines().collect();
        let [one, other] = swap.map(|index| index.index(lines.len()));
        lines.swap(one, other);
        let mut bytes = lines.join("\n").into_bytes();
        let last = bytes.len() - 1;
        bytes[at.min(last)] = byte;
        bytes.truncate(cut.max(1));
        survive(&bytes);
    }

    #[test]
    fn any_subset_of_a_log_is_written_in_its_own_lines(kept in prop::collection::vec(any::<bool>(), 5)) {
        let document = open(SYNTHETIC);
        let turns = document.sessions[0].turns.iter();
        let shown: Vec<Turn> = turns.zip(kept).filter(|(_, kept)| *kept).map(|(turn, _)| turn.clone()).collect();
        let written = document.render(0, &shown).unwrap();
        if !shown.is_empty() {
            let again = load(&written, "", &Heuristic).unwrap();
            let said: Vec<&[Part]> = again.sessions[0].turns.iter().map(Turn::parts).collect();
            let expected: Vec<&[Part]> = shown.iter().map(Turn::parts).collect();
            prop_assert_eq!(said, expected);
        }
    }
}

#[test]
fn a_session_has_the_name_and_the_folder_that_its_log_gives() {
    let claude = "{\"type\":\"user\",\"uuid\":\"1\",\"sessionId\":\"s\",\"cwd\":\"/w/shop\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}\n\
        {\"type\":\"ai-title\",\"aiTitle\":\"A cart\",\"sessionId\":\"s\"}\n\
        {\"type\":\"custom-title\",\"customTitle\":\"The cart\",\"sessionId\":\"s\"}\n";
    let pi = "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/w/shop\"}\n\
        {\"type\":\"session_info\",\"id\":\"a\",\"parentId\":\"s\",\"name\":\"The cart\"}\n\
        {\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}\n";
    for log in [claude, pi] {
        let document = open(log);
        let session = &document.sessions[0];
        let name = session.name.as_ref().map(context::Text::as_str);
        assert_eq!(
            (name, session.folder.as_deref()),
            (Some("The cart"), Some("/w/shop"))
        );
    }
}

#[test]
fn a_log_of_gemini_is_refused_by_name() {
    let log = "{\n \"sessionId\": \"s\", \"projectHash\": \"h\",\n \"messages\": [{\"type\": \"user\", \"content\": \"go\"}]\n}\n";
    let lines =
        "{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n{\"type\":\"user\",\"content\":\"go\"}\n";
    let saved =
        r#"[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"text":"Done."}]}]"#;
    let inside = format!("{{\"history\":{saved}}}");
    for log in [log, lines, saved, &inside] {
        let error = load(log.as_bytes(), "test", &Heuristic).unwrap_err();
        assert_eq!(error, LoadError::Unsupported("Gemini CLI"));
    }
    let typed = r#"[{"role":"user","parts":[{"type":"text","text":"go"}]}]"#;
    let loaded = load(typed.as_bytes(), "test", &Heuristic);
    assert!(!matches!(loaded, Err(LoadError::Unsupported(_))));
}

#[test]
fn the_lifetime_of_cache_writes_is_read_where_the_log_tells_it() {
    let claude = r#"{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"2","sessionId":"s","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":2,"output_tokens":5,"cache_creation_input_tokens":70,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":50}}}}
"#;
    let langchain = |sum: u32| {
        format!(
            r#"[{{"type":"human","content":"q"}},{{"type":"ai","content":"a","usage_metadata":{{"input_tokens":72,"output_tokens":5,"total_tokens":77,"input_token_details":{{"cache_read":0,"cache_creation":{sum},"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":50}}}}}}]"#
        )
    };
    // Its versions tell the sum beside the parts, or instead of it nothing.
    for log in [claude.to_owned(), langchain(70), langchain(0)] {
        let usage = open(&log).sessions[0].usage[0];
        let found = [usage.input, usage.cache_write, usage.cache_write_hour].map(Tokens::get);
        assert_eq!(found, [2, 70, 50], "{log}");
    }
}
