//! Thinking is bound to what stood before it.

use crate::client::{Client, assistant, says, user};
use serde_json::{Value, json};
use sim::{Binding, Config};

const CONTROLS: &str = "thinking-binding-controls-2026-08-01";
const COMPACT: &str = "compact-2026-09-04";

/// A conversation with thinking in each answer, ready for the next question.
struct Talk {
    client: Client,
    messages: Vec<Value>,
}

impl Talk {
    fn new(config: Config, turns: usize) -> Self {
        let mut client = Client::new(config);
        client.betas = vec![CONTROLS, COMPACT];
        let mut talk = Self {
            client,
            messages: Vec::new(),
        };
        for turn in 0..turns {
            talk.turn(turn);
        }
        talk.messages.push(user("last"));
        talk
    }

    fn turn(&mut self, turn: usize) {
        let text = format!("turn {turn}\n@sim think hm {turn}\n@sim say yes {turn}");
        self.messages.push(user(&text));
        let answer = self.client.answered(body(&self.messages, "error"));
        assert_eq!(answer["input_transformations"], json!([]));
        self.messages
            .push(says("assistant", answer["content"].clone()));
    }

    /// The report when mismatching thinking is dropped.
    #[track_caller]
    fn dropped(&mut self, messages: &[Value]) -> Value {
        let answer = self.client.answered(body(messages, "drop_block"));
        answer["input_transformations"].clone()
    }

    #[track_caller]
    fn valid(&mut self, messages: &[Value]) {
        assert_eq!(self.dropped(messages), json!([]));
    }
}

fn body(messages: &[Value], behaviour: &str) -> Value {
    json!({
        "messages": messages,
        "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": behaviour}},
    })
}

fn drop(path: &str, reason: &str) -> Value {
    json!([{"type": "thinking_dropped", "path": path, "reason": reason}])
}

fn stripped(message: &Value) -> Value {
    let mut message = message.clone();
    let blocks = message["content"].as_array_mut().unwrap();
    blocks.retain(|block| block["type"] != "thinking");
    message
}

#[test]
fn appending_is_valid() {
    let mut talk = Talk::new(Config::default(), 3);
    let messages = talk.messages.clone();
    talk.valid(&messages);
}

#[test]
fn an_edit_before_it_breaks_it() {
    let mut talk = Talk::new(Config::default(), 1);
    let mut messages = talk.messages.clone();
    messages[0]["content"] = json!("something else");
    let expected = drop("messages.1.content.0", "prefix_binding_mismatch");
    assert_eq!(talk.dropped(&messages), expected);
    let text = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation";
    talk.client.refused(body(&messages, "error"), 400, "", text);
    // So does another system prompt, and a forged text.
    let mut system = body(&talk.messages, "error");
    system["system"] = json!("new");
    talk.client
        .refused(system, 400, "", "bound to a different conversation");
    let mut forged = talk.messages.clone();
    forged[1]["content"][0]["thinking"] = json!("ha");
    talk.client
        .refused(body(&forged, "drop_block"), 400, "", "Invalid `signature`");
}

#[test]
fn it_may_go_from_either_end_but_leave_no_gap() {
    let mut talk = Talk::new(Config::default(), 3);
    let all = talk.messages.clone();
    let without = |places: &[usize]| {
        let mut messages = all.clone();
        for place in places {
            messages[*place] = stripped(&all[*place]);
        }
        messages
    };
    talk.valid(&without(&[1]));
    talk.valid(&without(&[5]));
    talk.valid(&without(&[1, 3, 5]));
    let gap = drop("messages.5.content.0", "prefix_binding_mismatch");
    assert_eq!(talk.dropped(&without(&[3])), gap);
}

#[test]
fn reasons_by_precedence() {
    let mut talk = Talk::new(Config::default(), 1);
    let messages = talk.messages.clone();
    let mut user = body(&messages, "drop_block");
    user["metadata"] = json!({"user_id": "another"});
    user["model"] = json!("claude-fable-5-1");
    let reason = |answer: &Value| answer["input_transformations"][0]["reason"].clone();
    assert_eq!(
        reason(&talk.client.answered(user)),
        "end_user_binding_mismatch"
    );
    let mut model = body(&messages, "drop_block");
    model["model"] = json!("claude-fable-5-1");
    assert_eq!(
        reason(&talk.client.answered(model.clone())),
        "model_binding_mismatch"
    );
    talk.client.key = "other";
    assert_eq!(
        reason(&talk.client.answered(model)),
        "organization_binding_mismatch"
    );
}

#[test]
fn old_accounts_are_told_only() {
    let config = Config {
        binding: Binding::Reported,
        ..Config::default()
    };
    let mut talk = Talk::new(config, 1);
    let mut messages = talk.messages.clone();
    messages[0]["content"] = json!("something else");
    let answer = talk.client.answered(body(&messages, "error"));
    assert_eq!(
        answer["input_transformations"][0]["type"],
        "thinking_mismatch_allowed"
    );
}

#[test]
fn a_native_compaction_keeps_the_tail_valid() {
    let mut talk = Talk::new(Config::default(), 3);
    // What was sent for the second turn: its answer is the first kept message.
    let range = talk.messages[..3].to_vec();
    let mut ask = body(&range, "error");
    ask["compaction"] = json!({"type": "summarize"});
    let block = talk.client.answered(ask)["content"][0].clone();
    let swapped = |kept: &[Value]| {
        let mut messages = vec![says("assistant", json!([block]))];
        messages.extend_from_slice(kept);
        messages
    };
    let all = talk.messages.clone();
    talk.valid(&swapped(&all[3..]));
    // A kept message was lost.
    let lost = drop("messages.2.content.0", "prefix_binding_mismatch");
    assert_eq!(talk.dropped(&swapped(&all[4..])), lost);
    // The first kept message has the role of the last summarised one.
    let mut again = vec![user("more")];
    again.extend_from_slice(&all[3..]);
    let more = drop("messages.2.content.0", "prefix_binding_mismatch");
    assert_eq!(talk.dropped(&swapped(&again))[0], more[0]);
    // The same cut with a summary in words breaks it.
    let mut words = vec![user("summary"), assistant("ok")];
    words.extend_from_slice(&all[4..]);
    assert_eq!(talk.dropped(&words).as_array().unwrap().len(), 1);
}
