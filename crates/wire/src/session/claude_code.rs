//! Claude Code's JSON Lines: one record a line, messages in Anthropic's shape.
//!
//! One message of the model is spread over several lines with the same `message.id`, with the user
//! lines that hold the results of its parallel calls in between; it becomes one turn at the place of
//! its first line. Lines with `isSidechain` are a subagent's and become sessions of their own.

use std::collections::HashMap;

use context::turn::{Part, Role};
use context::{Text, TokenCounter, Tokens};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Parts, user_or_tool};
use super::chat::usage;
use super::error::code;
use super::lines::{Line, slice};
use super::recording::{Recorded, Recording, time};
use super::scalar::{Content, Scalar};
use super::{Compaction, Format};

mod tree;

use tree::{Kind, Node};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    subtype: Scalar<'a>,
    uuid: Scalar<'a>,
    parent_uuid: Scalar<'a>,
    logical_parent_uuid: Scalar<'a>,
    is_sidechain: Scalar<'a>,
    is_meta: Scalar<'a>,
    is_compact_summary: Scalar<'a>,
    is_api_error_message: Scalar<'a>,
    agent_id: Scalar<'a>,
    timestamp: Scalar<'a>,
    compact_metadata: Option<CompactMetadata<'a>>,
    message: Option<Message<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct CompactMetadata<'a> {
    pre_tokens: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    id: Scalar<'a>,
    model: Scalar<'a>,
    content: Content<'a>,
    usage: Option<&'a RawValue>,
}

/// The role of a record in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    User,
    Assistant,
    Boundary,
    Summary,
    /// Inserted by the product: instructions of skills, caveats.
    Injected,
    ApiError,
    /// Known, and not part of the conversation.
    Aside,
    Unknown,
}

/// Record types that are not part of the conversation.
const ASIDES: &[&str] = &[
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "summary",
    "system",
    "attachment",
    "last-prompt",
    "custom-title",
    "ai-title",
    "agent-name",
    "tag",
    "mode",
    "permission-mode",
    "pr-link",
];

impl Record<'_> {
    fn entry(&self) -> Entry {
        match self.kind.or_empty() {
            "user" | "assistant" if self.message.is_none() => Entry::Unknown,
            "user" if self.is_compact_summary.is_true() => Entry::Summary,
            "user" if self.is_meta.is_true() => Entry::Injected,
            "user" => Entry::User,
            "assistant" if self.is_api_error_message.is_true() => Entry::ApiError,
            "assistant" => Entry::Assistant,
            "system" if self.subtype.text() == Some("compact_boundary") => Entry::Boundary,
            kind if ASIDES.contains(&kind) => Entry::Aside,
            _ => Entry::Unknown,
        }
    }

    fn content(&self) -> &Content<'_> {
        static NOTHING: Content<'static> = Content::Nothing;
        self.message
            .as_ref()
            .map_or(&NOTHING, |message| &message.content)
    }
}

/// A record with its line number.
struct Placed<'a> {
    line: usize,
    entry: Entry,
    record: Record<'a>,
}

/// Reads the sessions of a log: the conversation first, then its subagents.
pub(super) fn load(
    bytes: &[u8],
    lines: &[Line],
    title: &str,
    counter: &dyn TokenCounter,
) -> Vec<Recorded> {
    let mut main = Recording::default();
    let mut records = Vec::with_capacity(lines.len());
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (line, text, record) in main.records::<Record<'_>>(bytes, lines) {
        if let Some(uuid) = record.uuid.text() {
            let first = seen.entry(uuid.to_owned()).or_insert(line);
            let earlier = lines
                .get(*first)
                .map(|place| slice(bytes, place.text.clone()));
            if *first != line && earlier == Some(text) {
                main.problem(line, code::REPEATED_RECORD, "a repeat of an earlier record");
                continue;
            }
        }
        let entry = record.entry();
        if entry == Entry::Unknown {
            main.unknown_record(record.kind.or_empty(), line);
        }
        records.push(Placed {
            line,
            entry,
            record,
        });
    }
    let (side, own): (Vec<_>, Vec<_>) = records
        .into_iter()
        .partition(|placed| placed.record.is_sidechain.is_true());
    converse(&mut main, &own);
    let mut sessions = Vec::new();
    sessions.push(main.finish(Format::ClaudeCode, title.to_owned(), counter));
    for (number, agent) in subagents(side).into_iter().enumerate() {
        let mut recording = Recording::default();
        converse(&mut recording, &agent);
        let title = format!("{title} (subagent {})", number + 1);
        sessions.push(recording.finish(Format::ClaudeCode, title, counter));
    }
    sessions
}

