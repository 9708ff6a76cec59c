//! Finds the conversations in a file of message lists: bare, under a key of a record, one or
//! many, as one JSON value or as JSON Lines.

use std::ops::Range;

use context::coded::ErrorCode;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::error::code;
use super::lines::{Line, content_start, slice};
use super::scan::{Array, array, members, skip_space, value_end};

/// A conversation: one or several arrays of messages that are read one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    /// The JSON value that holds it.
    pub(super) record: Range<usize>,
    pub(super) arrays: Vec<Array>,
    /// The time of each array, where the record names it.
    pub(super) times: Vec<Option<Timestamp>>,
    /// The model that the record names.
    pub(super) model: Option<String>,
    /// `true` for a request to a provider, which repeats all earlier messages.
    pub(super) request: bool,
    /// `true` for a record with fields of Anthropic's requests.
    pub(super) anthropic: bool,
}

/// The conversations of a file, and its broken parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) conversations: Vec<Conversation>,
    /// Lines (or elements, counted from 0) without a conversation.
    pub(super) problems: Vec<(usize, ErrorCode, &'static str)>,
    /// Lines of one message each, together one conversation.
    pub(super) message_lines: Vec<usize>,
}

/// The keys under which a list of messages may stand.
const LIST_KEYS: &[&str] = &[
    "messages",
    "history",
    "traj",
    "conversation",
    "haystack_sessions",
];

/// The keys of an object in which, one level deeper, such a key may stand.
const WRAPPERS: &[&str] = &[
    "values",
    "channel_values",
    "state",
    "request",
    "body",
    "data",
];

/// Finds the conversations of a file.
pub(super) fn find(bytes: &[u8], lines: &[Line]) -> Found {
    let start = skip_space(bytes, content_start(bytes));
    let end = value_end(bytes, start);
    let more = end.is_some_and(|end| skip_space(bytes, end) < bytes.len());
    let one_line = lines.iter().filter(|line| !blank(bytes, line)).count() <= 1;
    // A file whose first value is broken is a broken JSON value, unless a later line is whole: then
    // it is JSON Lines with a broken first line.
    let several = more || (end.is_none() && !one_line && later_line_is_whole(bytes, lines));
    let mut found = Found::default();
    if several {
        for (number, line) in lines.iter().enumerate() {
            if !blank(bytes, line) {
                found.line(bytes, number, line);
            }
        }
    } else {
        found.value(bytes, start, end.unwrap_or(bytes.len()));
    }
    found
}

fn blank(bytes: &[u8], line: &Line) -> bool {
    let text = slice(bytes, line.text.clone());
    text.iter().all(u8::is_ascii_whitespace)
}

fn later_line_is_whole(bytes: &[u8], lines: &[Line]) -> bool {
    lines.iter().skip(1).any(|line| {
        let text = slice(bytes, line.text.clone());
        text.first() == Some(&b'{') && value_end(text, 0) == Some(text.len())
    })
}

impl Found {
    /// Reads a line of JSON Lines: a message, a list or a record.
    fn line(&mut self, bytes: &[u8], number: usize, line: &Line) {
        let start = skip_space(bytes, line.text.start);
        let end = value_end(slice(bytes, 0..line.text.end), start);
        let whole = end.is_some_and(|end| skip_space(bytes, end) >= line.text.end);
        let text = slice(bytes, 0..line.text.end);
        if !whole {
            self.problems.push((number, code::BROKEN, "not valid JSON"));
        } else if let Some(conversation) = conversation(text, start..line.text.end) {
            self.conversations.push(conversation);
        } else if bytes.get(start) == Some(&b'{') {
            self.message_lines.push(number);
        } else {
            self.problems.push((number, code::BROKEN, "not a message"));
        }
    }

    /// Reads a file that is one JSON value.
    fn value(&mut self, bytes: &[u8], start: usize, end: usize) {
        let record = start..end;
        if let Some(conversation) = conversation(bytes, record) {
            self.conversations.push(conversation);
            return;
        }
        let Some(list) = array(bytes, start) else {
            return;
        };
        for (number, element) in list.elements.iter().enumerate() {
            match conversation(bytes, element.clone()) {
                Some(conversation) => self.conversations.push(conversation),
                None => self
                    .problems
                    .push((number, code::BROKEN, "not a conversation")),
            }
        }
        if !list.whole {
            let number = list.elements.len();
            self.problems
                .push((number, code::BROKEN, "the list breaks off here"));
        }
    }
}

