//! The prompt that the model sees: after server-side edits, cut into cacheable pieces.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokens::Capability;

use super::content::{Block, Kind, Role};
use super::request::Call;
use super::rules::breakpoints::automatic;
use super::rules::editing::{amount, edits};
use super::rules::thinking::Examined;
use crate::cache::{Prefix, Segment, prefixes};
use crate::seal::{Print, print};

/// The tokens of a message besides its blocks.
const FRAME: u64 = 4;

/// The tokens of a cleared tool result.
const CLEARED: u64 = 6;

/// A block that is shown.
struct Piece<'c> {
    at: usize,
    role: Role,
    block: &'c Block,
    tokens: u64,
    print: Print,
}

/// The prompt that the model sees.
pub(crate) struct View {
    segments: Vec<Segment>,
    /// The reports of `applied_edits`.
    pub applied: Vec<Value>,
    /// The tokens before server-side editing.
    pub original: u64,
    scope: Vec<u8>,
}

impl View {
    /// The view of a request.
    pub fn of(call: &Call, examined: &Examined) -> Self {
        let head: u64 = call.system.iter().map(|block| block.tokens).sum::<u64>()
            + call.tools.iter().map(|tool| tool.tokens).sum::<u64>();
        let mut pieces = pieces(call, examined);
        let original = head + total(&pieces);
        let mut applied = Vec::new();
        let asked = edits(call).iter().find(|edit| {
            edit.get("type")
                .is_some_and(|it| it == "clear_thinking_20251015")
        });
        clear_thinking(call, asked, &mut pieces, &mut applied);
        for edit in edits(call) {
            if edit
                .get("type")
                .is_some_and(|it| it == "clear_tool_uses_20250919")
            {
                let now = head + total(&pieces);
                clear_tool_uses(edit, now, &mut pieces, &mut applied);
            }
        }
        let parameters = ["tool_choice", "thinking"].map(|key| match call.field(key) {
            // A default value counts as a missing one.
            Some(value)
                if value
                    .get("type")
                    .is_none_or(|it| it != "auto" && it != "disabled") =>
            {
                let mut value = value.clone();
                if let Some(object) = value.as_object_mut() {
                    object.shift_remove("block_binding");
                }
                value.to_string()
            }
            _ => String::new(),
        });
        Self {
            segments: segments(call, &pieces, &parameters.join(" ")),
            applied,
            original,
            scope: call.known.model.name.clone().into_bytes(),
        }
    }

    /// All tokens that are shown.
    pub fn tokens(&self) -> u64 {
        self.segments.iter().map(|segment| segment.tokens).sum()
    }

    /// The prefixes that can be cached.
    pub fn prefixes(&self) -> Vec<Prefix> {
        prefixes(&self.scope, &self.segments)
    }
}

fn total(pieces: &[Piece<'_>]) -> u64 {
    let mut last = None;
    let mut sum = 0;
    for piece in pieces {
        sum += piece.tokens;
        if last != Some(piece.role) {
            sum += FRAME;
        }
        last = Some(piece.role);
    }
    sum
}

/// All blocks but those that a threshold block stands for, cleared system messages and thinking
/// that was dropped.
fn pieces<'c>(call: &'c Call, examined: &Examined) -> Vec<Piece<'c>> {
    let stands_for = |block: &Block| {
        block.kind == Kind::Compaction && block.value.get("content").is_some_and(Value::is_string)
    };
    let start = call.messages.iter().enumerate().rev().find_map(|(at, it)| {
        let place = it.blocks.iter().rposition(stands_for)?;
        Some((at, place))
    });
    let last_user = call.messages.iter().rposition(|it| it.role == Role::User);
    let mut out = Vec::new();
    for (at, message) in call.messages.iter().enumerate() {
        if message.clears && last_user.is_some_and(|last| at < last) {
            continue;
        }
        for (place, block) in message.blocks.iter().enumerate() {
            let gone = start.is_some_and(|start| (at, place) < start);
            if gone || examined.dropped.contains(&(at, place)) {
                continue;
            }
            out.push(Piece {
                at,
                role: message.role,
                block,
                tokens: block.tokens,
                print: block.print,
            });
        }
    }
    out
}

/// Removes thinking from old turns, as the edit says, else as the model does by itself.
fn clear_thinking(
    call: &Call,
    edit: Option<&Value>,
    pieces: &mut Vec<Piece<'_>>,
    applied: &mut Vec<Value>,
) {
    let keep = match edit {
        Some(edit) => match edit.get("keep") {
            Some(keep) if keep == "all" || keep.get("type").is_some_and(|it| it == "all") => None,
            _ => Some(amount(edit, "keep").map_or(1, |(_, value)| value)),
        },
        None if call.known.model.can(Capability::KeepsThinking) => None,
        None => Some(1),
    };
    let Some(keep) = keep else { return };
    let thinks =
        |piece: &Piece<'_>| matches!(piece.block.kind, Kind::Thinking | Kind::RedactedThinking);
    // A turn begins where the user says something that is not a result.
    let mut turn = 0_u64;
    let turns: Vec<u64> = pieces
        .iter()
        .map(|piece| {
            turn += u64::from(piece.role == Role::User && piece.block.kind != Kind::ToolResult);
            turn
        })
        .collect();
    let with: BTreeSet<u64> = pieces
        .iter()
        .zip(&turns)
        .filter(|(piece, _)| thinks(piece))
        .map(|(_, turn)| *turn)
        .collect();
    let kept = usize::try_from(keep).unwrap_or(usize::MAX);
    let cleared: BTreeSet<u64> = with
        .iter()
        .take(with.len().saturating_sub(kept))
        .copied()
        .collect();
    let mut tokens = 0;
    let mut turns = turns.into_iter();
    pieces.retain(|piece| {
        let goes = turns.next().is_some_and(|turn| cleared.contains(&turn)) && thinks(piece);
        if goes {
            tokens += piece.tokens;
        }
        !goes
    });
    if edit.is_some() && !cleared.is_empty() {
        applied.push(json!({
            "type": "clear_thinking_20251015",
            "cleared_thinking_turns": cleared.len(),
            "cleared_input_tokens": tokens,
        }));
    }
}

