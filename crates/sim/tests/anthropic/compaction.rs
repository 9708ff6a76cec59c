//! Compaction on demand, by threshold and in words.

use crate::client::{Client, assistant, call, says, tool, user};
use serde_json::{Value, json};

const BETA: &str = "compact-2026-09-04";

fn talk() -> Vec<Value> {
    vec![
        user("please fix src/main.rs"),
        assistant("I look."),
        user("go on"),
    ]
}

fn compacted(client: &mut Client) -> Value {
    client.answered(json!({"messages": talk(), "compaction": {"type": "summarize"}}))
}

fn with(block: &Value, rest: Vec<Value>) -> Value {
    let mut messages = vec![says("assistant", json!([block]))];
    messages.extend(rest);
    json!({"messages": messages})
}

#[test]
fn a_summary_on_demand() {
    let mut client = Client::with(&[BETA]);
    let answer = compacted(&mut client);
    assert_eq!(answer["stop_reason"], "compaction");
    let block = &answer["content"][0];
    assert_eq!(block["type"], "compaction");
    assert!(block["content"].as_str().unwrap().contains("## Goal"));
    let usage = &answer["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"]),
        (&json!(0), &json!(0))
    );
    assert!(usage["iterations"][0]["input_tokens"].as_u64().unwrap() > 0);
    // The block alone, at the front with a tail, and as the first block of the first message.
    client.answered(with(block, vec![]));
    client.answered(with(block, vec![assistant("a"), user("b")]));
    let front = says("user", json!([block, {"type": "text", "text": "b"}]));
    client.answered(json!({"messages": [front]}));
    // A block alone has nothing to summarise again.
    let mut again = with(block, vec![]);
    again["compaction"] = json!({"type": "summarize"});
    client.refused(again, 400, "compaction_nothing_to_summarize", "");
    // What it says is cacheable.
    let mut marked = block.clone();
    marked["cache_control"] = json!({"type": "ephemeral"});
    client.answered(with(&marked, vec![user("b")]));
}

#[test]
fn blocks_sent_back_wrong() {
    let mut client = Client::with(&[BETA, "inline-tools-2026-09-15"]);
    let block = compacted(&mut client)["content"][0].clone();
    let mut check = |body: Value, code: &str| client.refused(body, 400, code, "");
    let mut other = block.clone();
    other["content"] = json!("nothing happened");
    check(with(&other, vec![user("b")]), "compaction_content_mismatch");
    let mut forged = block.clone();
    forged["signature"] = json!("EuYB");
    check(
        with(&forged, vec![user("b")]),
        "compaction_signature_invalid",
    );
    let mut changed = block.clone();
    changed["tool_changes"] = json!([{"type": "tool_removal"}]);
    check(
        with(&changed, vec![user("b")]),
        "compaction_tool_changes_mismatch",
    );
    let mut unsigned = block.clone();
    unsigned.as_object_mut().unwrap().remove("signature");
    check(
        with(&unsigned, vec![user("b")]),
        "compaction_signature_invalid",
    );
    let late = json!({"messages": [user("a"), says("assistant", json!([block])), user("b")]});
    check(late, "compaction_block_misplaced");
    let system = json!({"messages": [user("a"), says("system", json!([block]))]});
    check(system, "compaction_block_misplaced");
    let two = with(
        &block,
        vec![user("a"), says("assistant", json!([block])), user("b")],
    );
    check(two, "compaction_block_ambiguous");
    let mut budget = with(&block, vec![user("b")]);
    budget["output_config"] =
        json!({"task_budget": {"type": "tokens", "total": 9, "remaining": 5}});
    check(budget, "");
    client.betas.clear();
    client.refused(
        with(&block, vec![user("b")]),
        400,
        "",
        "compaction: Extra inputs",
    );
}

