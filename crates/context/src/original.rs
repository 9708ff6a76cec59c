//! Originals: what a handle names, byte for byte.
//!
//! | handle | names |
//! |---|---|
//! | `turn:14` | the 14th turn, counted from 1 |
//! | `turn:14.2` | the second part of it: a text, a call's arguments, a tool's result |
//! | `turns:13-14` | these turns |
//! | `call:toolu_01` | the newest result of the call with this ID |
//! | 32 hexadecimal digits | the turn with this ID |
//!
//! A single part is given without any addition. Where several are given, a line in front of each names it, and
//! tells a [gap](Turn::gap) from an original.

use std::fmt;
use std::ops::RangeInclusive;

use crate::coded::{self, CodeEntry, Coded, ErrorCode};
use crate::turn::{Part, Turn};

/// A handle's target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handle {
    /// These turns, counted from 1.
    Turns(RangeInclusive<usize>),
    /// A part of a turn, both counted from 1.
    Part(usize, usize),
    /// The newest result of the call with this ID.
    Call(String),
    /// The turn with this ID in hexadecimal.
    Id(String),
}

/// A section of an original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Lines from one to another, counted from 1.
    Lines(usize, usize),
    /// Bytes from an offset to the one behind the last.
    Bytes(usize, usize),
}

/// Original text.
#[derive(Clone, PartialEq, Eq)]
pub struct Original {
    /// The text.
    pub text: String,
    /// The kind of the original and its handle: `tool result (turn:14.2)`.
    pub title: String,
}

/// A section of an original, as far as there is room for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Excerpt<'t> {
    /// The bytes.
    pub text: &'t str,
    /// The section that they are.
    pub section: Section,
    /// The section that follows where the room did not suffice.
    pub next: Option<Section>,
}

/// The error of a handle or a section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OriginalError {
    /// The text is no handle.
    #[error("`{0}` is not a handle")]
    NotAHandle(String),
    /// The handle names nothing in this conversation.
    #[error("the conversation has nothing at `{handle}`; it has {turns} turns")]
    Nothing {
        /// The handle.
        handle: String,
        /// The number of turns.
        turns: usize,
    },
    /// The text is no section.
    #[error("`{0}` is not a section")]
    NotASection(String),
}

const NOT_A_HANDLE: ErrorCode = ErrorCode::new("E0460");
const NOTHING_THERE: ErrorCode = ErrorCode::new("E0461");
const NOT_A_SECTION: ErrorCode = ErrorCode::new("E0462");

/// The error codes of this module.
pub(crate) const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: NOT_A_HANDLE,
        meaning: "a text is not a handle",
        remedy: "Use turn:14, turn:14.2, turns:13-14, call:ID or the ID of a turn.",
    },
    CodeEntry {
        code: NOTHING_THERE,
        meaning: "a handle names nothing in the conversation",
        remedy: "Take a handle from `lost`, `recall` or a note; turns are counted from 1.",
    },
    CodeEntry {
        code: NOT_A_SECTION,
        meaning: "a text is not a section of an original",
        remedy: "Use lines such as 10-80, or bytes such as b0-4000.",
    },
];

impl Coded for OriginalError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotAHandle(_) => NOT_A_HANDLE,
            Self::Nothing { .. } => NOTHING_THERE,
            Self::NotASection(_) => NOT_A_SECTION,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// The numbers of no turn.
#[expect(clippy::reversed_empty_ranges, reason = "it is empty")]
const NO_TURNS: RangeInclusive<usize> = 1..=0;