/// Clears old tool results, once the trigger is reached.
fn clear_tool_uses(edit: &Value, now: u64, pieces: &mut [Piece<'_>], applied: &mut Vec<Value>) {
    let names = |key: &str| -> Option<Vec<String>> {
        let list = edit.get(key)?.as_array()?;
        Some(
            list.iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        )
    };
    let excluded = names("exclude_tools").unwrap_or_default();
    let calls: Vec<(String, String)> = pieces
        .iter()
        .filter(|piece| piece.block.kind == Kind::ToolUse)
        .map(|piece| {
            (
                piece.block.call().to_owned(),
                piece.block.text("name").to_owned(),
            )
        })
        .collect();
    let (kind, value) =
        amount(edit, "trigger").unwrap_or_else(|| ("input_tokens".to_owned(), 100_000));
    let reached = match kind.as_str() {
        "tool_uses" => calls.len() as u64 > value,
        _ => now > value,
    };
    if !reached {
        return;
    }
    let keep = amount(edit, "keep").map_or(3, |(_, value)| value);
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let old: BTreeSet<&str> = calls
        .iter()
        .take(calls.len().saturating_sub(keep))
        .filter(|(_, name)| !excluded.contains(name))
        .map(|(id, _)| id.as_str())
        .collect();
    let all_inputs = edit.get("clear_tool_inputs").and_then(Value::as_bool) == Some(true);
    let some_inputs = names("clear_tool_inputs").unwrap_or_default();
    let goes = |piece: &Piece<'_>| {
        let inputs = all_inputs || some_inputs.iter().any(|it| it == piece.block.text("name"));
        match piece.block.kind {
            Kind::ToolResult => old.contains(piece.block.call()),
            Kind::ToolUse => inputs && old.contains(piece.block.call()),
            _ => false,
        }
    };
    let freed: u64 = pieces
        .iter()
        .filter(|piece| goes(piece))
        .map(|piece| piece.tokens.saturating_sub(CLEARED))
        .sum();
    let least = amount(edit, "clear_at_least").map_or(0, |(_, value)| value);
    if old.is_empty() || freed == 0 || freed < least {
        return;
    }
    for piece in pieces.iter_mut() {
        if goes(piece) {
            piece.tokens = piece.tokens.min(CLEARED);
            piece.print = print(&[b"cleared", piece.block.call().as_bytes()]);
        }
    }
    applied.push(json!({
        "type": "clear_tool_uses_20250919",
        "cleared_tool_uses": old.len(),
        "cleared_input_tokens": freed,
    }));
}

fn segments(call: &Call, pieces: &[Piece<'_>], parameters: &str) -> Vec<Segment> {
    let alone = |print, tokens, mark| Segment {
        print,
        tokens,
        mark,
        joins: false,
    };
    let loaded = call.tools.iter().filter(|tool| !tool.deferred);
    let mut out: Vec<Segment> = loaded
        .map(|tool| alone(tool.print, tool.tokens, tool.mark))
        .collect();
    let system = call.system.iter();
    out.extend(system.map(|block| {
        let print = print(&[b"system", &block.print]);
        alone(print, block.tokens, block.mark)
    }));
    let mut last: Option<(Role, Kind, usize)> = None;
    for (index, piece) in pieces.iter().enumerate() {
        let (kind, role) = (piece.block.kind, piece.role);
        let turns = last.is_none_or(|(before, _, _)| before != role);
        let run = matches!(kind, Kind::ToolUse | Kind::ToolResult);
        let first: &[u8] = if index == 0 {
            parameters.as_bytes()
        } else {
            b""
        };
        let side: &[u8] = if turns { role.as_str().as_bytes() } else { b"" };
        out.push(Segment {
            print: print(&[first, side, &piece.print]),
            tokens: piece.tokens + if turns { FRAME } else { 0 },
            mark: piece.block.mark.or_else(|| inner_mark(piece.block)),
            joins: run && last.is_some_and(|(before, other, _)| before == role && other == kind),
        });
        last = Some((role, kind, piece.at));
    }
    let cacheable = pieces
        .iter()
        .rposition(|it| !matches!(it.block.kind, Kind::Thinking | Kind::RedactedThinking));
    if let (Ok(Some(life)), Some(at)) = (automatic(call), cacheable) {
        let place = out.len() - pieces.len() + at;
        if let Some(segment) = out.get_mut(place) {
            segment.mark = segment.mark.or(Some(life));
        }
    }
    out
}

/// A breakpoint inside a tool result stands at the result's end.
fn inner_mark(block: &Block) -> Option<crate::cache::Life> {
    let inner = block.value.get("content")?.as_array()?;
    inner
        .iter()
        .filter_map(|each| super::content::mark(each, "").ok().flatten())
        .next_back()
}
