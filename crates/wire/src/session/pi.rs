//! pi's JSON Lines. From the second version on the records form a tree, whose last record is the leaf
//! that the session goes on from.

use std::collections::HashMap;

use context::turn::Role;
use context::{Text, TokenCounter, Tokens};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Parts, outcome};
use super::error::code;
use super::lines::Line;
use super::recording::{Recorded, Recording, time};
use super::scalar::{Content, Scalar, parse};
use super::{Compaction, Format, ReportedUsage};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    id: Scalar<'a>,
    parent_id: Scalar<'a>,
    timestamp: Scalar<'a>,
    model_id: Scalar<'a>,
    summary: Scalar<'a>,
    tokens_before: Scalar<'a>,
    content: Content<'a>,
    message: Option<Message<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Message<'a> {
    role: Scalar<'a>,
    content: Option<&'a RawValue>,
    model: Scalar<'a>,
    usage: Option<WireUsage<'a>>,
    timestamp: Scalar<'a>,
    tool_call_id: Scalar<'a>,
    is_error: Scalar<'a>,
    summary: Scalar<'a>,
    command: Scalar<'a>,
    output: Scalar<'a>,
    exclude_from_context: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct WireUsage<'a> {
    input: Scalar<'a>,
    output: Scalar<'a>,
    cache_read: Scalar<'a>,
    cache_write: Scalar<'a>,
}

impl WireUsage<'_> {
    fn read(&self) -> ReportedUsage {
        ReportedUsage {
            input: self.input.tokens(),
            output: self.output.tokens(),
            cache_read: self.cache_read.tokens(),
            cache_write: self.cache_write.tokens(),
            ..ReportedUsage::default()
        }
    }
}

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
    let records: Vec<(usize, &[u8], Record<'_>)> = recording.records(bytes, lines);
    let on_path = on_path(&records);
    let mut abandoned = Vec::new();
    for ((line, _, record), on_path) in records.iter().zip(on_path) {
        if on_path {
            read(&mut recording, record, *line);
        } else if record.message.is_some() {
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
fn on_path(records: &[(usize, &[u8], Record<'_>)]) -> Vec<bool> {
    let mut index_of: HashMap<&str, usize> = HashMap::new();
    let mut before = Vec::with_capacity(records.len());
    let mut above = None;
    // Ids without any parent are no tree.
    let chained = records
        .iter()
        .any(|(_, _, record)| record.parent_id.text().is_some());
    for (index, (_, _, record)) in records.iter().enumerate() {
        let id = record.id.text().filter(|_| is_node(record));
        let parent = record.parent_id.text();
        let known = parent.and_then(|parent| index_of.get(parent)).copied();
        let root = chained && parent.is_none() && id.is_some();
        before.push(if root { None } else { known.or(above) });
        if let Some(id) = id {
            index_of.insert(id, index);
            above = Some(index);
        }
    }
    let mut kept: Vec<bool> = records
        .iter()
        .map(|(_, _, record)| record.id.text().is_none() || !is_node(record))
        .collect();
    let mut current = above;
    while let Some(index) = current {
        if let Some(kept) = kept.get_mut(index) {
            *kept = true;
        }
        current = before.get(index).copied().flatten();
    }
    let said =
        |((_, _, record), kept): (&(usize, &[u8], Record<'_>), &bool)| *kept && is_said(record);
    if records.iter().zip(&kept).any(said) {
        kept
    } else {
        vec![true; records.len()]
    }
}

/// Returns `true` for a turn of the conversation.
fn is_said(record: &Record<'_>) -> bool {
    match record.kind.or_empty() {
        "message" => record.message.is_some(),
        "branch_summary" | "custom_message" => true,
        _ => false,
    }
}

/// Returns `true` for a link of the tree: not the header, and not a record without a type.
fn is_node(record: &Record<'_>) -> bool {
    record.kind.text().is_some_and(|kind| kind != "session")
}

fn read(recording: &mut Recording, record: &Record<'_>, line: usize) {
    match (record.kind.or_empty(), &record.message) {
        ("message", Some(message)) => say(recording, record, message, line),
        ("session" | "model_change", _) => {
            match record.kind.or_empty() {
                "session" => recording.headers.push(line),
                _ => recording.asides.push(line),
            }
            if let Some(model) = record.model_id.text() {
                recording.model = Some(model.to_owned());
            }
        }
        ("compaction", _) => recording.compactions.push(Compaction {
            before: recording.said.len(),
            tokens_before: record.tokens_before.count().map(Tokens::new),
            summary: Text::from(record.summary.or_empty()),
        }),
        ("branch_summary", _) => {
            let mut parts = Parts::default();
            parts.text(record.summary.or_empty());
            recording.say(Role::User, parts, time(&record.timestamp), line);
        }
        ("custom_message", _) => {
            let parts = Parts::of(&record.content);
            recording.say(Role::User, parts, time(&record.timestamp), line);
        }
        (kind, _) => {
            if !ASIDES.contains(&kind) {
                recording.unknown_record(kind, line);
            }
            recording.asides.push(line);
        }
    }
}

fn say(recording: &mut Recording, record: &Record<'_>, message: &Message<'_>, line: usize) {
    let at = time(&record.timestamp).or_else(|| time(&message.timestamp));
    let content = || Parts::of(&parse(message.content));
    match message.role.or_empty() {
        "user" | "custom" => {
            recording.say(Role::User, content(), at, line);
        }
        "assistant" => {
            let turn = recording.say(Role::Assistant, content(), at, line);
            if let Some(model) = message.model.text() {
                recording.model = Some(model.to_owned());
            }
            if let Some(usage) = &message.usage {
                recording.report(turn, usage.read());
            }
        }
        "toolResult" => {
            let mut parts = Parts::default();
            let outcome = outcome(message.is_error.is_true());
            parts.result(message.tool_call_id.or_empty(), message.content, outcome);
            recording.say(Role::Tool, parts, at, line);
        }
        "bashExecution" if message.exclude_from_context.is_true() => {
            let message = "a command that was kept out of the context";
            recording.problem(line, code::INJECTED, message);
            recording.asides.push(line);
        }
        "bashExecution" => {
            let mut parts = Parts::default();
            let (command, output) = (message.command.or_empty(), message.output.or_empty());
            parts.text(&format!("Ran `{command}`\n```\n{output}\n```"));
            recording.say(Role::User, parts, at, line);
        }
        "branchSummary" | "compactionSummary" => {
            let mut parts = Parts::default();
            parts.text(message.summary.or_empty());
            recording.say(Role::User, parts, at, line);
        }
        _ => {
            recording.say(Role::Other, content(), at, line);
        }
    }
}