impl Handle {
    /// Reads a handle.
    ///
    /// # Errors
    /// [`OriginalError::NotAHandle`].
    pub fn parse(text: &str) -> Result<Self, OriginalError> {
        let wrong = || OriginalError::NotAHandle(text.chars().take(80).collect());
        let text = text.trim();
        if text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::Id(text.to_ascii_lowercase()));
        }
        let parsed = match text.split_once(':').ok_or_else(wrong)? {
            ("turn", place) => match place.split_once('.') {
                Some((turn, part)) => pair(turn, part).map(|(turn, part)| Self::Part(turn, part)),
                None => pair(place, place).map(|(turn, _)| Self::Turns(turn..=turn)),
            },
            ("turns", range) => {
                let ends = range.split_once('-').and_then(|(from, to)| pair(from, to));
                let ordered = ends.filter(|(from, to)| from <= to);
                ordered.map(|(from, to)| Self::Turns(from..=to))
            }
            ("call", id) if !id.is_empty() => Some(Self::Call(id.to_owned())),
            _ => None,
        };
        parsed.ok_or_else(wrong)
    }

    /// The numbers of the turns that it names, counted from 1; none for a call, which any turn may answer.
    #[must_use]
    pub fn turns(&self, turns: &[Turn]) -> RangeInclusive<usize> {
        let one = |turn| turn..=turn;
        match self {
            Self::Turns(range) => range.clone(),
            Self::Part(turn, _) => one(*turn),
            Self::Call(_) => NO_TURNS,
            Self::Id(id) => {
                let at = turns.iter().position(|turn| turn.id().to_string() == *id);
                at.map_or(NO_TURNS, |at| one(at + 1))
            }
        }
    }

    /// The original in a conversation, of which `turns` are all from the first on.
    ///
    /// # Errors
    /// [`OriginalError::Nothing`].
    pub fn original(&self, turns: &[Turn]) -> Result<Original, OriginalError> {
        let nothing = || OriginalError::Nothing {
            handle: self.to_string(),
            turns: turns.len(),
        };
        match self {
            Self::Turns(range) => {
                let from = range.start().checked_sub(1).ok_or_else(nothing)?;
                let chosen = turns.get(from..*range.end()).ok_or_else(nothing)?;
                Ok(whole(from, chosen))
            }
            Self::Part(turn, part) => {
                let of = turn.checked_sub(1).and_then(|index| turns.get(index));
                let index = part.checked_sub(1).ok_or_else(nothing)?;
                let found = of.and_then(|turn| turn.parts().get(index));
                Ok(piece(*turn, index, found.ok_or_else(nothing)?))
            }
            Self::Call(id) => {
                let answers =
                    |part: &Part| matches!(part, Part::Result(it) if it.call.as_str() == id);
                let found = turns.iter().enumerate().rev().find_map(|(at, turn)| {
                    let index = turn.parts().iter().rposition(answers)?;
                    Some(piece(at + 1, index, turn.parts().get(index)?))
                });
                found.ok_or_else(nothing)
            }
            Self::Id(id) => {
                let at = turns.iter().position(|turn| turn.id().to_string() == *id);
                let at = at.ok_or_else(nothing)?;
                Ok(whole(at, turns.get(at..=at).unwrap_or_default()))
            }
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turns(range) if range.start() == range.end() => {
                write!(f, "turn:{}", range.start())
            }
            Self::Turns(range) => write!(f, "turns:{}-{}", range.start(), range.end()),
            Self::Part(turn, part) => write!(f, "turn:{turn}.{part}"),
            Self::Call(id) => write!(f, "call:{id}"),
            Self::Id(id) => f.write_str(id),
        }
    }
}

