//! The records around the tree: conversations, the account, pins, editions, kept messages, chunk summaries.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use context::pin::PinId;
use context::{Text, TurnId};
use jiff::Timestamp;

use super::{Kept, Memory, Numbered, pushed};
use crate::account::{AccountStore, MOST_MODELS, MOST_SPENT, OTHER_MODELS, Spent};
use crate::conversation::{Conversation, ConversationId};
use crate::edition::Edition;
use crate::engine::{ConversationStore, EditionStore, Owner, PinStore, Pinned};
use crate::error::HistoryError;
use crate::store::Stored;

impl ConversationStore for Memory {
    fn save(&mut self, conversation: &Conversation) -> Result<(), HistoryError> {
        let id = conversation.id;
        let known = self.conversations.get(&id);
        let journal = known.and_then(|known| known.journal.clone());
        match known.map(|known| known.conversation.head) {
            Some(head) if head == conversation.head => {}
            Some(head) => {
                self.forget_head(head, id);
                pushed(&mut self.heads, conversation.head, id);
            }
            None => {
                self.hold(Stored::conversation())?;
                pushed(&mut self.heads, conversation.head, id);
            }
        }
        let kept = Kept {
            conversation: conversation.clone(),
            journal,
        };
        self.conversations.insert_mut(id, kept);
        Ok(())
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<Conversation>, HistoryError> {
        let found = self.conversations.get(&id);
        Ok(found.map(|kept| kept.conversation.clone()))
    }

    fn headed(&self, heads: &[TurnId]) -> Result<Vec<Conversation>, HistoryError> {
        let ids: BTreeSet<ConversationId> = heads
            .iter()
            .filter_map(|head| self.heads.get(head))
            .flatten()
            .copied()
            .collect();
        let found = ids.iter().filter_map(|id| self.conversations.get(id));
        let found = found.map(|kept| &kept.conversation);
        Ok(newest_first(found.collect(), usize::MAX))
    }

    fn conversations(
        &self,
        before: Timestamp,
        most: usize,
    ) -> Result<Vec<Conversation>, HistoryError> {
        let found = self.conversations.values().map(|kept| &kept.conversation);
        let found = found.filter(|conversation| conversation.seen < before);
        Ok(newest_first(found.collect(), most))
    }

    fn keep_journal(&mut self, of: ConversationId, text: &str) -> Result<(), HistoryError> {
        if let Some(kept) = self.conversations.get_mut(&of) {
            kept.journal = Some(Text::from(text));
        }
        Ok(())
    }

    fn journal(&self, of: ConversationId) -> Result<Option<Text>, HistoryError> {
        Ok(self
            .conversations
            .get(&of)
            .and_then(|kept| kept.journal.clone()))
    }
}

impl Memory {
    pub(super) fn forget_head(&mut self, head: TurnId, id: ConversationId) {
        let Some(ids) = self.heads.get_mut(&head) else {
            return;
        };
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            self.heads.remove_mut(&head);
        }
    }
}

fn newest_first(mut found: Vec<&Conversation>, most: usize) -> Vec<Conversation> {
    found.sort_unstable_by_key(|conversation| (Reverse(conversation.seen), conversation.id));
    found.into_iter().take(most).cloned().collect()
}

impl AccountStore for Memory {
    fn spend(&mut self, spent: &Spent) -> Result<(), HistoryError> {
        let mut sum = spent.clone();
        let is_known = self.spent.contains_key(&(spent.day, spent.model.clone()));
        let models = self.spent.keys().filter(|(day, _)| *day == spent.day);
        if !is_known && models.count() >= MOST_MODELS {
            sum.model = Text::from(OTHER_MODELS);
        }
        let key = (sum.day, sum.model.clone());
        if let Some(before) = self.spent.get(&key) {
            sum.add(before);
        }
        self.spent.insert_mut(key, sum);
        while self.spent.size() > MOST_SPENT
            && let Some(oldest) = self.spent.keys().next().cloned()
        {
            self.spent.remove_mut(&oldest);
        }
        Ok(())
    }

    fn spent(&self) -> Result<Vec<Spent>, HistoryError> {
        Ok(self.spent.values().cloned().collect())
    }
}

