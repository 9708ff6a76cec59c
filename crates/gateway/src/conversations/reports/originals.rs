//! The way back to what left the model's sight: receipts, originals and recall.

use context::extract::receipt::Receipt;
use context::original::{Handle, Section};
use context::{Tokens, Turn};
use conversation::originals;
use history::{ConversationId, Labels, Mark, MarkId, Store, Tenant};

use super::client_summary::{ClientSummary, Kept};
use super::figures::{covered, line_of, readable};
use super::{Found, Past, Reporter};
use crate::report::{
    Expanded, Gone, Line, Loss, Lost, QUOTED, Recalled, Recollection, ReportError, Viewer,
};

/// True if the turn, counted from 1, is a gap.
pub(super) fn is_gap(path: &[Turn], turn: usize) -> bool {
    let index = turn.checked_sub(1);
    index
        .and_then(|index| path.get(index))
        .is_some_and(Turn::is_gap)
}

impl Reporter {
    pub(super) async fn lost(
        &self,
        asker: Viewer,
        id: ConversationId,
        mark: Option<MarkId>,
    ) -> Result<Lost, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        // A conversation that its client compacted goes on elsewhere. Where it goes on here all the same, its
        // model does not see that summary.
        if let (None, Some(own)) = (mark, self.receipts.of(id, Some(past.path.len()))) {
            return Ok(own);
        }
        // Nothing in memory tells it after a restart.
        if mark.is_none()
            && found.shared.is_none()
            && let Some(own) = self.gone_elsewhere(found.tenant, id).await?
        {
            return Ok(own);
        }
        let Some(wanted) = mark.or(found.standing) else {
            return self.lost_without_mark(&found, (id, past)).await;
        };
        let mark = past.marks.iter().find(|mark| mark.id() == wanted);
        let mark = mark.ok_or(ReportError::NoMark)?;
        let cut = covered(mark, &past.path);
        let front = front(mark, &past);
        let work = || originals::lost(&past.path, cut, &front);
        let receipt = self.reading.of(bytes(&past.path), work).await;
        Ok(lost(Some(wanted), &receipt))
    }

    /// The turns that a strategy dropped without a summary; or else the losses of the client's own summary of the
    /// conversation before.
    async fn lost_without_mark(
        &self,
        found: &Found,
        (id, past): (ConversationId, Past),
    ) -> Result<Lost, ReportError> {
        let cut = hidden(found, &past);
        if cut == 0 {
            let own = found
                .before
                .and_then(|before| self.receipts.of(before, None));
            return match own {
                Some(own) => Ok(own),
                None => self.begun_with(found.tenant, (id, past.path)).await,
            };
        }
        let pins: Vec<&str> = past.pins.iter().map(|it| &*it.pin.text).collect();
        let front = pins.join("\n");
        let work = || originals::lost(&past.path, cut, &front);
        Ok(lost(None, &self.reading.of(bytes(&past.path), work).await))
    }

    /// The losses of the client's own summary that a conversation begins with.
    async fn begun_with(
        &self,
        tenant: Tenant,
        (id, path): (ConversationId, Vec<Turn>),
    ) -> Result<Lost, ReportError> {
        let keyed = self.directory.commons.keyed();
        let read = move |store: &dyn Store| ClientSummary::before(store, (id, &path), keyed);
        Ok(match self.writer.read(tenant, read).await? {
            Some(own) => self.left_out(&own).await,
            None => Lost::default(),
        })
    }

    /// The losses of the client's own summary with which another conversation goes on from this one.
    async fn gone_elsewhere(
        &self,
        tenant: Tenant,
        id: ConversationId,
    ) -> Result<Option<Lost>, ReportError> {
        let keyed = self.directory.commons.keyed();
        let read = move |store: &dyn Store| ClientSummary::of(store, id, keyed);
        Ok(match self.writer.read(tenant, read).await? {
            Some(own) => Some(self.kept(tenant, &own).await),
            None => None,
        })
    }

    /// The receipt of a client's own summary.
    async fn left_out(&self, own: &ClientSummary) -> Lost {
        let work = || originals::lost(&own.path, own.path.len(), &own.text);
        let receipt = self.reading.of(bytes(&own.path), work).await;
        Lost {
            conversation: Some(own.of.to_string()),
            ..lost(None, &receipt)
        }
    }

    /// The receipt of a client's own summary of all that was said, which is kept.
    async fn kept(&self, tenant: Tenant, own: &ClientSummary) -> Lost {
        let lost = self.left_out(own).await;
        self.receipts.keep(Kept {
            tenant,
            conversation: own.of,
            turns: own.path.len(),
            lost: lost.clone(),
        });
        lost
    }

    /// The newest conversation of a session that is its main agent's.
    pub(super) async fn session(
        &self,
        asker: Viewer,
        session: String,
    ) -> Result<Line, ReportError> {
        let tenant = match asker {
            Viewer::Tenant(tenant) => Some(tenant),
            Viewer::All => None,
        };
        let is_of = |labels: &Labels| {
            labels.session.as_deref() == Some(session.as_str()) && labels.agent.is_none()
        };
        let now = (self.clock)();
        let in_memory = self.directory.registry.all(tenant).into_iter();
        let live = in_memory.filter(|shared| shared.is_answered());
        let lines = live.filter_map(|shared| {
            let live = shared.lock();
            let record = live.record();
            is_of(&record.labels).then(|| (record.seen, line_of(&live, now)))
        });
        if let Some((_, line)) = lines.max_by_key(|(seen, _)| *seen) {
            return Ok(line);
        }
        let stored = self.stored(tenant).await?.into_iter();
        let newest = stored
            .filter(|(_, record)| is_of(&record.labels))
            .max_by_key(|(_, record)| record.seen);
        let (tenant, newest) = newest.ok_or(ReportError::NoConversation)?;
        let lines = self.resting(tenant, vec![newest]).await?;
        let line = lines.into_iter().next().map(|(_, line)| line);
        line.ok_or(ReportError::NoConversation)
    }

    /// Keeps the receipt of the client's own summary.
    pub(in crate::conversations) async fn compacted(
        &self,
        asker: Viewer,
        id: ConversationId,
        summary: String,
    ) -> Result<Lost, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        let own = ClientSummary {
            of: id,
            path: past.path,
            text: summary,
        };
        Ok(self.kept(found.tenant, &own).await)
    }

    pub(super) async fn expand(
        &self,
        asker: Viewer,
        id: ConversationId,
        (handle, section): (Handle, Option<Section>),
        room: usize,
    ) -> Result<Expanded, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        let original = handle.original(&past.path);
        let original = original.map_err(|error| ReportError::refused(&error))?;
        // What stands there is the gateway's own word for a gap.
        let (named, path) = (handle.turns(&past.path), &past.path);
        let damaged: Vec<usize> = named.clone().filter(|turn| is_gap(path, *turn)).collect();
        if let Some(&turn) = damaged.first()
            && damaged.len() == named.count()
        {
            return Err(ReportError::Damaged { turn });
        }
        let excerpt = original.excerpt(section, room);
        Ok(Expanded {
            about: QUOTED,
            section: excerpt.section.to_string(),
            text: excerpt.text.to_owned(),
            bytes: original.text.len(),
            next: excerpt.next.map(|next| next.to_string()),
            title: original.title.clone(),
            damaged,
        })
    }

    pub(super) async fn recall(
        &self,
        asker: Viewer,
        id: ConversationId,
        query: String,
        most: usize,
    ) -> Result<Recalled, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        let standing = past
            .marks
            .iter()
            .find(|mark| Some(mark.id()) == found.standing);
        let covered = standing.map_or(0, |mark| covered(mark, &past.path));
        // A strategy hides turns without a summary, too.
        let cut = covered.max(hidden(&found, &past));
        let work = || originals::recall(&past.path, &query, most);
        let hits = self.reading.of(bytes(&past.path), work).await;
        let one = |hit: context::recall::Hit| Recollection {
            at: past
                .path
                .get(hit.turn - 1)
                .and_then(Turn::at)
                .map(|at| at.to_string()),
            handle: hit.handle.to_string(),
            role: hit.role.as_str(),
            line: hit.line,
            text: hit.text,
            hidden: hit.turn <= cut,
        };
        Ok(Recalled {
            about: QUOTED,
            hits: hits.into_iter().map(one).collect(),
        })
    }
}

