//! The calls of our own tools that answers have just made: they tell which conversation asks.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use context::Part;
use conversation::originals::is_call_of;
use history::{ConversationId, Tenant};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::report::Viewer;

/// The time for which a call is remembered: a client makes it at once, or when its user has allowed it.
const MEMORY: SignedDuration = SignedDuration::from_secs(60);
/// The most calls that are remembered.
const MOST: usize = 1_024;
/// The longest arguments that are remembered, in bytes.
const LONGEST: usize = 8 << 10;

/// The newest calls of all conversations.
#[derive(Debug, Default)]
pub(super) struct Calls {
    heard: Mutex<VecDeque<Heard>>,
}

#[derive(Debug)]
struct Heard {
    at: Timestamp,
    tenant: Tenant,
    conversation: ConversationId,
    tool: String,
    arguments: Value,
}

impl Calls {
    /// Remembers the calls of an answer that may be ours.
    pub(super) fn hear(
        &self,
        (tenant, conversation): (Tenant, ConversationId),
        parts: &[Part],
        at: Timestamp,
    ) {
        for part in parts {
            let Part::Call(call) = part else { continue };
            let is_ours = TOOLS
                .iter()
                .any(|tool| is_call_of(call.name.as_str(), tool));
            if !is_ours || call.arguments.len() > LONGEST {
                continue;
            }
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.retain(|call| at.duration_since(call.at) <= MEMORY);
            heard.truncate(MOST - 1);
            heard.push_front(Heard {
                at,
                tenant,
                conversation,
                tool: call.name.as_str().to_owned(),
                arguments: arguments(&call.arguments),
            });
        }
    }

    /// The conversations in which an answer has just made this call, the newest first. If there is one, the call
    /// is claimed: the same call of another conversation is told apart from it.
    pub(super) fn claim(
        &self,
        viewer: Viewer,
        (tool, wanted): (&str, &Value),
        now: Timestamp,
    ) -> Vec<ConversationId> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut callers, mut place) = (Vec::new(), None);
        for (index, call) in heard.iter().enumerate() {
            let fits = viewer.may_see(call.tenant)
                && now.duration_since(call.at) <= MEMORY
                && is_call_of(&call.tool, tool)
                && call.arguments == *wanted;
            if fits && !callers.contains(&call.conversation) {
                callers.push(call.conversation);
            }
            if fits {
                place = Some(index);
            }
        }
        if let ([_], Some(place)) = (callers.as_slice(), place) {
            heard.remove(place);
        }
        callers
    }
}

/// The arguments as an object; none are an empty one.
fn arguments(text: &str) -> Value {
    let parsed = serde_json::from_str(text).ok();
    parsed.unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

/// The names of our tools.
const TOOLS: [&str; 7] = [
    "recall",
    "expand",
    "pin",
    "unpin",
    "memory_status",
    "lost",
    "prepare_compaction",
];

#[cfg(test)]
mod tests {
    use context::Part;
    use context::turn::ToolCall;
    use history::{ConversationId, Tenant};
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::Calls;
    use crate::report::Viewer;

    fn call(name: &str, arguments: &str) -> Part {
        Part::Call(ToolCall {
            id: "c1".into(),
            name: name.into(),
            arguments: arguments.into(),
        })
    }

    #[test]
    fn a_call_is_known_by_its_tool_its_arguments_and_its_tenant_for_a_minute() {
        let (one, other) = (Tenant::of(&[1; 32], b"a"), Tenant::of(&[1; 32], b"b"));
        let id = ConversationId::parse("00112233445566778899aabbccddeeff").unwrap();
        let calls = Calls::default();
        let parts = [
            call("mcp__ebbtide__recall", r#"{"query": "port"}"#),
            call("Read", "{}"),
            call("mcp__ebbtide__memory_status", ""),
        ];
        let now = Timestamp::UNIX_EPOCH;
        calls.hear((one, id), &parts, now);
        let find = |viewer, tool, arguments, seconds| {
            let later = now + SignedDuration::from_secs(seconds);
            calls.claim(viewer, (tool, &arguments), later)
        };
        let port = || json!({"query": "port"});
        assert_eq!(find(Viewer::Tenant(one), "recall", port(), 61), []);
        assert_eq!(find(Viewer::Tenant(other), "recall", port(), 1), []);
        assert_eq!(find(Viewer::Tenant(one), "expand", port(), 1), []);
        let host = json!({"query": "host"});
        assert_eq!(find(Viewer::Tenant(one), "recall", host, 1), []);
        assert_eq!(find(Viewer::All, "memory_status", json!({}), 0), [id]);
        assert_eq!(find(Viewer::Tenant(one), "recall", port(), 59), [id]);
        assert_eq!(find(Viewer::Tenant(one), "recall", port(), 59), []);
    }

    #[test]
    fn the_same_call_of_two_conversations_is_ambiguous() {
        let tenant = Tenant::of(&[1; 32], b"a");
        let ids = ["00", "11"].map(|byte| ConversationId::parse(&byte.repeat(16)).unwrap());
        let calls = Calls::default();
        let now = Timestamp::UNIX_EPOCH;
        for id in ids {
            calls.hear((tenant, id), &[call("ebbtide__lost", "{}")], now);
        }
        for _ in 0..2 {
            let callers = calls.claim(Viewer::All, ("lost", &json!({})), now);
            assert_eq!(callers, [ids[1], ids[0]]);
        }
    }
}
