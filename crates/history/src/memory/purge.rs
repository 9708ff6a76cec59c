//! Removing conversations and whatever only they need.

use std::collections::HashSet;

use context::{Role, TurnId};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Memory;
use crate::conversation::{Conversation, ConversationId};
use crate::engine::{Owner, Purge, Purged};
use crate::store::Stored;

impl Memory {
    /// Removes the selected conversations of this tenant. Time is linear in the size of the store.
    pub(super) fn purge(&mut self, what: &Purge) -> Purged {
        let before = self.stored;
        let gone: Vec<(ConversationId, TurnId)> = self
            .conversations
            .values()
            .map(|kept| &kept.conversation)
            .filter(|conversation| is_selected(conversation, what))
            .map(|conversation| (conversation.id, conversation.head))
            .collect();
        for &(id, head) in &gone {
            self.conversations.remove_mut(&id);
            self.forget_head(head, id);
        }
        self.stored.conversations = self.conversations.size() as u64;
        self.drop_pins();
        let kept = self.reachable();
        let lost: Vec<TurnId> = self
            .nodes
            .keys()
            .filter(|node| !kept.contains(node))
            .copied()
            .collect();
        for &node in &lost {
            self.drop_node(node);
        }
        self.drop_texts(!lost.is_empty() || self.conversations.is_empty());
        if what.conversation.is_none() {
            self.drop_spent(what.before);
        }
        let after = self.stored;
        Purged {
            conversations: gone.len() as u64,
            turns: lost.len() as u64,
            marks: before.marks - after.marks,
            bytes: (before.bytes + before.beside).saturating_sub(after.bytes + after.beside),
        }
    }

    /// The turns that some conversation's head leads to, and the newest answers, to which heads move with the
    /// next request only.
    fn reachable(&self) -> HashSet<TurnId> {
        let mut kept: HashSet<TurnId> = self.newest_answers().collect();
        for whole in self.conversations.values() {
            let mut at = whole.conversation.head;
            while let Some(node) = self.nodes.get(&at) {
                if !kept.insert(at) {
                    break;
                }
                at = node.parent;
            }
        }
        kept
    }

    /// The model's turns on which no other stands, behind the head of a conversation.
    fn newest_answers(&self) -> impl Iterator<Item = TurnId> {
        let conversations = self.conversations.values();
        let heads: HashSet<TurnId> = conversations.map(|kept| kept.conversation.head).collect();
        let stood_on: HashSet<TurnId> = self.nodes.values().map(|node| node.parent).collect();
        let nodes = self.nodes.iter();
        let answers = nodes.filter(move |(id, node)| {
            node.turn.role() == Role::Assistant
                && node.parent != TurnId::ROOT
                && heads.contains(&node.parent)
                && !stood_on.contains(*id)
        });
        answers.map(|(id, _)| *id)
    }

    fn drop_pins(&mut self) {
        let gone: Vec<ConversationId> = self
            .pins
            .keys()
            .filter(|of| !self.conversations.contains_key(of))
            .copied()
            .collect();
        for of in gone {
            let pins = self.pins.get(&of).into_iter().flatten();
            let bytes = pins.map(|pinned| pinned.pin.text.len()).sum();
            self.release(bytes);
            self.pins.remove_mut(&of);
        }
    }

    fn drop_node(&mut self, node: TurnId) {
        if let Some(there) = self.nodes.get(&node) {
            let bytes = Stored::turn(&there.turn).bytes;
            self.stored.bytes = self.stored.bytes.saturating_sub(bytes);
            self.stored.turns = self.stored.turns.saturating_sub(1);
        }
        self.nodes.remove_mut(&node);
        let marks = self.marks_at.get(&node).cloned().unwrap_or_default();
        self.marks_at.remove_mut(&node);
        for id in marks {
            let bytes = self.marks.get(&id).map_or(0, |mark| mark.summary.len());
            self.release(bytes);
            self.marks.remove_mut(&id);
            self.stored.marks = self.stored.marks.saturating_sub(1);
        }
        let editions = self.editions.of.get(&node).into_iter().flatten();
        let bytes = editions
            .map(|numbered| numbered.edition.change.text().len())
            .sum();
        self.release(bytes);
        self.editions.of.remove_mut(&node);
        self.release(self.originals.get(&node).map_or(0, |message| message.len()));
        self.originals.remove_mut(&node);
    }

    /// Removes the texts whose owner is gone, and the cache if `with_cache`.
    fn drop_texts(&mut self, with_cache: bool) {
        let is_gone = |of: &Option<Owner>| match of {
            None => with_cache,
            Some(Owner::Conversation(id)) => !self.conversations.contains_key(id),
            Some(Owner::Turn(id)) => !self.nodes.contains_key(id),
        };
        let gone = self.chunks.iter().filter(|(_, (_, of))| is_gone(of));
        let gone: Vec<([u8; 16], usize)> =
            gone.map(|(key, (text, _))| (*key, text.len())).collect();
        for (key, bytes) in gone {
            self.release(bytes);
            self.chunks.remove_mut(&key);
        }
    }

    /// Removes the costs before the day of `before`, or all of them.
    fn drop_spent(&mut self, before: Option<Timestamp>) {
        let first = before.map(|it| it.to_zoned(TimeZone::UTC).date());
        let is_kept = |day| first.is_some_and(|first| day >= first);
        let gone = self.spent.keys().filter(|(day, _)| !is_kept(*day));
        for key in gone.cloned().collect::<Vec<_>>() {
            self.spent.remove_mut(&key);
        }
    }

    pub(super) fn release(&mut self, bytes: usize) {
        self.stored.beside = self.stored.beside.saturating_sub(bytes as u64);
    }
}

fn is_selected(conversation: &Conversation, what: &Purge) -> bool {
    what.conversation.is_none_or(|id| conversation.id == id)
        && what.before.is_none_or(|before| conversation.seen < before)
}