impl PinStore for Memory {
    fn set_pin(&mut self, of: ConversationId, pin: &Pinned) -> Result<bool, HistoryError> {
        let there = self.pins.get(&of);
        if there.is_some_and(|pins| pins.iter().any(|other| other.pin.id == pin.pin.id)) {
            return Ok(false);
        }
        self.hold(Stored::text_beside(pin.pin.text.len()))?;
        pushed(&mut self.pins, of, pin.clone());
        Ok(true)
    }

    fn remove_pin(&mut self, of: ConversationId, pin: PinId) -> Result<bool, HistoryError> {
        let Some(pins) = self.pins.get_mut(&of) else {
            return Ok(false);
        };
        let Some(place) = pins.iter().position(|other| other.pin.id == pin) else {
            return Ok(false);
        };
        let removed = pins.remove(place);
        if pins.is_empty() {
            self.pins.remove_mut(&of);
        }
        self.release(removed.pin.text.len());
        Ok(true)
    }

    fn pins(&self, of: ConversationId) -> Result<Vec<Pinned>, HistoryError> {
        Ok(self.pins.get(&of).cloned().unwrap_or_default())
    }
}

impl EditionStore for Memory {
    fn add_edition(&mut self, edition: &Edition) -> Result<(), HistoryError> {
        let turn = edition.turn;
        self.require(turn)?;
        let known = self.editions.of.get(&turn).into_iter().flatten();
        if known
            .map(|known| &known.edition.change)
            .any(|change| *change == edition.change)
        {
            return Ok(());
        }
        self.hold(Stored::text_beside(edition.change.text().len()))?;
        let numbered = Numbered {
            number: self.editions.next,
            edition: edition.clone(),
        };
        self.editions.next += 1;
        pushed(&mut self.editions.of, turn, numbered);
        Ok(())
    }

    fn editions(&self, of: &[TurnId]) -> Result<Vec<Edition>, HistoryError> {
        let turns: BTreeSet<TurnId> = of.iter().copied().collect();
        let mut found: Vec<&Numbered> = turns
            .iter()
            .filter_map(|turn| self.editions.of.get(turn))
            .flatten()
            .collect();
        found.sort_unstable_by_key(|numbered| numbered.number);
        Ok(found
            .into_iter()
            .map(|numbered| numbered.edition.clone())
            .collect())
    }

    fn keep_original(&mut self, of: TurnId, message: &[u8]) -> Result<(), HistoryError> {
        self.require(of)?;
        if self.originals.contains_key(&of) {
            return Ok(());
        }
        self.hold(Stored::text_beside(message.len()))?;
        self.originals.insert_mut(of, Arc::from(message));
        Ok(())
    }

    fn original(&self, of: TurnId) -> Result<Option<Vec<u8>>, HistoryError> {
        Ok(self.originals.get(&of).map(|message| message.to_vec()))
    }

    fn keep_chunk(&mut self, hash: [u8; 16], summary: &Text) -> Result<(), HistoryError> {
        self.keep_text(hash, summary, None)
    }

    fn keep_owned(&mut self, of: Owner, key: [u8; 16], text: &Text) -> Result<(), HistoryError> {
        self.keep_text(key, text, Some(of))
    }

    fn chunk(&self, hash: [u8; 16]) -> Result<Option<Text>, HistoryError> {
        Ok(self.chunks.get(&hash).map(|(text, _)| text.clone()))
    }
}

impl Memory {
    fn keep_text(
        &mut self,
        key: [u8; 16],
        text: &Text,
        of: Option<Owner>,
    ) -> Result<(), HistoryError> {
        if self.chunks.contains_key(&key) {
            return Ok(());
        }
        self.hold(Stored::text_beside(text.len()))?;
        self.chunks.insert_mut(key, (text.clone(), of));
        Ok(())
    }

    /// Fails unless the turn is stored.
    fn require(&self, turn: TurnId) -> Result<(), HistoryError> {
        if self.nodes.contains_key(&turn) {
            return Ok(());
        }
        Err(HistoryError::UnknownNode(turn))
    }
}
