//! Sessions from files of message lists.

use std::collections::HashMap;

use context::{TokenCounter, TurnId};

use super::conversations::{Conversation, Found};
use super::error::code;
use super::fields::object;
use super::layout::PieceKind;
use super::lines::{Line, slice};
use super::recording::{Recorded, Recording};
use super::{Format, chat, langchain};

/// The number of messages inspected to tell the dialect.
const MESSAGES_LOOKED_AT: usize = 200;

/// The first messages, as JSON.
fn first<'b>(
    bytes: &'b [u8],
    lines: &'b [Line],
    found: &'b Found,
) -> impl Iterator<Item = &'b [u8]> {
    let elements = found
        .conversations
        .iter()
        .flat_map(|conversation| &conversation.arrays)
        .flat_map(|array| array.elements.iter().cloned());
    let lines = found
        .message_lines
        .iter()
        .filter_map(|line| Some(lines.get(*line)?.text.clone()));
    let messages = elements.chain(lines).map(|at| slice(bytes, at));
    messages.take(MESSAGES_LOOKED_AT)
}

/// Returns true for the messages of Google's API, which Gemini CLI's `/chat save` writes: they have `parts` and no
/// content.
pub(super) fn are_gemini(bytes: &[u8], lines: &[Line], found: &Found) -> bool {
    let is_gemini = |message| {
        let tree = object(message)?;
        let has = |key| tree.root().field(key).is_some();
        // Other products write `parts` too, each with its type.
        let part = tree.root().field("parts")?.elements().next();
        let is_typed = part.is_some_and(|part| part.field("type").is_some());
        Some(!has("content") && !is_typed)
    };
    let mut messages = first(bytes, lines, found);
    messages.next().and_then(is_gemini).unwrap_or_default()
}

/// The dialect of the messages; `None` where there are none.
pub(super) fn dialect(bytes: &[u8], lines: &[Line], found: &Found) -> Option<Format> {
    let mut messages = first(bytes, lines, found).peekable();
    if messages.peek().is_none() && found.conversations.is_empty() {
        return None;
    }
    let mut format = Format::OpenAiChat;
    if found.conversations.iter().any(|found| found.anthropic) {
        format = Format::Anthropic;
    }
    for message in messages {
        if langchain::is_message(message) {
            return Some(Format::LangChain);
        }
        if chat::is_anthropic(message) {
            format = Format::Anthropic;
        }
    }
    Some(format)
}

/// Reads the sessions.
pub(super) fn load(
    bytes: &[u8],
    lines: &[Line],
    found: Found,
    format: Format,
    (title, counter): (&str, &dyn TokenCounter),
) -> Vec<Recorded> {
    let message = match format {
        Format::LangChain => langchain::message,
        _ => chat::message,
    };
    let mut recordings = Vec::new();
    if !found.message_lines.is_empty() {
        let mut recording = Recording::default();
        for number in found.message_lines {
            if let Some(line) = lines.get(number) {
                message(
                    &mut recording,
                    slice(bytes, line.text.clone()),
                    number,
                    None,
                );
            }
        }
        recordings.push((recording, None));
    }
    for conversation in found.conversations {
        let mut recording = Recording {
            model: conversation.model.clone(),
            ..Recording::default()
        };
        let mut number = 0;
        for (index, array) in conversation.arrays.iter().enumerate() {
            let at = conversation.times.get(index).copied().flatten();
            for element in &array.elements {
                message(&mut recording, slice(bytes, element.clone()), number, at);
                number += 1;
            }
            if !array.whole {
                recording.problem(number, code::BROKEN, "the list breaks off here");
            }
        }
        recordings.push((recording, Some(conversation)));
    }
    if let Some((recording, _)) = recordings.first_mut() {
        for (number, code, message) in &found.problems {
            recording.problem(*number, *code, *message);
        }
    } else {
        let mut recording = Recording::default();
        for (number, code, message) in &found.problems {
            recording.problem(*number, *code, *message);
        }
        recordings.push((recording, None));
    }
    finish(recordings, format, title, counter)
}

fn finish(
    recordings: Vec<(Recording, Option<Conversation>)>,
    format: Format,
    title: &str,
    counter: &dyn TokenCounter,
) -> Vec<Recorded> {
    let several = recordings.len() > 1;
    let mut requests = Vec::with_capacity(recordings.len());
    let mut recorded = Vec::with_capacity(recordings.len());
    for (number, (recording, conversation)) in recordings.into_iter().enumerate() {
        let title = if several {
            format!("{title} #{}", number + 1)
        } else {
            title.to_owned()
        };
        let mut session = recording.finish(format, title, counter);
        requests.push(conversation.as_ref().is_some_and(|found| found.request));
        if let Some(conversation) = conversation {
            session.layout.place = PieceKind::Elements {
                record: conversation.record,
                arrays: conversation.arrays,
            };
        }
        recorded.push(session);
    }
    drop_superseded(recorded, &requests)
}

/// Drops requests that only repeat the beginning of a later request.
fn drop_superseded(recorded: Vec<Recorded>, requests: &[bool]) -> Vec<Recorded> {
    let mut last_with: HashMap<TurnId, usize> = HashMap::new();
    for (index, recorded) in recorded.iter().enumerate() {
        if requests.get(index) == Some(&true) {
            let turns = recorded.session.turns.iter();
            last_with.extend(turns.map(|turn| (turn.id(), index)));
        }
    }
    let mut kept: Vec<Recorded> = Vec::new();
    let mut superseded = 0;
    for (index, recorded) in recorded.into_iter().enumerate() {
        let last = recorded.session.turns.last();
        let later = last
            .filter(|_| requests.get(index) == Some(&true))
            .and_then(|turn| last_with.get(&turn.id()))
            .copied()
            .filter(|later| *later > index);
        if later.is_some() {
            superseded += 1;
        } else {
            kept.push(recorded);
        }
    }
    if let Some(first) = kept.first_mut()
        && superseded > 0
    {
        let message = format!("{superseded} requests that a later request repeats were left out");
        first.session.problems.insert(
            0,
            super::Problem {
                line: 1,
                code: code::SUPERSEDED,
                message,
            },
        );
    }
    kept
}