/// Groups the lines of subagents: by the agent's id where there is one, else by the root of the
/// chain that a line belongs to.
fn subagents(side: Vec<Placed<'_>>) -> Vec<Vec<Placed<'_>>> {
    let mut group_of: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Vec<Placed<'_>>> = Vec::new();
    for placed in side {
        let record = &placed.record;
        let agent = record.agent_id.text().map(|id| format!("agent {id}"));
        let parent = record.parent_uuid.text();
        let known = match &agent {
            Some(agent) => group_of.get(agent),
            None => parent.and_then(|parent| group_of.get(parent)),
        };
        let group = known.copied().unwrap_or(groups.len());
        for key in [agent.as_deref(), record.uuid.text()].into_iter().flatten() {
            group_of.insert(key.to_owned(), group);
        }
        match groups.get_mut(group) {
            Some(members) => members.push(placed),
            None => groups.push(vec![placed]),
        }
    }
    groups
}

/// Walks the records of one conversation.
fn converse(recording: &mut Recording, records: &[Placed<'_>]) {
    let abandoned = tree::abandoned(&records.iter().map(node).collect::<Vec<_>>());
    let mut turn_of: HashMap<&str, usize> = HashMap::new();
    let mut boundary: Option<(usize, Option<Tokens>)> = None;
    let mut left_out = LeftOut::default();
    for (placed, abandoned) in records.iter().zip(abandoned) {
        let record = &placed.record;
        let at = time(&record.timestamp);
        if abandoned {
            left_out.abandoned(placed);
            continue;
        }
        match placed.entry {
            Entry::User => {
                let parts = Parts::of(record.content());
                recording.say(user_or_tool(&parts.parts), parts, at, placed.line);
            }
            Entry::Assistant => assistant(recording, placed, &mut turn_of),
            Entry::Boundary => {
                if let Some((line, _)) = boundary {
                    recording.problem(line, code::COMPACTION_INCOMPLETE, "no summary follows");
                }
                let tokens = record
                    .compact_metadata
                    .as_ref()
                    .and_then(|metadata| metadata.pre_tokens.count())
                    .map(Tokens::new);
                boundary = Some((placed.line, tokens));
            }
            Entry::Summary => recording.compactions.push(Compaction {
                before: recording.said.len(),
                tokens_before: boundary.take().and_then(|(_, tokens)| tokens),
                summary: summary_text(record.content()),
            }),
            Entry::Injected => {
                left_out.injected.push(placed.line);
                recording.asides.push(placed.line);
            }
            Entry::ApiError => {
                let message = "an error of the provider, shown as a message";
                recording.problem(placed.line, code::API_ERROR, message);
                recording.asides.push(placed.line);
            }
            Entry::Aside | Entry::Unknown => recording.asides.push(placed.line),
        }
    }
    if let Some((line, _)) = boundary {
        recording.problem(line, code::COMPACTION_INCOMPLETE, "no summary follows");
    }
    left_out.report(recording);
}

/// Adds a line of the model's: a new turn, or more of the turn with the same message id.
fn assistant<'a>(
    recording: &mut Recording,
    placed: &'a Placed<'_>,
    turn_of: &mut HashMap<&'a str, usize>,
) {
    let Some(message) = &placed.record.message else {
        return;
    };
    let parts = Parts::of(&message.content);
    let known = message.id.text().and_then(|id| turn_of.get(id)).copied();
    let turn = match known {
        Some(turn) => {
            recording.say_more(turn, parts, placed.line);
            turn
        }
        None => {
            let at = time(&placed.record.timestamp);
            recording.say(Role::Assistant, parts, at, placed.line)
        }
    };
    if let Some(id) = message.id.text() {
        turn_of.insert(id, turn);
    }
    // Messages that the product wrote itself carry this name and no real usage.
    if message.model.text() == Some("<synthetic>") {
        return;
    }
    if let Some(model) = message.model.text() {
        recording.model = Some(model.to_owned());
    }
    if let Some(usage) = message.usage.and_then(usage) {
        recording.report(turn, usage);
    }
}

fn summary_text(content: &Content<'_>) -> Text {
    let mut texts = Parts::of(content)
        .parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
    let first = texts.next().unwrap_or_default();
    match texts.next() {
        None => first,
        Some(second) => {
            let all: Vec<Text> = [first, second].into_iter().chain(texts).collect();
            Text::from(all.iter().map(Text::as_str).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Lines that are left out on purpose, reported once.
#[derive(Default)]
struct LeftOut {
    injected: Vec<usize>,
    abandoned: Vec<usize>,
}

impl LeftOut {
    fn abandoned(&mut self, placed: &Placed<'_>) {
        if matches!(placed.entry, Entry::User | Entry::Assistant) {
            self.abandoned.push(placed.line);
        }
    }

    fn report(self, recording: &mut Recording) {
        recording.left_out(&self.injected, code::INJECTED, "inserted by the product");
        recording.left_out(&self.abandoned, code::ABANDONED, "on abandoned branches");
    }
}

/// The node of a record in the tree of records.
fn node<'a>(placed: &'a Placed<'_>) -> Node<'a> {
    let record = &placed.record;
    Node {
        uuid: record.uuid.text(),
        parent: record
            .parent_uuid
            .text()
            .or_else(|| record.logical_parent_uuid.text()),
        kind: match placed.entry {
            Entry::User if is_prompt(record.content()) => Kind::Prompt,
            Entry::User | Entry::Assistant => Kind::Answer,
            _ => Kind::Aside,
        },
    }
}

/// Returns `true` for text that a person typed, not tool results or the product's notes that an
/// action was interrupted.
fn is_prompt(content: &Content<'_>) -> bool {
    let typed = |text: &str| {
        !text.starts_with("[Request interrupted") && !text.starts_with("<local-command")
    };
    match content {
        Content::Nothing => false,
        Content::Text(text) => typed(text),
        blocks @ Content::Blocks(_) => {
            let parts = Parts::of(blocks).parts;
            let results = parts.iter().any(|part| matches!(part, Part::Result(_)));
            let first = parts.iter().find_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            !results && first.is_none_or(typed)
        }
    }
}
