//! A person edits the summary that is ready, before it is shown.

use std::sync::Arc;

use context::{Text, TokenCounter, Tokens};
use history::{Mark, MarkId, Route};
use jiff::Timestamp;

use crate::answer::FRAME;
use crate::batch::Batch;
use crate::conversation::Conversation;
use crate::effect::Effect;
use crate::homunculus::Refusal;
use crate::journal::Happened;

impl Conversation {
    /// Puts another text in place of the ready summary's. It becomes a mark of its own at the same place; what is
    /// told beside it stays, and so does the mark that was made. The provider's own summary is signed, so it is
    /// never changed.
    pub(crate) fn reword(&mut self, old: MarkId, text: Text, now: Timestamp) -> Vec<Effect> {
        let ready = self.overlay.as_ref().and_then(|it| it.ready.as_deref());
        let ready = ready.filter(|mark| mark.id() == old && mark.route != Route::Native);
        let is_ready = self.supervisor.machine.ready() == Some(old);
        let Some(ready) = ready.filter(|_| is_ready && !text.trim().is_empty()) else {
            return vec![Effect::Refuse(Refusal::NothingReady)];
        };
        let mark = Mark {
            tokens: self.supervisor.model.counter().count(&text) + FRAME,
            summary: text,
            at: now,
            ..ready.clone()
        };
        let replaced = self.whole_path().covered(self.place_of(mark.node));
        if mark.tokens >= replaced {
            return vec![Effect::Refuse(Refusal::TooLittleGain(Tokens::ZERO))];
        }
        self.supervisor
            .machine
            .reword(old, (mark.id(), mark.tokens));
        self.journal.note(now, Happened::Reworded(mark.tokens));
        let overlay = self.overlay.get_or_insert_default();
        overlay.ready = Some(Arc::new(mark.clone()));
        vec![Effect::Store(Batch {
            texts: overlay.beside.chunks(&mark),
            marks: vec![mark],
            ..Batch::default()
        })]
    }
}
