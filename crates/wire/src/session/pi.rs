//! pi's JSON Lines. From the second version on the records form a tree, whose last record is the leaf
//! that the session goes on from.

use std::collections::HashMap;

use context::turn::Role;
use context::{Text, TokenCounter, Tokens};

use super::blocks::Parts;
use super::error::code;
use super::lines::Line;
use super::recording::{Recorded, Recording};
use super::{Compaction, Format, ReportedUsage};
use crate::api::json::tree::{Tree, Value};

/// Record types that are not part of the conversation.
const ASIDES: &[&str] = &["thinking_level_change", "label", "custom", "session_info"];

/// Reads the session of a log.
pub(super) fn load(
    bytes: &[u8],
    lines: &[Line],
    title: &str,
    counter: &dyn TokenCounter,
) -> Vec<Recorded> {
    let mut recording = Recording::default();
    let records = recording.records(bytes, lines);
    let on_path = on_path(&records);
    let mut abandoned = Vec::new();
    for ((line, tree), on_path) in records.iter().zip(on_path) {
        if on_path {
            read(&mut recording, tree.root(), *line);
        } else if tree.root().inner("message").is_some() {
            abandoned.push(*line);
        }
    }
    recording.left_out(&abandoned, code::ABANDONED, "on abandoned branches");
    vec![recording.finish(Format::Pi, title.to_owned(), counter)]
}

/// For each record whether it is on the path from the last record to the root. Records without an
/// id, as in the first version, all are, and so are broken ones without a type; a parent that is not
/// in the file is taken to be the record above. Where the links are so broken that no message is on
/// the path, all records are.
fn on_path(records: &[(usize, Tree<'_>)]) -> Vec<bool> {
    let mut index_of: HashMap<String, usize> = HashMap::new();
    let mut before = Vec::with_capacity(records.len());
    let mut above = None;
    let all = || records.iter().map(|(_, tree)| tree.root());
    // Ids without any parent are no tree.
    let chained = all().any(|record| record.get_text("parentId").is_some());
    for (index, record) in all().enumerate() {
        let id = record.get_text("id").filter(|_| is_node(record));
        let parent = record.get_text("parentId");
        let known = parent.as_ref().and_then(|parent| index_of.get(&**parent));
        let root = chained && parent.is_none() && id.is_some();
        before.push(if root { None } else { known.copied().or(above) });
        if let Some(id) = id {
            index_of.insert(id.into_owned(), index);
            above = Some(index);
        }
    }
    let is_free = |record: Value<'_>| record.get_text("id").is_none() || !is_node(record);
    let mut kept: Vec<bool> = all().map(is_free).collect();
    let mut current = above;
    while let Some(index) = current {
        if let Some(kept) = kept.get_mut(index) {
            *kept = true;
        }
        current = before.get(index).copied().flatten();
    }
    if all()
        .zip(&kept)
        .any(|(record, kept)| *kept && is_said(record))
    {
        kept
    } else {
        vec![true; records.len()]
    }
}

/// Returns `true` for a turn of the conversation.
fn is_said(record: Value<'_>) -> bool {
    match &*record.word("type") {
        "message" => record.inner("message").is_some(),
        "branch_summary" | "custom_message" => true,
        _ => false,
    }
}

/// Returns `true` for a link of the tree: not the header, and not a record without a type.
fn is_node(record: Value<'_>) -> bool {
    record
        .get_text("type")
        .is_some_and(|kind| kind != "session")
}

fn read(recording: &mut Recording, record: Value<'_>, line: usize) {
    let at = record.time("timestamp");
    let kind = record.word("type");
    match (&*kind, record.inner("message")) {
        ("message", Some(message)) => say(recording, record, message, line),
        ("session" | "model_change", _) => {
            recording.works_in(record.get_text("cwd"));
            match &*kind {
                "session" => recording.headers.push(line),
                _ => recording.asides.push(line),
            }
            if let Some(model) = record.get_text("modelId") {
                recording.model = Some(model.into_owned());
            }
        }
        ("compaction", _) => {
            let compaction = Compaction {
                before: recording.said.len(),
                tokens_before: record.count("tokensBefore").map(Tokens::new),
                summary: Text::from(&*record.word("summary")),
                by_hand: false,
            };
            recording.compacted(compaction, recording.originals(|_| false), at, vec![line]);
        }
        ("branch_summary", _) => {
            recording.say(Role::User, Parts::said(&record.word("summary")), at, line);
        }
        ("custom_message", _) => {
            recording.say(Role::User, Parts::of(record.get("content")), at, line);
        }
        (kind, _) => {
            if kind == "session_info" {
                recording.called(record.get_text("name"));
            }
            if !ASIDES.contains(&kind) {
                recording.unknown_record(kind, line);
            }
            recording.asides.push(line);
        }
    }
}

fn say(recording: &mut Recording, record: Value<'_>, message: Value<'_>, line: usize) {
    let at = record
        .time("timestamp")
        .or_else(|| message.time("timestamp"));
    let content = || Parts::of(message.get("content"));
    let (role, parts) = match &*message.word("role") {
        "user" | "custom" => (Role::User, content()),
        "assistant" => (Role::Assistant, content()),
        "toolResult" => {
            let (id, failed) = (message.word("toolCallId"), message.flag("isError"));
            let parts = Parts::answered(&id, message.field("content"), failed);
            (Role::Tool, parts)
        }
        "bashExecution" if message.flag("excludeFromContext") => {
            let message = "a command that was kept out of the context";
            recording.problem(line, code::INJECTED, message);
            return recording.asides.push(line);
        }
        "bashExecution" => {
            let (command, output) = (message.word("command"), message.word("output"));
            let ran = format!("Ran `{command}`\n```\n{output}\n```");
            (Role::User, Parts::said(&ran))
        }
        "branchSummary" | "compactionSummary" => {
            (Role::User, Parts::said(&message.word("summary")))
        }
        _ => (Role::Other, content()),
    };
    let turn = recording.say(role, parts, at, line);
    if role == Role::Assistant {
        metadata(recording, turn, message);
    }
}

/// Takes the model and the usage from a message of the model.
fn metadata(recording: &mut Recording, turn: usize, message: Value<'_>) {
    if let Some(model) = message.get_text("model") {
        recording.model = Some(model.into_owned());
    }
    if let Some(usage) = message.inner("usage") {
        let usage = ReportedUsage {
            turn,
            input: usage.tokens("input"),
            output: usage.tokens("output"),
            cache_read: usage.tokens("cacheRead"),
            cache_write: usage.tokens("cacheWrite"),
            ..ReportedUsage::default()
        };
        recording.report(turn, usage);
    }
}
