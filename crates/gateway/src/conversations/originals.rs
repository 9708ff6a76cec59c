//! The turns that an earlier summary of a conversation stands for.

use ::conversation::Incoming;
use ::conversation::client_compaction::{AtHand, Originals, summary_in};
use ::conversation::continuation::{Answer, continued};
use ::conversation::identity::Keyed;
use ::conversation::rewrite::{ClientCompaction, Wants};
use context::Turn;
use history::{ConversationId, HistoryError, Store};

use super::Inner;

/// The most compactions of one conversation that are followed back.
const DEEPEST: usize = 16;

impl Inner {
    /// Has an answer made from the originals, where an earlier summary stands for them in the request.
    pub(super) async fn with_originals(
        &self,
        at_hand: AtHand,
        incoming: &Incoming<'_>,
        own: &ClientCompaction,
    ) -> AtHand {
        if matches!(own.wants, Wants::Text(_) | Wants::Foreign) {
            return at_hand;
        }
        let turns = incoming.turns();
        let Some(place) = summary_in(turns) else {
            return at_hand;
        };
        let answers = self.directory.answers.of(incoming.tenant, incoming.now);
        let Some(answers) = answers else {
            return at_hand;
        };
        let Some(before) = continued(incoming.keyed, turns, &answers) else {
            return at_hand;
        };
        let keyed = incoming.keyed;
        let read = move |store: &dyn Store| originals(store, before, (keyed, &answers));
        let found = self.writer.read(incoming.tenant, read).await;
        let originals = found
            .ok()
            .filter(|turns| !turns.is_empty())
            .map(|turns| Originals {
                turns: turns.into(),
                messages: place + 1,
            });
        at_hand.with_originals(originals)
    }
}

/// The turns of a conversation and, in place of the summary that it began with, those of the one before it.
fn originals(
    store: &dyn Store,
    mut id: ConversationId,
    (keyed, answers): (Keyed, &[Answer]),
) -> Result<Vec<Turn>, HistoryError> {
    let mut parts: Vec<Vec<Turn>> = Vec::new();
    for _ in 0..DEEPEST {
        let Some(record) = store.conversation(id)? else {
            break;
        };
        let mut path = store.path(record.head)?;
        let before = continued(keyed, &path, answers).filter(|before| *before != id);
        let (Some(before), Some(place)) = (before, summary_in(&path)) else {
            parts.push(path);
            break;
        };
        parts.push(path.split_off(place + 1));
        id = before;
    }
    parts.reverse();
    Ok(parts.concat())
}
