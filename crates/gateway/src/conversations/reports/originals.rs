//! The way back to what left the model's sight: receipts, originals and recall.

use context::Turn;
use context::original::{Handle, Section};
use conversation::originals;
use history::{ConversationId, Mark, MarkId};

use super::figures::{covered, readable};
use super::{Inner, Past};
use crate::report::{Expanded, Loss, Lost, Recalled, Recollection, ReportError, Viewer};

impl Inner {
    pub(super) async fn lost(
        &self,
        asker: Viewer,
        id: ConversationId,
        mark: Option<MarkId>,
    ) -> Result<Lost, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        let Some(wanted) = mark.or(found.standing) else {
            return Ok(Lost::default());
        };
        let mark = past.marks.iter().find(|mark| mark.id() == wanted);
        let mark = mark.ok_or(ReportError::NoMark)?;
        let cut = covered(mark, &past.path);
        let front = front(mark, &past);
        let work = || originals::lost(&past.path, cut, &front);
        let receipt = self.reading.of(bytes(&past.path), work).await;
        let entry = |loss: &context::extract::receipt::Loss| Loss {
            kind: loss.kind.as_str(),
            handle: loss.handle(),
            text: loss.text.clone(),
        };
        Ok(Lost {
            mark: Some(wanted.to_string()),
            turns: receipt.turns,
            tokens: receipt.tokens.get(),
            entries: receipt.lost.iter().map(entry).collect(),
            left_out: receipt.left_out,
        })
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
        let excerpt = original.excerpt(section, room);
        Ok(Expanded {
            section: excerpt.section.to_string(),
            text: excerpt.text.to_owned(),
            bytes: original.text.len(),
            next: excerpt.next.map(|next| next.to_string()),
            title: original.title.clone(),
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
        let cut = standing.map_or(0, |mark| covered(mark, &past.path));
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
            hits: hits.into_iter().map(one).collect(),
        })
    }
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
