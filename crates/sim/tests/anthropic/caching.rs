//! Reads and writes of the cache, over requests.

use crate::client::{Client, assistant, result, says, tool, user};
use proptest::prelude::*;
use serde_json::{Value, json};

fn marked(text: &str) -> Value {
    says(
        "user",
        json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]),
    )
}

fn cache(answer: &Value) -> (u64, u64, u64) {
    let number = |key: &str| answer["usage"][key].as_u64().unwrap();
    (
        number("input_tokens"),
        number("cache_read_input_tokens"),
        number("cache_creation_input_tokens"),
    )
}

#[test]
fn the_next_turn_reads_what_the_last_one_wrote() {
    let mut client = Client::with(&[]);
    let long = "some words that are long enough ".repeat(200);
    let first = client.answered(json!({"messages": [marked(&long)]}));
    let (fresh, read, written) = cache(&first);
    assert_eq!((fresh, read), (0, 0));
    assert!(written > 512);
    client.second = 290;
    // The marker moves on; it is no part of what is cached.
    let next = json!([user(&long), assistant("b"), marked("c")]);
    let (_, read, more) = cache(&client.answered(json!({"messages": next})));
    assert_eq!(read, written);
    assert!(more > 0 && more < 30);
    client.second = 600;
    let (_, read, _) = cache(&client.answered(json!({"messages": next})));
    assert_eq!(read, 0, "nothing lives longer than its time");
}

#[test]
fn organisations_and_models_share_nothing() {
    let mut client = Client::with(&[]);
    let body = json!({"messages": [marked(&"many words ".repeat(2_000))]});
    client.answered(body.clone());
    client.key = "other";
    assert_eq!(cache(&client.answered(body.clone())).1, 0);
    client.key = "key";
    assert!(cache(&client.answered(body.clone())).1 > 0);
    let mut other = body;
    other["model"] = json!("claude-fable-5-1");
    assert_eq!(cache(&client.answered(other)).1, 0);
}

#[test]
fn accounts_and_cost() {
    let mut client = Client::with(&[]);
    let body =
        json!({"messages": [marked(&"many words ".repeat(2_000))], "metadata": {"user_id": "u"}});
    let (_, _, written) = cache(&client.answered(body.clone()));
    let out = client.answered(body)["usage"]["output_tokens"]
        .as_u64()
        .unwrap();
    let accounts = client.provider.accounts("key");
    let (name, account) = &accounts[0];
    assert_eq!((name.as_str(), account.requests), ("u", 2));
    assert_eq!(account.used.cache_write.get(), written);
    assert_eq!(account.used.cache_read.get(), written);
    // Opus 5.5: 5 and 25 dollars a million, writes 1.25 times, reads 0.05 times the input price.
    let cost = (written as f64 * (6.25 + 0.25) + 2.0 * out as f64 * 25.0) / 1e6;
    assert!((account.cost.get() - cost).abs() < 1e-9);
}

#[test]
fn diagnostics_say_what_changed() {
    let mut client = Client::with(&["cache-diagnosis-2026-04-07"]);
    let first =
        client.answered(json!({"system": "a", "diagnostics": {"previous_message_id": null}}));
    assert_eq!(first["diagnostics"], json!({"cache_miss_reason": null}));
    let mut check = |body: Value, expected: &str| {
        let mut body = body;
        body["diagnostics"] = json!({"previous_message_id": first["id"]});
        let answer = client.answered(body);
        let reason = &answer["diagnostics"]["cache_miss_reason"]["type"];
        assert_eq!(reason.as_str().unwrap_or("none"), expected);
    };
    check(
        json!({"system": "a", "messages": [user("hi"), assistant("b"), user("c")]}),
        "none",
    );
    check(json!({"system": "b"}), "system_changed");
    check(
        json!({"system": "a", "messages": [user("ho")]}),
        "messages_changed",
    );
    check(
        json!({"system": "a", "model": "claude-fable-5-1"}),
        "model_changed",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn appending_is_accepted_and_never_reads_less(
        texts in prop::collection::vec("[a-z]{2,9}( [a-z]{2,9}){0,60}", 2..14),
        automatic in any::<bool>(),
    ) {
        let mut client = Client::with(&[]);
        let mut messages = vec![user(&"first words ".repeat(700))];
        let mut before = 0;
        for text in texts {
            let mut sent = messages.clone();
            let mut body = json!({});
            if automatic {
                body["cache_control"] = json!({"type": "ephemeral"});
            } else if let Some(last) = sent.last_mut() {
                let said = last["content"].clone();
                last["content"] = json!([{"type": "text", "text": said, "cache_control": {"type": "ephemeral"}}]);
            }
            body["messages"] = json!(sent);
            let (_, read, _) = cache(&client.answered(body));
            prop_assert!(read >= before);
            before = read;
            client.second += 60;
            messages.push(assistant("yes"));
            messages.push(user(&text));
        }
    }

    #[test]
    fn steps_with_tools_and_thinking_are_accepted(
        kinds in prop::collection::vec((0_usize..4, "[a-z]{1,8}"), 1..12),
    ) {
        let mut client = Client::with(&["thinking-binding-controls-2026-08-01"]);
        let mut messages = vec![user("begin")];
        let mut tokens = 0;
        for (kind, word) in kinds {
            let lines = ["@sim say", "@sim think hm\n@sim say", "@sim call read {}\n@sim say", "plain"];
            messages.push(user(&format!("{} {word}", lines[kind])));
            let answer = client.answered(json!({
                "messages": messages, "tools": [tool()], "thinking": {"type": "adaptive"},
                "cache_control": {"type": "ephemeral"},
            }));
            prop_assert_eq!(&answer["input_transformations"], &json!([]));
            let (fresh, read, written) = cache(&answer);
            prop_assert!(fresh + read + written > tokens, "the prompt grows");
            tokens = fresh + read + written;
            messages.push(says("assistant", answer["content"].clone()));
            let calls = answer["content"].as_array().unwrap().iter();
            let results: Vec<Value> = calls
                .filter(|block| block["type"] == "tool_use")
                .map(|block| result(block["id"].as_str().unwrap()))
                .collect();
            if !results.is_empty() {
                messages.push(says("user", json!(results)));
            }
        }
    }
}