fn lost(mark: Option<MarkId>, receipt: &Receipt) -> Lost {
    let entry = |loss: &context::extract::receipt::Loss| Loss {
        kind: loss.kind.as_str(),
        handle: loss.handle(),
        text: loss.text.clone(),
    };
    Lost {
        about: QUOTED,
        mark: mark.map(|mark| mark.to_string()),
        conversation: None,
        turns: receipt.turns,
        tokens: receipt.tokens.get(),
        entries: receipt.lost.iter().map(entry).collect(),
        left_out: receipt.left_out,
    }
}

/// The number of turns that are not shown.
fn hidden(found: &Found, past: &Past) -> usize {
    let last = past.path.iter().rposition(|turn| turn.id() == found.hidden);
    last.map_or(0, |last| last + 1)
}

/// The turns that left the view without a summary.
pub(super) fn dropped(found: &Found, past: &Past) -> Option<Gone> {
    let turns = hidden(found, past);
    let gone = past.path.get(..turns).unwrap_or_default();
    (turns > 0 && found.standing.is_none()).then(|| Gone {
        turns,
        tokens: gone.iter().map(Turn::tokens).sum::<Tokens>().get(),
        first_shown: turns + 1,
        at: String::new(),
    })
}

/// All text in front of the turns that are shown.
fn front(mark: &Mark, past: &Past) -> String {
    let mut front = readable(mark);
    for pinned in &past.pins {
        front.push('\n');
        front.push_str(&pinned.pin.text);
    }
    front
}

fn bytes(turns: &[Turn]) -> usize {
    turns.iter().map(Turn::readable_length).sum()
}
