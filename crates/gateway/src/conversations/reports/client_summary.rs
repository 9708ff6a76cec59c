//! A client's own summary of a conversation, and the receipt of what it leaves out.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use context::Turn;
use conversation::continuation::{Answer, answers_of, summary_turn};
use conversation::identity::Keyed;
use history::{Conversation, ConversationId, HistoryError, Store, Tenant};
use jiff::Timestamp;

use super::STORED;
use crate::report::Lost;

/// The most conversations that are looked at for a summary with which one goes on.
const NEXT: usize = 16;

/// A client's own summary of a conversation.
pub(super) struct ClientSummary {
    /// The conversation.
    pub of: ConversationId,
    /// The turns that it stands for.
    pub path: Vec<Turn>,
    /// The summary, with what stands in front of it.
    pub text: String,
}

impl ClientSummary {
    /// The summary with which a conversation, which has these turns, goes on from another.
    pub(super) fn before(
        store: &dyn Store,
        (id, path): (ConversationId, &[Turn]),
        keyed: Keyed,
    ) -> Result<Option<Self>, HistoryError> {
        let Some((Some(of), began)) = store.conversation(id)?.map(|it| (it.parent, it.began))
        else {
            return Ok(None);
        };
        let Some(record) = store.conversation(of)? else {
            return Ok(None);
        };
        let known = answers_of(store, of)?;
        let own = Self::in_front(store, (&record, &known), path, keyed)?;
        // The summary does not cover turns that were said there after this conversation began.
        Ok(own.map(|mut own| {
            own.path
                .retain(|turn| turn.at().is_none_or(|at| at <= began));
            own
        }))
    }

    /// The summary with which another conversation goes on from this one.
    pub(super) fn of(
        store: &dyn Store,
        id: ConversationId,
        keyed: Keyed,
    ) -> Result<Option<Self>, HistoryError> {
        let known = answers_of(store, id)?;
        let Some(record) = store.conversation(id)?.filter(|_| !known.is_empty()) else {
            return Ok(None);
        };
        // A conversation that began before its last request is a branch; one of another agent is a subagent's.
        let goes_on = |next: &Conversation| {
            next.parent == Some(id)
                && next.began >= record.seen
                && next.labels.agent == record.labels.agent
        };
        let all = store.conversations(Timestamp::MAX, STORED)?.into_iter();
        for next in all.filter(goes_on).take(NEXT) {
            let path = store.path(next.head)?;
            let own = Self::in_front(store, (&record, &known), &path, keyed)?;
            if own.is_some() {
                return Ok(own);
            }
        }
        Ok(None)
    }

    /// The summary of a conversation at the front of these turns.
    fn in_front(
        store: &dyn Store,
        (record, known): (&Conversation, &[Answer]),
        path: &[Turn],
        keyed: Keyed,
    ) -> Result<Option<Self>, HistoryError> {
        let Some(place) = summary_turn(keyed, path, known) else {
            return Ok(None);
        };
        let front = path.iter().take(place + 1);
        let texts: Vec<&str> = front.flat_map(Turn::texts).collect();
        Ok(Some(Self {
            of: record.id,
            path: store.path(record.head)?,
            text: texts.join("\n"),
        }))
    }
}

/// The receipts of the clients' own summaries, of the conversations that compacted last.
#[derive(Debug, Default)]
pub(in crate::conversations) struct Receipts(Mutex<VecDeque<Kept>>);

/// The receipt of a client's own summary.
#[derive(Debug)]
pub(super) struct Kept {
    pub tenant: Tenant,
    pub conversation: ConversationId,
    /// The turns of the conversation when it was compacted.
    pub turns: usize,
    pub lost: Lost,
}

impl Receipts {
    /// The most that are kept.
    const MOST: usize = 256;
    /// The most of one tenant, so that one tenant's receipts do not displace another's.
    const EACH: usize = 32;

    pub(super) fn keep(&self, new: Kept) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = 0;
        kept.retain(|one| {
            own += usize::from(one.tenant == new.tenant);
            let is_old = one.tenant == new.tenant && own >= Self::EACH;
            one.conversation != new.conversation && !is_old
        });
        kept.truncate(Self::MOST - 1);
        kept.push_front(new);
    }

    /// Forgets the receipt of a conversation.
    pub(super) fn forget(&self, id: ConversationId) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| one.conversation != id);
    }

    /// The receipt of a conversation, if it has no more turns than these.
    pub(super) fn of(&self, id: ConversationId, turns: Option<usize>) -> Option<Lost> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|one| one.conversation == id)?;
        let is_past = turns.is_some_and(|turns| turns > found.turns);
        (!is_past).then(|| found.lost.clone())
    }
}

#[cfg(test)]
mod tests {
    use history::{ConversationId, Tenant};

    use super::{Kept, Receipts};
    use crate::report::Lost;

    fn keep(receipts: &Receipts, tenant: u8, conversation: u8, turns: usize) -> ConversationId {
        let id = ConversationId::from_bytes([conversation; 16]);
        receipts.keep(Kept {
            tenant: Tenant::from_bytes([tenant; 16]),
            conversation: id,
            turns,
            lost: Lost {
                turns,
                ..Lost::default()
            },
        });
        id
    }

    #[test]
    fn a_receipt_holds_until_its_conversation_goes_on() {
        let receipts = Receipts::default();
        let id = keep(&receipts, 1, 1, 8);
        let turns = |now| receipts.of(id, now).map(|lost| lost.turns);
        assert_eq!(turns(Some(8)), Some(8));
        assert_eq!(turns(Some(9)), None);
        assert_eq!(turns(None), Some(8));
    }

    #[test]
    fn nobody_loses_one_because_of_others() {
        let receipts = Receipts::default();
        let first = keep(&receipts, 1, 200, 1);
        for conversation in 0..100 {
            keep(&receipts, 2, conversation, 1);
        }
        assert!(receipts.of(first, None).is_some());
        let kept = receipts.0.lock().unwrap();
        assert_eq!(kept.len(), 1 + Receipts::EACH);
    }
}
