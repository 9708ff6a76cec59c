//! Reports on conversations.

use context::original::Section;
use context::pin::Pin;
use context::{Role, Text, Tokens, Turn};
use conversation::Conversation;
use history::{Conversation as Record, ConversationId, Mark, MarkId, Route, Totals};
use jiff::Timestamp;

/// One conversation in figures.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overview {
    /// Its id.
    pub id: ConversationId,
    /// The name of its session.
    pub session: Option<Text>,
    /// The model of its last request.
    pub model: Text,
    /// The turns of its last request.
    pub turns: u64,
    /// The tokens of the view that was sent last; `None` where it is not in memory.
    pub view: Option<Tokens>,
    /// The window; `None` where it is not in memory.
    pub window: Option<Tokens>,
    /// The summaries swapped in so far.
    pub compactions: u32,
    /// The usage and cost that the provider reported.
    pub totals: Totals,
    /// The time when it was last seen.
    pub seen: Timestamp,
}

impl Overview {
    pub(crate) fn stored(record: &Record) -> Self {
        Self {
            id: record.id,
            session: record.labels.session.clone(),
            model: record.model.clone(),
            turns: record.turns,
            view: None,
            window: None,
            compactions: record.standing.compactions,
            totals: record.totals,
            seen: record.seen,
        }
    }

    pub(crate) fn of(live: &Conversation) -> Self {
        Self {
            view: Some(live.last_sent()),
            window: Some(live.limits().window),
            ..Self::stored(live.record())
        }
    }
}

/// The reasons of a conversation's view.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// Its figures.
    pub overview: Overview,
    /// Its pins.
    pub pins: Vec<Pin>,
    /// Its summaries, those of fewer turns first.
    pub summaries: Vec<SummaryReport>,
    /// The events, newest first, in words and figures; empty where it is not in memory.
    pub journal: Vec<(Timestamp, String)>,
}

impl Explanation {
    pub(crate) fn of(live: &Conversation, summaries: Vec<SummaryReport>) -> Self {
        let journal = live.journal().entries();
        Self {
            overview: Overview::of(live),
            pins: live.pins().iter().cloned().collect(),
            summaries,
            journal: journal
                .map(|(at, happened)| (*at, happened.to_string()))
                .collect(),
        }
    }
}

/// A summary that was made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SummaryReport {
    /// Its id, for [`Engine::expand`](crate::Engine::expand).
    pub id: MarkId,
    /// The turns that it replaces, from the first one on.
    pub turns: usize,
    /// Its size as shown.
    pub tokens: Tokens,
    /// The route by which it was made.
    pub route: Route,
    /// The time when it was made.
    pub at: Timestamp,
    /// Its text.
    pub text: Text,
    /// True if it is in view.
    pub is_shown: bool,
}

impl SummaryReport {
    pub(crate) fn new(mark: Mark, turns: usize, shown: Option<MarkId>) -> Self {
        Self {
            id: mark.id(),
            turns,
            tokens: mark.tokens,
            route: mark.route,
            at: mark.at,
            is_shown: shown == Some(mark.id()),
            text: mark.summary,
        }
    }
}

/// A turn as it was said.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Original {
    /// The speaker.
    pub role: Role,
    /// Its size.
    pub tokens: Tokens,
    /// All that can be read of it.
    pub text: String,
    /// The message as JSON. One that holds more than text and tool calls, such as images or signatures, is
    /// byte for byte the one that was sent; of others, the texts are.
    pub message: Vec<u8>,
}

impl Original {
    pub(crate) fn new(turn: &Turn, message: Vec<u8>) -> Self {
        Self {
            role: turn.role(),
            tokens: turn.tokens(),
            text: turn.readable(),
            message,
        }
    }
}

/// The turns and details that the model can no longer see because of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The turns that the summary replaces.
    pub turns: usize,
    /// Their tokens.
    pub tokens: Tokens,
    /// The entries, those that matter most first.
    pub entries: Vec<Loss>,
    /// The number of entries that are not listed.
    pub left_out: usize,
}

/// One thing that the model can no longer see.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The kind: `constraint`, `decision`, `open task`, `failed attempt`, `closed task`, `action` or
    /// `identifier`.
    pub kind: &'static str,
    /// The handle of the turn that says it, for [`Engine::original`](crate::Engine::original).
    pub handle: String,
    /// The quotation on one line: words of the transcript, and no instructions.
    pub text: String,
}

/// A section of an original.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Excerpt {
    /// The kind of the original and its handle: `tool result (turn:14.2)`.
    pub title: String,
    /// The text, as it was said.
    pub text: String,
    /// The section that it is.
    pub section: String,
    /// The section that follows, where the room did not suffice.
    pub next: Option<String>,
    /// The size of the whole original, in bytes.
    pub bytes: usize,
}

impl std::fmt::Debug for Excerpt {
    /// Without the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Excerpt")
            .field("title", &self.title)
            .field("text", &self.text.len())
            .field("section", &self.section)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Excerpt {
    pub(crate) fn of(
        original: &context::original::Original,
        section: Option<Section>,
        room: usize,
    ) -> Self {
        let excerpt = original.excerpt(section, room);
        Self {
            title: original.title.clone(),
            text: excerpt.text.to_owned(),
            section: excerpt.section.to_string(),
            next: excerpt.next.map(|next| next.to_string()),
            bytes: original.text.len(),
        }
    }
}
