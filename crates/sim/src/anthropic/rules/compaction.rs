//! Compaction on demand: requests for it, and signed blocks that are sent back.

use serde_json::Value;
use tokens::Capability;

use super::Purpose;
use crate::anthropic::content::{Block, Kind, Role};
use crate::anthropic::request::{Call, beta};
use crate::refusal::Refusal;
use crate::seal::{Print, Seal, print};

/// The longest `instructions`, in characters.
const LONGEST_INSTRUCTIONS: usize = 16_384;

/// The record in the signature of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    /// The state of the chain over what was summarised.
    pub state: Print,
    /// The system prompt and tools it was summarised under.
    pub head: Print,
    /// The role of the last message that was summarised.
    pub last: Option<Role>,
    /// `true` for a model that preserves thinking: thinking behind the block stays valid.
    pub preserves: bool,
}

impl Sealed {
    /// The signature of a block with this text.
    pub fn sign(&self, seal: &Seal, content: &str, changes: Option<&Value>) -> String {
        let mut flags = [0; 16];
        let role = match self.last {
            None => 0,
            Some(Role::User) => 1,
            Some(Role::Assistant) => 2,
            Some(Role::System) => 3,
        };
        let [first, second, ..] = &mut flags;
        *first = role;
        *second = u8::from(self.preserves);
        let content = print(&[content.as_bytes()]);
        seal.sign(&[
            self.state,
            self.head,
            content,
            changes_print(changes),
            flags,
        ])
    }

    /// Opens the signature of a block.
    pub fn open(seal: &Seal, block: &Block) -> Result<Self, Refusal> {
        let Some([state, head, content, changes, flags]) = seal.open(block.text("signature"))
        else {
            return Err(Refusal::invalid(
                "messages.0.content.0: the `signature` of the compaction block does not verify",
            )
            .coded("compaction_signature_invalid"));
        };
        if content != print(&[block.text("content").as_bytes()]) {
            return Err(Refusal::invalid(
                "messages.0.content.0: the `content` of the compaction block is not what its `signature` recorded",
            )
            .coded("compaction_content_mismatch"));
        }
        let own = block.value.get("tool_changes").filter(|it| !it.is_null());
        if changes != changes_print(own) {
            return Err(Refusal::invalid(
                "messages.0.content.0: the `tool_changes` of the compaction block were altered",
            )
            .coded("compaction_tool_changes_mismatch"));
        }
        let [role, preserves, ..] = flags;
        Ok(Self {
            state,
            head,
            last: match role {
                1 => Some(Role::User),
                2 => Some(Role::Assistant),
                3 => Some(Role::System),
                _ => None,
            },
            preserves: preserves == 1,
        })
    }
}

fn changes_print(changes: Option<&Value>) -> Print {
    print(&[changes.map(Value::to_string).unwrap_or_default().as_bytes()])
}

pub(crate) fn check(call: &Call, purpose: Purpose, seal: &Seal) -> Result<(), Refusal> {
    blocks(call, seal)?;
    if call.carried().is_some() {
        carrying(call)?;
    }
    if call.compacts() && purpose == Purpose::Answer {
        asked(call)?;
    }
    Ok(())
}

/// The blocks that are sent back.
fn blocks(call: &Call, seal: &Seal) -> Result<(), Refusal> {
    let mut signed = Vec::new();
    for (at, message) in call.messages.iter().enumerate() {
        for (place, block) in message.blocks.iter().enumerate() {
            if block.kind != Kind::Compaction {
                continue;
            }
            if message.role == Role::System {
                return Err(misplaced(at, place, "may not be in a `system` message"));
            }
            let has_signature = block.value.get("signature").is_some_and(Value::is_string);
            if has_signature {
                signed.push((at, place, block));
            } else if !call.has(beta::COMPACT_THRESHOLD) {
                return Err(Refusal::invalid(format!(
                    "messages.{at}.content.{place}: the compaction block has no `signature`"
                ))
                .coded("compaction_signature_invalid"));
            }
        }
    }
    if signed.len() > 1 {
        return Err(Refusal::invalid(
            "messages: more than one compaction block has content; send only the last one",
        )
        .coded("compaction_block_ambiguous"));
    }
    let Some((at, place, block)) = signed.first() else {
        return Ok(());
    };
    if (*at, *place) != (0, 0) {
        return Err(misplaced(
            *at,
            *place,
            "must be the first block of the first message",
        ));
    }
    Sealed::open(seal, block).map(|_| ())
}

