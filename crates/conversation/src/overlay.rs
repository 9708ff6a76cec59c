//! The texts that are shown beside the turns. They leave memory while a conversation is idle.

use std::collections::HashMap;
use std::sync::Arc;

use context::{Text, TurnId};
use history::{Change, ConversationId, Edition, HistoryError, Mark, MarkId, Store};

use crate::ledger::Beside;

/// The texts of a conversation beside its turns.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// The summary in front.
    pub(crate) mark: Option<Arc<Mark>>,
    /// The summary that was taken back.
    pub(crate) undone: Option<Arc<Mark>>,
    /// The pins that were restated in front with it.
    pub(crate) pins: Text,
    /// Changes to turns, by index, in order. They include turns that are not shown, because the
    /// client may go back to them.
    pub(crate) editions: Vec<(usize, Change)>,
    /// A summary that is ready and not shown yet.
    pub(crate) ready: Option<Arc<Mark>>,
    /// The texts told with the ready summary when it is shown.
    pub(crate) beside: Beside,
}

impl Overlay {
    /// Adds a change behind those of the same and earlier turns. A result that is shortened again is shown as
    /// it was shortened last.
    pub(crate) fn add(&mut self, index: usize, change: Change) {
        if let Change::Shrunk { result, .. } = &change {
            let again =
                |old: &Change| matches!(old, Change::Shrunk { result: of, .. } if of == result);
            self.editions
                .retain(|(other, old)| *other != index || !again(old));
        }
        let at = self.editions.partition_point(|&(other, _)| other <= index);
        self.editions.insert(at, (index, change));
    }

    /// Forgets the changes of turns from `len` on.
    pub(crate) fn cut(&mut self, len: usize) {
        self.editions.retain(|&(index, _)| index < len);
    }

    /// Forgets what stands in front.
    pub(crate) fn clear_front(&mut self) {
        self.mark = None;
        self.pins = Text::default();
    }

    /// The changes of one turn, in order.
    pub(crate) fn changes_of(&self, index: usize) -> impl Iterator<Item = &Change> {
        let of = move |change: &&(usize, Change)| change.0 == index;
        self.editions.iter().filter(of).map(|(_, change)| change)
    }

    /// The changes of the messages from `from` on.
    pub(crate) fn changes_from(&self, from: usize) -> impl Iterator<Item = &Change> {
        let shown = self
            .editions
            .iter()
            .filter(move |(index, _)| *index >= from);
        shown.map(|(_, change)| change)
    }

    /// The texts that are sent beside the turns from `from` on, except the summary.
    pub(crate) fn texts(&self, from: usize) -> Vec<String> {
        let changes = self.changes_from(from).filter_map(added_text);
        changes.chain([self.pins.to_string()]).collect()
    }

    /// The bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        let marks = self.mark.iter().chain(&self.ready).chain(&self.undone);
        let marks: usize = marks.map(|mark| mark.summary.len()).sum();
        let editions = self
            .editions
            .iter()
            .map(|(_, change)| text_of(change).len());
        let editions: usize = editions.sum();
        marks + editions + self.pins.len() + self.beside.bytes()
    }
}

/// The text of a change: of what is added as it is sent, or of what stands in a result's place.
pub(crate) const fn text_of(change: &Change) -> &Text {
    match change {
        Change::Appended(text) | Change::Followed(text) | Change::Shrunk { text, .. } => text,
    }
}

/// The words of a block or a message that was added.
pub(crate) fn added_text(change: &Change) -> Option<String> {
    let (Change::Appended(added) | Change::Followed(added)) = change else {
        return None;
    };
    let added: serde_json::Value = serde_json::from_str(added).ok()?;
    let text = added.get("text").or_else(|| {
        let content = added.get("content")?;
        content.pointer("/0/text").or(Some(content))
    });
    text?.as_str().map(str::to_owned)
}

/// The key of the pins in front. They must go out again byte for byte although pins come and go, so they
/// are stored by conversation and swap.
pub(crate) fn pins_key(of: ConversationId, compactions: u32) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"pins in front");
    hasher.update(of.as_bytes());
    hasher.update(&compactions.to_le_bytes());
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    key
}

/// Rows that must be read from the store before a conversation can be shown.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The conversation and how often it was compacted.
    pub(crate) of: (ConversationId, u32),
    /// True if something stands in front of the turns.
    pub(crate) has_front: bool,
    /// The summary that stands.
    pub(crate) mark: Option<MarkId>,
    /// The summary that was taken back.
    pub(crate) undone: Option<MarkId>,
    /// The summary that is ready.
    pub(crate) ready: Option<MarkId>,
    /// The turns. Changes of those that are not shown are read too: the client may go back to them.
    pub(crate) path: Vec<TurnId>,
}

impl Wanted {
    /// Reads the texts.
    ///
    /// # Errors
    /// Where the store fails. A summary that is no longer there is left out.
    pub fn load(&self, store: &dyn Store) -> Result<Overlay, HistoryError> {
        let read = |id: Option<MarkId>| match id {
            Some(id) => store.mark(id).map(|mark| mark.map(Arc::new)),
            None => Ok(None),
        };
        let (of, compactions) = self.of;
        let pins = match self.has_front {
            true => store.chunk(pins_key(of, compactions))?,
            false => None,
        };
        let mut overlay = Overlay {
            mark: read(self.mark)?,
            undone: read(self.undone)?,
            pins: pins.unwrap_or_default(),
            editions: Vec::new(),
            ready: read(self.ready)?,
            beside: match self.ready {
                Some(ready) => Beside::load(store, ready)?,
                None => Beside::default(),
            },
        };
        let indices = self.path.iter().enumerate();
        let places: HashMap<TurnId, usize> = indices.map(|(index, &id)| (id, index)).collect();
        for Edition { turn, change, .. } in store.editions(&self.path)? {
            if let Some(&index) = places.get(&turn) {
                overlay.add(index, change);
            }
        }
        Ok(overlay)
    }
}