/// The conversation that a JSON value holds: a list of messages, or a record with such a list.
fn conversation(bytes: &[u8], record: Range<usize>) -> Option<Conversation> {
    if let Some(list) = array(bytes, record.start) {
        return holds_messages(bytes, &list).then(|| Conversation {
            record,
            arrays: vec![list],
            ..Conversation::default()
        });
    }
    let fields = members(bytes, record.start);
    let found = LIST_KEYS
        .iter()
        .find_map(|key| {
            let (_, at) = fields.iter().find(|(name, _)| name == key)?;
            lists(bytes, at.start).map(|arrays| (arrays, *key))
        })
        .map(|(arrays, key)| Conversation {
            record: record.clone(),
            arrays,
            request: key == "messages",
            ..Conversation::default()
        });
    let mut conversation = found.or_else(|| {
        let wrapped = fields
            .iter()
            .filter(|(name, _)| WRAPPERS.contains(&name.as_ref()));
        wrapped
            .filter(|(_, at)| bytes.get(at.start) == Some(&b'{'))
            .find_map(|(_, at)| direct(bytes, at.start))
            .map(|inner| Conversation {
                record: record.clone(),
                ..inner
            })
    })?;
    for (name, at) in &fields {
        conversation.field(bytes, name, at.clone());
    }
    conversation.request &= conversation.model.is_some();
    Some(conversation)
}

/// [`conversation`] for an object one level deeper.
fn direct(bytes: &[u8], start: usize) -> Option<Conversation> {
    let fields = members(bytes, start);
    let (_, at) = fields
        .iter()
        .find(|(name, _)| LIST_KEYS.contains(&name.as_ref()))?;
    let mut conversation = Conversation {
        arrays: lists(bytes, at.start)?,
        request: true,
        ..Conversation::default()
    };
    for (name, at) in &fields {
        conversation.field(bytes, name, at.clone());
    }
    Some(conversation)
}

/// A list of messages, or a list of such lists.
fn lists(bytes: &[u8], start: usize) -> Option<Vec<Array>> {
    let list = array(bytes, start)?;
    if holds_messages(bytes, &list) || list.elements.is_empty() {
        return Some(vec![list]);
    }
    list.elements
        .iter()
        .map(|element| array(bytes, element.start))
        .collect()
}

/// Returns `true` if the first object in a list looks like a message.
fn holds_messages(bytes: &[u8], list: &Array) -> bool {
    let first = list
        .elements
        .iter()
        .find(|element| bytes.get(element.start) == Some(&b'{'));
    first.is_some_and(|element| {
        let fields = members(bytes, element.start);
        let has = |key: &str| fields.iter().any(|(name, _)| name == key);
        let typed = has("data") || has("kwargs") || has("content");
        has("role") || (has("type") && typed)
    })
}

impl Conversation {
    /// Takes a field of the record that describes the conversation.
    fn field(&mut self, bytes: &[u8], name: &str, at: Range<usize>) {
        let value = slice(bytes, at.clone());
        match name {
            "model" => {
                self.model = string(value).or(self.model.take());
            }
            // OpenAI has neither: there the system prompt is a message.
            "system" | "anthropic_version" => self.anthropic = true,
            "haystack_dates" => {
                let dates = array(bytes, at.start).map(|list| list.elements);
                let times = dates
                    .unwrap_or_default()
                    .into_iter()
                    .map(|date| day_and_time(&string(slice(bytes, date))?));
                self.times = times.collect();
            }
            _ => {}
        }
    }
}

/// The text of a JSON string.
fn string(value: &[u8]) -> Option<String> {
    serde_json::from_slice(value).ok()
}

/// A time as LongMemEval writes it, `2023/05/20 (Sat) 02:21`, taken as UTC.
fn day_and_time(text: &str) -> Option<Timestamp> {
    let moment = DateTime::strptime("%Y/%m/%d (%a) %H:%M", text).ok()?;
    Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