fn misplaced(at: usize, place: usize, why: &str) -> Refusal {
    Refusal::invalid(format!(
        "messages.{at}.content.{place}: a compaction block {why}"
    ))
    .coded("compaction_block_misplaced")
}

/// Refuses fields that may not stand beside a block.
fn carrying(call: &Call) -> Result<(), Refusal> {
    if remaining(call) {
        return Err(Refusal::invalid(
            "output_config.task_budget.remaining: not permitted on a request that carries a compaction block",
        ));
    }
    let edits = call
        .field("context_management")
        .and_then(|it| it.get("edits"))
        .and_then(Value::as_array);
    let compacts = |edit: &Value| {
        let kind = edit.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.starts_with("compact_"))
    };
    if edits.is_some_and(|edits| edits.iter().any(compacts)) {
        return Err(Refusal::invalid(
            "context_management.edits: no compact edit is permitted while a compaction block is present",
        ));
    }
    Ok(())
}

fn remaining(call: &Call) -> bool {
    call.field("output_config")
        .and_then(|it| it.get("task_budget"))
        .and_then(|it| it.get("remaining"))
        .is_some_and(|it| !it.is_null())
}

/// A request for a summary.
fn asked(call: &Call) -> Result<(), Refusal> {
    if !call.known.model.can(Capability::NativeCompaction) {
        return Err(Refusal::invalid(format!(
            "compaction: {} does not support compaction",
            call.known.asked
        )));
    }
    if call.kind_of("compaction") != Some("summarize") {
        return Err(Refusal::invalid(
            "compaction.type: Input should be 'summarize'",
        ));
    }
    if let Some(instructions) = call
        .field("compaction")
        .and_then(|it| it.get("instructions"))
        .filter(|it| !it.is_null())
    {
        let Some(text) = instructions.as_str() else {
            return Err(Refusal::invalid(
                "compaction.instructions: Input should be a valid string",
            ));
        };
        if text.chars().count() > LONGEST_INSTRUCTIONS {
            return Err(Refusal::invalid(format!(
                "compaction.instructions: String should have at most {LONGEST_INSTRUCTIONS} characters"
            )));
        }
    }
    let format = call
        .field("output_config")
        .and_then(|it| it.get("format"))
        .is_some_and(|it| !it.is_null());
    let forced = matches!(call.kind_of("tool_choice"), Some("any" | "tool"));
    let stops = call
        .field("stop_sequences")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    let beside = [
        (
            "context_management",
            call.field("context_management").is_some(),
        ),
        ("stop_sequences", stops),
        ("output_config.format", format),
        ("output_format", call.field("output_format").is_some()),
        ("tool_choice", forced),
        ("output_config.task_budget.remaining", remaining(call)),
    ];
    if let Some((name, _)) = beside.iter().find(|(_, given)| *given) {
        return Err(Refusal::invalid(format!(
            "{name}: not permitted together with `compaction`"
        )));
    }
    let said = call
        .messages
        .iter()
        .filter(|message| message.role != Role::System)
        .flat_map(|message| &message.blocks)
        .any(|block| block.kind != Kind::Compaction);
    if !said {
        return Err(Refusal::invalid(
            "compaction: there is no user or assistant content to summarize",
        )
        .coded("compaction_nothing_to_summarize"));
    }
    let last = call.messages.last();
    let unfinished = last.is_some_and(|message| {
        message.role == Role::Assistant
            && (message.blocks.is_empty()
                || message.blocks.iter().any(|it| it.kind == Kind::ToolUse))
    });
    if unfinished {
        return Err(Refusal::invalid(
            "compaction: the request ends on an unfinished assistant turn",
        )
        .coded("compaction_incomplete_turn"));
    }
    Ok(())
}
