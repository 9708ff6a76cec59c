//! The view: how one request is shown to the model.

use context::Text;
use context::standing::Matter;
use history::{Change, Mark, Route};

use crate::overlay::Overlay;

/// The view of one request. Indices count the request's messages as received, which are the turns
/// of the conversation.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The message in front.
    pub front: Front,
    /// Matter that the client put into messages before `from` and that stays in front, by message.
    pub standing: Vec<(usize, Matter)>,
    /// The first message that is shown. System and developer messages of OpenAI lists are always shown.
    pub from: usize,
    /// Tool results before this index are replaced by a placeholder.
    pub cleared: usize,
    /// Thinking before this index is taken out.
    pub stripped: usize,
    /// Changes of single messages, made when each was first sent and repeated ever since: by message, and
    /// for one message in the order in which they were made.
    pub changes: Vec<(usize, Change)>,
    /// The cache breakpoints that the client did not set.
    pub breakpoints: Vec<Breakpoint>,
}

/// A place for a cache breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakpoint {
    /// The last block of the system prompt, or of the tools where there is no system prompt.
    Instructions,
    /// The last block of this message.
    Message(usize),
}

/// The message in front of the turns that are shown.
#[derive(Clone, Debug, Default)]
pub enum Front {
    /// Nothing.
    #[default]
    Nothing,
    /// A user message: pins in full, then the summary.
    Readable {
        /// The pins that no shown message says; may be empty.
        pins: Text,
        /// The summary; empty where turns were dropped without one.
        summary: Text,
    },
    /// The provider's own message or item with its compaction block.
    Native {
        /// Its JSON, byte for byte.
        message: Text,
    },
}

impl Front {
    /// A summary and the pins that were restated with it.
    #[must_use]
    pub fn of(mark: Option<&Mark>, pins: &Text) -> Self {
        match mark {
            Some(mark) if mark.route == Route::Native => Self::Native {
                message: mark.summary.clone(),
            },
            None if pins.is_empty() => Self::Nothing,
            mark => Self::Readable {
                pins: pins.clone(),
                summary: mark.map(|mark| mark.summary.clone()).unwrap_or_default(),
            },
        }
    }
}

impl View {
    /// The front that an overlay holds.
    #[must_use]
    pub(crate) fn front_of(overlay: Option<&Overlay>) -> Front {
        overlay.map_or(Front::Nothing, |overlay| {
            Front::of(overlay.mark.as_deref(), &overlay.pins)
        })
    }

    /// Returns true if the request is shown as it came.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        matches!(self.front, Front::Nothing)
            && self.from == 0
            && self.standing.is_empty()
            && self.cleared == 0
            && self.stripped == 0
            && self.changes.is_empty()
            && self.breakpoints.is_empty()
    }

    /// Returns true if every turn is shown as it was said.
    #[must_use]
    pub fn shows_all(&self) -> bool {
        let shrunk = |(_, change): &(usize, Change)| matches!(change, Change::Shrunk { .. });
        self.from == 0 && self.cleared == 0 && !self.changes.iter().any(shrunk)
    }
}