#[test]
fn asked_for_wrongly() {
    let mut client = Client::with(&[BETA, "context-management-2025-06-27"]);
    let mut check = |more: Value, code: &str, text: &str| {
        let mut body =
            json!({"messages": talk(), "compaction": {"type": "summarize"}, "tools": [tool()]});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        client.refused(body, 400, code, text);
    };
    check(
        json!({"context_management": {"edits": []}}),
        "",
        "context_management: not permitted",
    );
    check(json!({"stop_sequences": ["a"]}), "", "stop_sequences");
    check(
        json!({"output_config": {"format": {}}}),
        "",
        "output_config.format",
    );
    check(json!({"tool_choice": {"type": "any"}}), "", "tool_choice");
    check(
        json!({"compaction": {"type": "fold"}}),
        "",
        "compaction.type",
    );
    let long = "x".repeat(16_385);
    check(
        json!({"compaction": {"type": "summarize", "instructions": long}}),
        "",
        "16384",
    );
    check(json!({"model": "claude-opus-4-5"}), "", "does not support");
    let open = json!([user("a"), says("assistant", json!([call("1")]))]);
    check(
        json!({ "messages": open }),
        "compaction_incomplete_turn",
        "",
    );
    check(
        json!({"messages": [says("system", json!("a"))]}),
        "",
        "first message",
    );
}

#[test]
fn by_threshold() {
    let mut client = Client::with(&["compact-2026-01-12"]);
    let edit = |value: u64, pause: bool| json!({"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": value}, "pause_after_compaction": pause}]});
    let messages = json!([user(&"many words ".repeat(30_000))]);
    client.refused(
        json!({"context_management": edit(10, false)}),
        400,
        "",
        "greater than or equal to 50000",
    );
    let body = json!({"messages": messages, "context_management": edit(50_000, false)});
    let answer = client.answered(body);
    assert_eq!(answer["content"][0]["type"], "compaction");
    assert_eq!(answer["content"][1]["type"], "text");
    let iterations = answer["usage"]["iterations"].as_array().unwrap();
    assert_eq!(iterations.len(), 2);
    assert!(iterations[0]["input_tokens"].as_u64().unwrap() > 50_000);
    assert!(answer["usage"]["input_tokens"].as_u64().unwrap() < 5_000);
    let paused =
        client.answered(json!({"messages": messages, "context_management": edit(50_000, true)}));
    assert_eq!(paused["stop_reason"], "compaction");
    // Sent back with everything, what stands before the block is ignored.
    let mut all = messages.as_array().unwrap().clone();
    all.push(says("assistant", answer["content"].clone()));
    all.push(user("go on"));
    let next = client.answered(json!({"messages": all, "context_management": edit(50_000, false)}));
    assert!(next["usage"]["input_tokens"].as_u64().unwrap() < 5_000);
}

#[test]
fn in_words() {
    let mut client = Client::with(&[]);
    let ask = "Summarise.\n## Goal\n## Where the work stands\n## Key facts\n## Next steps";
    let mut messages = talk();
    messages.push(assistant("ok"));
    messages.push(user(ask));
    let answer = client.answered(json!({ "messages": messages }));
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("## Goal"), "{text}");
    assert!(!text.contains("Summarise."), "{text}");
}

#[test]
fn a_provider_without_compaction_knows_none_of_it() {
    let mut client = Client::with(&["context-management-2025-06-27"]);
    client.provider.config_mut().compaction = sim::Compaction::Unknown;
    let mut check = |body: Value, text: &str| client.refused(body, 400, "", text);
    let asks = json!({"messages": talk(), "compaction": {"type": "summarize"}});
    check(asks, "compaction: Extra inputs are not permitted");
    let edits = json!({"edits": [{"type": "compact_20260112"}]});
    check(json!({"context_management": edits}), "compact_20260112");
    let block = json!({"type": "compaction", "content": "x"});
    check(with(&block, vec![]), "Input tag 'compaction'");
    let cleared = json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
    client.answered(json!({"context_management": cleared}));
    client.betas.push(BETA);
    client.refused(json!({}), 400, "", BETA);
}
