//! The way of a request to its conversation; the store is asked for what is not in memory.

use std::sync::Arc;

use ::conversation::Incoming;
use ::conversation::directory::{Directory, Found, Joined, Question, Read};
use ::conversation::view::View;
use history::{ConversationId, Tenant};

use super::Reading;
use super::running::Running;
use super::writer::{StoreFailure, Writer};

/// Finds the conversations of requests.
pub(super) struct Lookup {
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
    pub(super) reading: Arc<Reading>,
}

impl Lookup {
    /// Finds or begins the conversation of a request.
    ///
    /// # Errors
    /// Where the store fails and the texts of the conversation are not in memory.
    pub(super) async fn join(
        &self,
        incoming: &Incoming<'_>,
    ) -> Result<Joined<Running>, StoreFailure> {
        let mut search = self.directory.search(incoming);
        loop {
            let unread = search.unread();
            match self.reading.of(unread, || search.step()).await {
                Ok(joined) => return joined.ok_or(StoreFailure::Closed),
                Err(Question::Store(read)) => {
                    let (read, found) = self.read(incoming.tenant, read).await;
                    search.tell(&read, found)?;
                }
                // Turns, and whatever else is read of the request itself.
                Err(_) => {
                    let bytes = incoming.request.body().len();
                    self.reading.of(bytes, || incoming.turns().len()).await;
                }
            }
        }
    }

    /// Has the store answer.
    async fn read(
        &self,
        tenant: Tenant,
        read: Read<Running>,
    ) -> (Arc<Read<Running>>, Result<Found, StoreFailure>) {
        let read = Arc::new(read);
        let asked = Arc::clone(&read);
        let found = self
            .writer
            .read(tenant, move |store| asked.from(store))
            .await;
        (read, found)
    }

    /// The conversation of a request that is only counted, and its view. `None` where that shows the request as it
    /// came.
    pub(super) async fn counted(&self, incoming: &Incoming<'_>) -> Option<(ConversationId, View)> {
        loop {
            match self.directory.counted(incoming) {
                Ok(counted) => return counted,
                Err(read) => {
                    let (read, found) = self.read(incoming.tenant, read).await;
                    self.directory.take(&read, found.ok()?, incoming.now);
                }
            }
        }
    }
}
