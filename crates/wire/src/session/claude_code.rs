//! Claude Code's JSON Lines: one record a line, messages in Anthropic's shape.
//!
//! One message of the model is spread over several lines with the same `message.id`, with the user
//! lines that hold the results of its parallel calls in between; it becomes one turn at the place of
//! its first line. Lines with `isSidechain` are a subagent's and become sessions of their own.

use std::borrow::Cow;
use std::collections::HashMap;

use context::turn::{Part, Role};
use context::{Text, TokenCounter, Tokens};

use super::blocks::{Parts, texts, user_or_tool};
use super::error::code;
use super::lines::{Line, slice};
use super::recording::{Originals, Recorded, Recording};
use super::{Compaction, Format};
use crate::api::json::scan::Kind as Sort;
use crate::api::json::tree::{Tree, Value};

mod tree;

use tree::{Kind, Node};

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

impl Entry {
    fn of(record: Value<'_>) -> Self {
        match &*record.word("type") {
            "user" | "assistant" if record.inner("message").is_none() => Self::Unknown,
            "user" if record.flag("isCompactSummary") => Self::Summary,
            "user" if record.flag("isMeta") => Self::Injected,
            "user" => Self::User,
            "assistant" if record.flag("isApiErrorMessage") => Self::ApiError,
            "assistant" => Self::Assistant,
            "system" if record.word("subtype") == "compact_boundary" => Self::Boundary,
            kind if ASIDES.contains(&kind) => Self::Aside,
            _ => Self::Unknown,
        }
    }
}

/// A record with its line number.
struct Placed<'a> {
    line: usize,
    entry: Entry,
    tree: Tree<'a>,
}

impl Placed<'_> {
    fn record(&self) -> Value<'_> {
        self.tree.root()
    }

    fn content(&self) -> Option<Value<'_>> {
        self.record().inner("message")?.get("content")
    }
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
    let text = |line: usize| {
        lines
            .get(line)
            .map(|place| slice(bytes, place.text.clone()))
    };
    for (line, tree) in main.records(bytes, lines) {
        let record = tree.root();
        if let Some(uuid) = record.get_text("uuid") {
            let first = *seen.entry(uuid.into_owned()).or_insert(line);
            if first != line && text(first) == text(line) {
                main.problem(line, code::REPEATED_RECORD, "a repeat of an earlier record");
                continue;
            }
        }
        let entry = Entry::of(record);
        if entry == Entry::Unknown {
            main.unknown_record(&record.word("type"), line);
        }
        records.push(Placed { line, entry, tree });
    }
    let (side, own): (Vec<_>, Vec<_>) = records
        .into_iter()
        .partition(|placed| placed.record().flag("isSidechain"));
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
        let record = placed.record();
        let agent = record.get_text("agentId").map(|id| format!("agent {id}"));
        let parent = record.get_text("parentUuid");
        let known = match &agent {
            Some(agent) => group_of.get(agent),
            None => parent.and_then(|parent| group_of.get(&*parent)),
        };
        let group = known.copied().unwrap_or(groups.len());
        let own = record.get_text("uuid").map(String::from);
        for key in [agent, own].into_iter().flatten() {
            group_of.insert(key, group);
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
    let mut turn_of: HashMap<String, usize> = HashMap::new();
    let mut boundary: Option<Boundary> = None;
    let mut left_out = LeftOut::default();
    for (placed, abandoned) in records.iter().zip(abandoned) {
        let record = placed.record();
        let at = record.time("timestamp");
        recording.works_in(record.get_text("cwd"));
        if abandoned {
            left_out.abandoned(placed);
            continue;
        }
        match placed.entry {
            Entry::User => {
                let parts = Parts::of(placed.content());
                recording.say(user_or_tool(&parts.parts), parts, at, placed.line);
            }
            Entry::Assistant => assistant(recording, placed, &mut turn_of),
            Entry::Boundary => {
                if let Some(boundary) = boundary {
                    boundary.is_incomplete(recording);
                }
                boundary = Some(Boundary::of(placed, recording.said.len()));
            }
            Entry::Summary => {
                summary(recording, placed, boundary.take());
            }
            Entry::Injected => {
                left_out.injected.push(placed.line);
                recording.asides.push(placed.line);
            }
            Entry::ApiError => {
                let message = "an error of the provider, shown as a message";
                recording.problem(placed.line, code::API_ERROR, message);
                recording.asides.push(placed.line);
            }
            Entry::Aside | Entry::Unknown => {
                recording.called(name(record));
                recording.asides.push(placed.line);
            }
        }
    }
    if let Some(boundary) = boundary {
        boundary.is_incomplete(recording);
    }
    left_out.report(recording);
}