impl Section {
    /// Reads lines (`10-80`, `10-`, `10`) or bytes (`b0-4000`).
    ///
    /// # Errors
    /// [`OriginalError::NotASection`].
    pub fn parse(text: &str) -> Result<Self, OriginalError> {
        let wrong = || OriginalError::NotASection(text.chars().take(80).collect());
        let (is_bytes, range) = match text.trim().strip_prefix('b') {
            Some(range) => (true, range),
            None => (false, text.trim()),
        };
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let from: usize = from.parse().map_err(|_| wrong())?;
        let to: usize = match to {
            "" => usize::MAX,
            to => to.parse().map_err(|_| wrong())?,
        };
        match is_bytes {
            true if from <= to => Ok(Self::Bytes(from, to)),
            false if from <= to && from > 0 => Ok(Self::Lines(from, to)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines(from, to) => write!(f, "{from}-{to}"),
            Self::Bytes(from, to) => write!(f, "b{from}-{to}"),
        }
    }
}

impl Original {
    /// A section of the text, at most `room` bytes of it; without a section all of it. A cut falls behind a
    /// line, or within one that is longer than the room.
    #[must_use]
    pub fn excerpt(&self, section: Option<Section>, room: usize) -> Excerpt<'_> {
        let text = self.text.as_str();
        let (from, to) = match section {
            Some(Section::Lines(first, last)) => (line_start(text, first), line_end(text, last)),
            Some(Section::Bytes(from, to)) => (boundary(text, from), boundary(text, to)),
            None => (0, text.len()),
        };
        let is_bytes = matches!(section, Some(Section::Bytes(..)));
        let to = to.max(from);
        let most = boundary(text, from.saturating_add(room.max(4)));
        let line = text.get(from..most).and_then(|held| held.rfind('\n'));
        let (end, is_within) = match line {
            _ if to <= most => (to, is_bytes),
            Some(last) if !is_bytes => (from + last + 1, false),
            _ => (most, true),
        };
        let shown = text.get(from..end).unwrap_or_default();
        let lines = |from: usize, to: usize| {
            let first = text.get(..from).unwrap_or_default().matches('\n').count() + 1;
            let within = text.get(from..to).unwrap_or_default().lines().count();
            (first, first + within.saturating_sub(1))
        };
        let named = |from: usize, to: usize| match is_within {
            true => Section::Bytes(from, to),
            false => {
                let (first, last) = lines(from, to);
                Section::Lines(first, last)
            }
        };
        Excerpt {
            text: shown,
            section: named(from, end),
            next: (end < to).then(|| named(end, to)),
        }
    }
}

/// Two numbers from 1 on, the first not above the second; a part may be any.
fn pair(first: &str, second: &str) -> Option<(usize, usize)> {
    let (first, second): (usize, usize) = (first.parse().ok()?, second.parse().ok()?);
    (first > 0 && second > 0).then_some((first, second))
}

fn whole(from: usize, turns: &[Turn]) -> Original {
    if let [turn] = turns
        && let [part] = turn.parts()
    {
        return piece(from + 1, 0, part);
    }
    let mut text = String::new();
    for (at, turn) in turns.iter().enumerate() {
        for (index, part) in turn.parts().iter().enumerate() {
            let piece = piece(from + at + 1, index, part);
            let role = turn.role();
            text.push_str(&match turn.is_gap() {
                true => format!(
                    "--- turn:{} is damaged, this is no original ---\n",
                    from + at + 1
                ),
                false => format!("--- {role}, {} ---\n", piece.title),
            });
            text.push_str(&piece.text);
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    let handle = Handle::Turns(from + 1..=from + turns.len());
    Original {
        text,
        title: handle.to_string(),
    }
}

fn piece(turn: usize, index: usize, part: &Part) -> Original {
    let handle = Handle::Part(turn, index + 1);
    let binary = |kind: &str, bytes: usize| format!("[{kind}, {bytes} bytes, without a text]");
    let (kind, text) = match part {
        Part::Text(text) => ("text".to_owned(), text.to_string()),
        Part::Thinking(text) => ("thinking".to_owned(), text.to_string()),
        Part::Call(call) => (format!("call of {}", call.name), call.arguments.to_string()),
        Part::Result(result) => ("tool result".to_owned(), result.text.to_string()),
        Part::Attachment(it) => (it.kind.to_string(), binary(&it.kind, it.bytes)),
        Part::Opaque(it) => (it.kind.to_string(), binary(&it.kind, it.bytes)),
    };
    Original {
        text,
        title: format!("{kind} ({handle})"),
    }
}

/// The last character boundary at or before an offset.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn line_start(text: &str, line: usize) -> usize {
    let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
    match line.checked_sub(2) {
        None => 0,
        Some(before) => ends.nth(before).unwrap_or(text.len()),
    }
}

fn line_end(text: &str, line: usize) -> usize {
    let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
    ends.nth(line.saturating_sub(1)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
