//! New events of Copilot CLI's.

use context::turn::Role;
use context::{Tokens, Turn};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::voice::{self, Links, Object, arguments, failed, is_summary, stamped, words};
use crate::session::Session;

pub(super) struct Voice {
    tokens: Tokens,
}

impl Voice {
    pub(super) fn of(session: &Session) -> Self {
        Self {
            tokens: session.turns.iter().map(Turn::tokens).sum(),
        }
    }
}

impl voice::Voice for Voice {
    fn links(&self) -> Option<Links> {
        Some(Links {
            id: "id",
            parent: "parentId",
        })
    }

    fn say(&mut self, turn: &Turn, at: Option<Timestamp>) -> Vec<Object> {
        if is_summary(turn) {
            let data = json!({
                "success": true,
                "preCompactionTokens": self.tokens.get(),
                "summaryContent": words(turn),
            });
            return vec![event(at, "session.compaction_complete", &data)];
        }
        if turn.role() == Role::Assistant {
            let requests: Vec<Value> = turn
                .calls()
                .map(|call| {
                    json!({
                        "toolCallId": call.id.as_str(),
                        "name": call.name.as_str(),
                        "arguments": arguments(&call.arguments),
                        "type": "function",
                    })
                })
                .collect();
            let data = json!({
                "messageId": turn.id().to_string(),
                "content": words(turn),
                "toolRequests": requests,
            });
            return vec![event(at, "assistant.message", &data)];
        }
        let results = turn.results().map(|result| {
            let data = json!({
                "toolCallId": result.call.as_str(),
                "success": !failed(result.outcome),
                "result": {"content": result.text.as_str()},
            });
            event(at, "tool.execution_complete", &data)
        });
        let mut events: Vec<Object> = results.collect();
        let words = words(turn);
        if !words.is_empty() || events.is_empty() {
            events.push(event(at, "user.message", &json!({"content": words})));
        }
        events
    }

    fn bridge(&self, at: Option<Timestamp>) -> Object {
        let data = json!({"infoType": "ebbtide", "message": ""});
        event(at, "session.info", &data)
    }
}

fn event(at: Option<Timestamp>, kind: &str, data: &Value) -> Object {
    stamped(at, json!({"type": kind, "data": data}))
}