/// The name that a record gives the session: by the person, else by the product.
fn name(record: Value<'_>) -> Option<Cow<'_, str>> {
    match &*record.word("type") {
        "custom-title" => record.get_text("customTitle"),
        "ai-title" => record.get_text("aiTitle"),
        "summary" => record.get_text("summary"),
        _ => None,
    }
}

/// Notes a compaction at its summary.
fn summary(recording: &mut Recording, placed: &Placed<'_>, boundary: Option<Boundary>) {
    let before = recording.said.len();
    // What follows the boundary was shown after it, so it is not among the originals.
    let first = boundary.as_ref().map_or(before, |it| it.before);
    let originals = match first {
        0 => Originals::Gone,
        _ => Originals::Here,
    };
    // The boundary belongs to the summary: the product looks for it first.
    let lines = boundary.iter().map(|it| it.line).chain([placed.line]);
    let lines = lines.collect();
    let compaction = Compaction {
        before,
        tokens_before: boundary.as_ref().and_then(|it| it.tokens),
        summary: Text::from(texts(&Parts::of(placed.content()).parts).join("\n")),
        by_hand: boundary.is_some_and(|it| it.by_hand),
    };
    let at = placed.record().time("timestamp");
    recording.compacted(compaction, originals, at, lines);
}

/// The line that announces a compaction; its summary follows.
struct Boundary {
    line: usize,
    /// The number of turns before it.
    before: usize,
    /// The context size before it.
    tokens: Option<Tokens>,
    by_hand: bool,
}

impl Boundary {
    fn of(placed: &Placed<'_>, before: usize) -> Self {
        let metadata = placed.record().inner("compactMetadata");
        Self {
            line: placed.line,
            before,
            tokens: metadata
                .and_then(|it| it.count("preTokens"))
                .map(Tokens::new),
            by_hand: metadata.is_some_and(|it| it.word("trigger") == "manual"),
        }
    }

    fn is_incomplete(&self, recording: &mut Recording) {
        recording.problem(self.line, code::COMPACTION_INCOMPLETE, "no summary follows");
    }
}

/// Adds a line of the model's: a new turn, or more of the turn with the same message id.
fn assistant(recording: &mut Recording, placed: &Placed<'_>, turn_of: &mut HashMap<String, usize>) {
    let Some(message) = placed.record().inner("message") else {
        return;
    };
    let parts = Parts::of(message.get("content"));
    let id = message.get_text("id");
    let known = id.as_ref().and_then(|id| turn_of.get(&**id)).copied();
    let turn = match known {
        Some(turn) => {
            recording.say_more(turn, parts, placed.line);
            turn
        }
        None => {
            let at = placed.record().time("timestamp");
            recording.say(Role::Assistant, parts, at, placed.line)
        }
    };
    if let Some(id) = id {
        turn_of.insert(id.into_owned(), turn);
    }
    // Messages that the product wrote itself carry this name and no real usage.
    if message.word("model") != "<synthetic>" {
        recording.credit(turn, message);
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
    let record = placed.record();
    let parent = record.get_text("parentUuid");
    Node {
        uuid: record.get_text("uuid"),
        parent: parent.or_else(|| record.get_text("logicalParentUuid")),
        kind: match placed.entry {
            Entry::User if is_prompt(placed.content()) => Kind::Prompt,
            Entry::User | Entry::Assistant => Kind::Answer,
            _ => Kind::Aside,
        },
    }
}

/// Returns `true` for text that a person typed, not tool results or the product's notes that an
/// action was interrupted.
fn is_prompt(content: Option<Value<'_>>) -> bool {
    let typed = |text: &str| {
        !text.starts_with("[Request interrupted") && !text.starts_with("<local-command")
    };
    let Some(content) = content else {
        return false;
    };
    if let Some(text) = content.text() {
        return typed(&text);
    }
    let parts = Parts::of(Some(content)).parts;
    let results = parts.iter().any(|part| matches!(part, Part::Result(_)));
    content.kind() == Sort::List && !results && texts(&parts).first().is_none_or(|text| typed(text))
}
