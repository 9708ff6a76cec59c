//! Changes that are stored together.

use context::pin::PinId;
use context::{Part, Text, Turn, TurnId};
use history::{Conversation, ConversationId, Edition, HistoryError, Mark, Owner, Pinned, Store};
use jiff::Timestamp;
use wire::api::Request;

use crate::identity::placed;
use crate::overlay::pins_key;

/// Changes that the store writes in one transaction.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Turns, each behind the one before it.
    pub(crate) turns: Vec<Turn>,
    /// The turn before the first.
    pub(crate) parent: TurnId,
    /// The raw messages of turns that are more than text.
    pub(crate) originals: Vec<(TurnId, Box<[u8]>)>,
    /// Summaries.
    pub(crate) marks: Vec<Mark>,
    /// Changes of turns.
    pub(crate) editions: Vec<Edition>,
    /// Texts by key, with their owners.
    pub(crate) texts: Vec<(Owner, [u8; 16], Text)>,
    /// Pins that a branch inherits or the strategy sets.
    pub(crate) pins: Vec<Pinned>,
    /// Pins that the strategy removes.
    pub(crate) unpinned: Vec<PinId>,
    /// The conversation as it is now.
    pub(crate) conversation: Option<Conversation>,
    /// A conversation's journal.
    pub(crate) journal: Option<(ConversationId, String)>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            parent: TurnId::ROOT,
            originals: Vec::new(),
            marks: Vec::new(),
            editions: Vec::new(),
            texts: Vec::new(),
            pins: Vec::new(),
            unpinned: Vec::new(),
            conversation: None,
            journal: None,
        }
    }
}

impl Batch {
    /// Turns of a request, from its message `from` on.
    pub(crate) fn turns(
        request: &Request<'_>,
        from: usize,
        parent: TurnId,
        turns: Vec<Turn>,
    ) -> Self {
        let originals = turns
            .iter()
            .enumerate()
            .filter(|(_, turn)| turn.parts().iter().any(is_more_than_text))
            .filter_map(|(index, turn)| {
                let raw = request.message(from + index)?.raw();
                Some((turn.id(), raw.as_bytes().into()))
            })
            .collect();
        Self {
            turns,
            parent,
            originals,
            ..Self::default()
        }
    }

    /// All of a conversation whose newest request this is, for a store that has lost it.
    pub(crate) fn whole(request: &Request<'_>, live: &crate::Conversation, now: Timestamp) -> Self {
        let counter = live.supervisor.model.counter();
        let turns = placed(request, 0, TurnId::ROOT, &counter);
        let mut whole = Self::turns(request, 0, TurnId::ROOT, turns);
        let pins = live.pins.outside(usize::MAX).into_iter();
        whole.pins = pins.map(|pin| Pinned { pin, said_in: None }).collect();
        whole.conversation = Some(live.to_record());
        let Some(overlay) = &live.overlay else {
            return whole;
        };
        // The conversation may have gone elsewhere since: what does not stand on these turns is left out.
        let turns = &whole.turns;
        let is_said = |id: TurnId| turns.iter().any(|turn| turn.id() == id);
        let marks = overlay.mark.iter().chain(&overlay.ready);
        let marks = marks.filter(|mark| is_said(mark.node));
        let editions = overlay.editions.iter().filter_map(|(index, change)| {
            let turn = *live.said.outline.ids().get(*index)?;
            let turn = turns.get(*index).filter(|said| said.id() == turn)?;
            Some(Edition {
                turn: turn.id(),
                change: change.clone(),
                at: now,
            })
        });
        (whole.marks, whole.editions) = (
            marks.map(|mark| Mark::clone(mark)).collect(),
            editions.collect(),
        );
        if !overlay.pins.is_empty() {
            let key = pins_key(live.record.id, live.record.standing.compactions);
            let of = Owner::Conversation(live.record.id);
            whole.texts = vec![(of, key, overlay.pins.clone())];
        }
        whole
    }

    /// Adds what else is to be stored of the same request.
    pub fn add(&mut self, more: Self) {
        self.turns.extend(more.turns);
        self.originals.extend(more.originals);
        self.marks.extend(more.marks);
        self.editions.extend(more.editions);
        self.texts.extend(more.texts);
        // The newer change of a pin holds.
        self.pins.retain(|set| !more.unpinned.contains(&set.pin.id));
        self.unpinned
            .retain(|id| more.pins.iter().all(|set| set.pin.id != *id));
        self.pins.extend(more.pins);
        self.unpinned.extend(more.unpinned);
        self.conversation = more.conversation.or(self.conversation.take());
        self.journal = more.journal.or(self.journal.take());
    }

    /// Returns true if there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
            && self.marks.is_empty()
            && self.editions.is_empty()
            && self.texts.is_empty()
            && self.pins.is_empty()
            && self.unpinned.is_empty()
            && self.conversation.is_none()
            && self.journal.is_none()
    }

    /// The approximate size in the store in bytes: rows with their indexes, and texts.
    #[must_use]
    pub fn size(&self) -> usize {
        const ROW: usize = 512;
        const TOKEN: usize = 4;
        let turns = self.turns.iter().map(|turn| turn.tokens().get());
        let tokens = turns.chain(self.marks.iter().map(|mark| mark.tokens.get()));
        let tokens = usize::try_from(tokens.sum::<u64>()).unwrap_or(usize::MAX);
        let originals = self.originals.iter().map(|(_, message)| message.len());
        let journal = self.journal.iter().map(|(_, text)| text.len());
        let texts = self
            .texts
            .iter()
            .map(|(_, _, text)| text.len())
            .chain(journal);
        let rows = self.turns.len()
            + self.originals.len()
            + self.marks.len()
            + self.editions.len()
            + self.texts.len()
            + self.pins.len();
        let bytes = originals.chain(texts).fold(0, usize::saturating_add);
        tokens
            .saturating_mul(TOKEN)
            .saturating_add(rows * ROW)
            .saturating_add(bytes)
    }

    /// Writes it. Writing it again changes nothing.
    ///
    /// # Errors
    /// Where the store fails, or the parent is not there.
    pub fn write(&self, store: &mut dyn Store) -> Result<(), HistoryError> {
        let mut parent = self.parent;
        for turn in &self.turns {
            store.append(parent, turn)?;
            parent = turn.id();
        }
        for (turn, message) in &self.originals {
            store.keep_original(*turn, message)?;
        }
        for mark in &self.marks {
            store.add_mark(mark.clone())?;
        }
        for (of, key, text) in &self.texts {
            store.keep_owned(*of, *key, text)?;
        }
        if let Some((of, text)) = &self.journal {
            store.keep_journal(*of, text)?;
        }
        if let Some(conversation) = &self.conversation {
            store.save(conversation)?;
            for pin in &self.pins {
                store.set_pin(conversation.id, pin)?;
            }
            for &pin in &self.unpinned {
                store.remove_pin(conversation.id, pin)?;
            }
        }
        self.editions
            .iter()
            .try_for_each(|edition| store.add_edition(edition))
    }
}

/// Returns true if a part holds bytes or a signature that its turn does not hold.
pub(crate) fn is_more_than_text(part: &Part) -> bool {
    matches!(
        part,
        Part::Attachment(_) | Part::Opaque(_) | Part::Thinking(_)
    )
}
