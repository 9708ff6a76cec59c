//! Puts a person's words in place of a summary that is ready.

use ::conversation::{Effect, Input};
use context::Text;
use history::{ConversationId, MarkId};

use super::{Reporter, StoreFailure};
use crate::conversations::running::Shared;
use crate::conversations::writer;
use crate::report::{ReportError, Viewer};

impl Reporter {
    pub(super) async fn reword(
        &self,
        asker: Viewer,
        id: ConversationId,
        (mark, text): (MarkId, String),
    ) -> Result<(), ReportError> {
        let found = self.find(asker, id).await?;
        let shared = found.shared.ok_or(ReportError::AtRest)?;
        self.wake(&shared).await?;
        let now = (self.clock)();
        let effects = shared.lock().on(Input::Reword(mark, Text::from(text)), now);
        for effect in self.local.settle(&shared, 0, effects) {
            match effect {
                Effect::Refuse(refusal) => return Err(ReportError::refused(&refusal)),
                Effect::Store(batch) => {
                    let receipt = self.writer.write(shared.tenant, writer::work(batch)).await;
                    if let Err(failure) = receipt.kept().await {
                        // It is right in memory; only a restart would not know of it.
                        shared.lock().on(Input::Unkept, now);
                        return Err(failure.into());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Brings texts back that have left memory.
    async fn wake(&self, shared: &Shared) -> Result<(), StoreFailure> {
        let missing = shared.lock().missing();
        if let Some(wanted) = missing {
            let work = move |store: &dyn history::Store| wanted.load(store);
            let overlay = self.writer.read(shared.tenant, work).await?;
            let now = (self.clock)();
            shared.lock().on(Input::Overlay(overlay), now);
        }
        Ok(())
    }
}
