//! Conversations that go on from a summary that their client made: remembered by that summary, and followed back to
//! the turns that it stands for.

use std::sync::Arc;

use ::conversation::Incoming;
use ::conversation::client_compaction::{AtHand, Originals, summary_in};
use ::conversation::continuation::{self, Answer, continued};
use ::conversation::directory::Directory;
use ::conversation::identity::Keyed;
use ::conversation::rewrite::{ClientCompaction, Wants};
use context::{Part, Turn};
use history::{ConversationId, HistoryError, Store, Tenant};
use jiff::Timestamp;

use super::background::Background;
use super::reports::Reporter;
use super::running::Running;
use super::writer::Writer;
use crate::report::Viewer;

/// The most compactions of one conversation that are followed back.
const DEEPEST: usize = 16;

/// Knows the summaries that clients made of their conversations.
pub(super) struct Continuations {
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
    pub(super) reporter: Arc<Reporter>,
    pub(super) background: Background,
}

impl Continuations {
    /// Remembers a client's compaction by its answer, so that what goes on from it is recognised.
    pub(super) async fn remember(
        &self,
        tenant: Tenant,
        of: (ConversationId, bool),
        (said, at): (&[Part], Timestamp),
    ) {
        let keyed = self.directory.commons.keyed();
        for answer in continuation::answers(keyed, of, said, at) {
            self.directory.answers.add(tenant, [answer], false);
            let work = Box::new(move |store: &mut dyn Store| answer.store(store));
            let receipt = self.writer.write(tenant, work).await;
            if let Err(fault) = receipt.kept().await {
                tracing::warn!(%fault, "a client's compaction is remembered in memory only");
            }
        }
        if let (id, true) = of {
            self.make_receipt((tenant, id), said);
        }
    }

    /// Makes the receipt of the client's own summary in the background, as the client's hook would have it made.
    fn make_receipt(&self, (tenant, id): (Tenant, ConversationId), said: &[Part]) {
        let texts = said.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let said = texts.collect::<Vec<_>>().join("\n");
        let summary = continuation::summary_in(&said).to_owned();
        if summary.trim().is_empty() {
            return;
        }
        let reporter = Arc::clone(&self.reporter);
        self.background.spawn(async move {
            let viewer = Viewer::Tenant(tenant);
            if let Err(error) = reporter.compacted(viewer, id, summary).await {
                tracing::debug!(%error, "a client's own summary has no receipt");
            }
        });
    }

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
