//! What a conversation is shown with besides its turns: the texts, which leave memory when it is idle.

use std::sync::Arc;

use context::{Text, TurnId};
use history::{Change, ConversationId, Edition, Mark, MarkId, Route, Store};

use super::ledger;
use crate::rewrite::{Front, Recipe};

/// The text in front of the shown turns.
#[derive(Clone, Debug, Default)]
pub(super) struct FrontText {
    /// The summary that stands.
    pub mark: Option<Arc<Mark>>,
    /// The pins that were restated at the swap.
    pub pins: Text,
}

impl FrontText {
    fn front(&self) -> Front<'_> {
        match &self.mark {
            Some(mark) if mark.route == Route::Native => Front::Native {
                message: &mark.summary,
            },
            Some(mark) => Front::Readable {
                pins: &self.pins,
                summary: &mark.summary,
            },
            None if self.pins.is_empty() => Front::Nothing,
            None => Front::Readable {
                pins: &self.pins,
                summary: "",
            },
        }
    }
}

/// The texts of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Dress {
    /// What stands in front.
    pub front: FrontText,
    /// What was changed about turns, by their index, in order; of those that are not shown too, for a client
    /// that goes back to them.
    pub editions: Vec<(usize, Change)>,
    /// A summary that is ready and not shown yet.
    pub ready: Option<Arc<Mark>>,
    /// The identifiers that it does not name.
    pub ledger: Text,
}

impl Dress {
    /// Adds a change behind those of the same and earlier turns.
    pub(super) fn add(&mut self, index: usize, change: Change) {
        let at = self.editions.partition_point(|&(other, _)| other <= index);
        self.editions.insert(at, (index, change));
    }

    /// Forgets what is about turns from `len` on.
    pub(super) fn cut(&mut self, len: usize) {
        self.editions.retain(|&(index, _)| index < len);
    }

    /// The texts that are sent beside the turns from `from` on, but for the summary.
    pub(super) fn said(&self, from: usize) -> Vec<String> {
        let shown = self.editions.iter().filter(|(index, _)| *index >= from);
        let changes = shown.filter_map(|(_, change)| said(change));
        changes.chain([self.front.pins.to_string()]).collect()
    }

    #[cfg(test)]
    /// The bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        let marks = [&self.front.mark, &self.ready];
        let marks: usize = marks
            .into_iter()
            .flatten()
            .map(|mark| mark.summary.len())
            .sum();
        let editions: usize = self.editions.iter().map(|(_, change)| size(change)).sum();
        marks + editions + self.front.pins.len() + self.ledger.len()
    }
}

/// The words of a block or a message that was added.
fn said(change: &Change) -> Option<String> {
    let (Change::Appended(added) | Change::Followed(added)) = change else {
        return None;
    };
    let added: serde_json::Value = serde_json::from_str(added).ok()?;
    let text = added.get("text").or_else(|| added.get("content"))?;
    text.as_str().map(str::to_owned)
}

#[cfg(test)]
fn size(change: &Change) -> usize {
    match change {
        Change::Appended(text) | Change::Followed(text) | Change::Shrunk { text, .. } => text.len(),
    }
}

/// How one request is shown, with its texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// What stands in front.
    pub front: FrontText,
    /// The first turn that is shown.
    pub from: usize,
    /// Tool results before this are cleared.
    pub cleared: usize,
    /// Thinking before this is taken out.
    pub stripped: usize,
    /// The changes of its turns.
    pub changes: Vec<(usize, Change)>,
}

impl Look {
    /// Whether it is the request as it came.
    pub(super) fn is_plain(&self) -> bool {
        self.from == 0
            && self.cleared == 0
            && self.stripped == 0
            && self.changes.is_empty()
            && self.front.mark.is_none()
            && self.front.pins.is_empty()
    }

    /// Whether every turn is shown as it was said.
    pub(super) fn shows_all(&self) -> bool {
        let shrunk = |(_, change): &(usize, Change)| matches!(change, Change::Shrunk { .. });
        self.from == 0 && self.cleared == 0 && !self.changes.iter().any(shrunk)
    }

    /// The recipe for the bytes.
    pub(super) fn recipe(&self) -> Recipe<'_> {
        Recipe {
            front: self.front.front(),
            from: self.from,
            cleared: self.cleared,
            stripped: self.stripped,
            changes: &self.changes,
        }
    }
}

/// Where the text of the pins in front is kept: by the conversation and its swap, since it must be sent
/// again byte for byte though pins come and go.
pub(super) fn pins_key(of: ConversationId, compactions: u32) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"pins in front");
    hasher.update(of.as_bytes());
    hasher.update(&compactions.to_le_bytes());
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    key
}

/// What is asked of the store.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The conversation and how often it was compacted.
    pub of: (ConversationId, u32),
    /// The summary that stands.
    pub mark: Option<MarkId>,
    /// The summary that is ready.
    pub ready: Option<MarkId>,
    /// The turns. What was changed about those that are not shown is read too: the client may go back to
    /// where they are.
    pub path: Vec<TurnId>,
}

/// Reads the texts of a conversation from the store.
///
/// # Errors
/// Where the store fails, and where a mark that stands is not there any more.
pub(super) fn load(store: &dyn Store, wanted: &Wanted) -> Result<Dress, history::HistoryError> {
    let read = |id: Option<MarkId>| match id {
        Some(id) => store.mark(id).map(|mark| mark.map(Arc::new)),
        None => Ok(None),
    };
    let (of, compactions) = wanted.of;
    let pins = store.chunk(pins_key(of, compactions))?;
    let editions = store.editions(&wanted.path)?;
    let mut dress = Dress {
        front: FrontText {
            mark: read(wanted.mark)?,
            pins: pins.unwrap_or_default(),
        },
        editions: Vec::with_capacity(editions.len()),
        ready: read(wanted.ready)?,
        ledger: match wanted.ready {
            Some(ready) => store.chunk(ledger::key(ready))?.unwrap_or_default(),
            None => Text::default(),
        },
    };
    let places: std::collections::HashMap<TurnId, usize> = wanted
        .path
        .iter()
        .enumerate()
        .map(|(index, &id)| (id, index))
        .collect();
    for Edition { turn, change, .. } in editions {
        if let Some(&index) = places.get(&turn) {
            dress.add(index, change);
        }
    }
    Ok(dress)
}
