//! Message threads, held and refused.

use crate::client::{Client, user};
use serde_json::{Value, json};
use sim::{Config, Latency, Threads};

const BETA: &str = "message-threads-2026-08-12";

fn create(client: &mut Client) -> Value {
    client.answered(json!({"system": "Be brief.", "thread": {"type": "create"}}))
}

fn go_on(answer: &Value) -> Value {
    let id = &answer["id"];
    json!({"messages": [user("more")], "thread": {"type": "continue", "previous_message_id": id}})
}

#[test]
fn only_what_is_new_is_sent() {
    let mut client = Client::with(&[BETA]);
    let first = create(&mut client);
    let second = client.answered(go_on(&first));
    let tokens = |answer: &Value| answer["usage"]["input_tokens"].as_u64().unwrap();
    assert!(tokens(&second) > tokens(&first));
    client.refused(go_on(&first), 400, "thread_already_continued", "");
    let third = client.answered(go_on(&second));
    client.second += 301;
    client.refused(go_on(&third), 404, "thread_not_found", "");
}

#[test]
fn what_does_not_fit() {
    let mut client = Client::with(&[BETA, "context-management-2025-06-27"]);
    let first = create(&mut client);
    let mut other = go_on(&first);
    other["model"] = json!("claude-fable-5-1");
    client.refused(other, 400, "thread_fingerprint_mismatch", "");
    let mut system = go_on(&first);
    system["system"] = json!("x");
    client.refused(system, 400, "", "system");
    let mut edits = go_on(&first);
    edits["context_management"] = json!({"edits": []});
    client.refused(
        edits,
        400,
        "thread_unsupported_request",
        "context_management",
    );
    client.answered(go_on(&first));
}

#[test]
fn one_answer_at_a_time() {
    let mut client = Client::new(Config {
        latency: Some(Latency::default()),
        ..Config::default()
    });
    client.betas = vec![BETA];
    let first = create(&mut client);
    client.refused(go_on(&first), 400, "thread_continue_in_flight", "");
    client.second += 10;
    client.answered(go_on(&first));
}

#[test]
fn refused_with_both_texts() {
    let mut client = Client::new(Config {
        threads: Threads::Refuse,
        ..Config::default()
    });
    client.betas = vec![BETA];
    let text = "capability_rejected: beta_header:message-threads-2026-08-12";
    let body = json!({"thread": {"type": "create"}});
    client.refused(body, 400, "thread_unsupported_request", text);
    client.answered(json!({}));
}
