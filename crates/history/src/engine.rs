//! What a whole engine has to do: trees of many tenants, their conversations, pins and editions, for as
//! long as they are wanted.

use context::pin::PinId;
use context::{Text, TurnId};
use jiff::Timestamp;

use crate::conversation::{Conversation, ConversationId};
use crate::edition::Edition;
use crate::error::HistoryError;
use crate::store::MarkStore;
use crate::tenant::Tenant;
use crate::view::Pinned;

/// Keeps the conversations of one tenant.
pub trait ConversationStore {
    /// Writes a conversation in place of what is known under its id.
    ///
    /// # Errors
    /// [`HistoryError::Full`] at a limit, and where the engine fails.
    fn save(&mut self, conversation: &Conversation) -> Result<(), HistoryError>;

    /// A conversation by its id.
    ///
    /// # Errors
    /// Where the engine fails. One that is not there is `Ok(None)`.
    fn conversation(&self, id: ConversationId) -> Result<Option<Conversation>, HistoryError>;

    /// The conversations whose head is one of these turns, each once, the one last seen first; of two
    /// seen at the same moment, the one with the smaller id first.
    ///
    /// # Errors
    /// Where the engine fails.
    fn headed(&self, heads: &[TurnId]) -> Result<Vec<Conversation>, HistoryError>;

    /// At most `most` conversations, the one last seen first, that were last seen before `before`. In
    /// the order of [`headed`](Self::headed). The next page begins before the last one's moment.
    ///
    /// # Errors
    /// Where the engine fails.
    fn conversations(
        &self,
        before: Timestamp,
        most: usize,
    ) -> Result<Vec<Conversation>, HistoryError>;
}

/// Keeps the pins that were set from outside a conversation: by HTTP, the command line, the dashboard,
/// the agent. Pins in user lines follow from the turns and are not kept.
pub trait PinStore {
    /// Sets a pin. One with the same id, that is with the same text, is left alone and the answer is
    /// `false`. The conversation need not be saved yet.
    ///
    /// # Errors
    /// [`HistoryError::Full`] at a limit, and where the engine fails.
    fn set_pin(&mut self, of: ConversationId, pin: &Pinned) -> Result<bool, HistoryError>;

    /// Removes a pin; `false` where there is none.
    ///
    /// # Errors
    /// Where the engine fails.
    fn remove_pin(&mut self, of: ConversationId, pin: PinId) -> Result<bool, HistoryError>;

    /// The pins of a conversation, oldest first.
    ///
    /// # Errors
    /// Where the engine fails.
    fn pins(&self, of: ConversationId) -> Result<Vec<Pinned>, HistoryError>;
}

/// Keeps what was sent besides or instead of what was said, and what a turn alone does not hold.
pub trait EditionStore {
    /// Keeps an edition. One that is there already is left alone, whenever it was sent: the same change
    /// of the same turn is the same edition.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] where its turn is not there, [`HistoryError::Full`] at a limit,
    /// and where the engine fails.
    fn add_edition(&mut self, edition: &Edition) -> Result<(), HistoryError>;

    /// The editions of these turns, in the order in which they were added.
    ///
    /// # Errors
    /// Where the engine fails.
    fn editions(&self, of: &[TurnId]) -> Result<Vec<Edition>, HistoryError>;

    /// Keeps the message that a turn was read from, byte for byte. Needed only where the turn does not
    /// hold all of it: images, signatures, blocks of unknown types. One that is kept already stays.
    ///
    /// # Errors
    /// As for [`add_edition`](Self::add_edition).
    fn keep_original(&mut self, of: TurnId, message: &[u8]) -> Result<(), HistoryError>;

    /// The kept message of a turn.
    ///
    /// # Errors
    /// Where the engine fails. `Ok(None)` where none was kept.
    fn original(&self, of: TurnId) -> Result<Option<Vec<u8>>, HistoryError>;

    /// Keeps the summary of a stretch of turns under a hash of its content, so that it is not made twice.
    /// One that is kept already stays.
    ///
    /// # Errors
    /// [`HistoryError::Full`] at a limit, and where the engine fails.
    fn keep_chunk(&mut self, hash: [u8; 16], summary: &Text) -> Result<(), HistoryError>;

    /// The summary kept under a hash.
    ///
    /// # Errors
    /// Where the engine fails. `Ok(None)` where none was kept.
    fn chunk(&self, hash: [u8; 16]) -> Result<Option<Text>, HistoryError>;
}

/// All that is kept of one tenant.
pub trait Store: MarkStore + ConversationStore + PinStore + EditionStore {}

impl<T: MarkStore + ConversationStore + PinStore + EditionStore> Store for T {}

/// What is to be removed: the conversations that all of this holds for.
///
/// With a conversation goes what nothing else needs: its pins, the turns that no remaining conversation's
/// head leads to, and the marks, editions and kept messages at these. So a turn has to be appended in the
/// same transaction as the conversation that leads to it is saved; else a purge between the two takes it.
/// Chunk summaries are a cache without a place in the tree: all of a tenant's go when a turn of it
/// goes, or when it has no conversation left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Of this tenant only; `None`: of all.
    pub tenant: Option<Tenant>,
    /// This conversation only; `None`: all.
    pub conversation: Option<ConversationId>,
    /// Only what was last seen before this moment; `None`: whenever.
    pub before: Option<Timestamp>,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Conversations.
    pub conversations: u64,
    /// Turns that no conversation leads to any more.
    pub turns: u64,
    /// Marks on them.
    pub marks: u64,
    /// Bytes given back, as far as the engine knows: by a file to the file system, in memory of text.
    pub bytes: u64,
}

impl std::ops::AddAssign for Purged {
    fn add_assign(&mut self, other: Self) {
        self.conversations += other.conversations;
        self.turns += other.turns;
        self.marks += other.marks;
        self.bytes += other.bytes;
    }
}

/// Keeps the trees of many tenants. Shared by threads.
pub trait Engine: Send + Sync {
    /// The secret that tenants are derived with: made at random when the store is made.
    ///
    /// # Errors
    /// Where the engine fails.
    fn secret(&self) -> Result<[u8; 32], HistoryError>;

    /// The tenants that something is kept of.
    ///
    /// # Errors
    /// Where the engine fails.
    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError>;

    /// Runs `work` on a tenant's store. Everything it writes is kept together or, where it fails or the
    /// process ends, not at all; when this returns `Ok`, the end of the process does not undo it. One
    /// write at a time: `work` must not start another one, nor a purge, on the same engine.
    ///
    /// # Errors
    /// What `work` answers, and where the engine fails.
    fn write(
        &self,
        tenant: Tenant,
        work: &mut dyn FnMut(&mut dyn Store) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError>;

    /// As [`write`](Self::write), by a caller who may not wait: `None`, and nothing is done, where another
    /// write is under way, or where the engine cannot tell.
    fn write_at_once(
        &self,
        tenant: Tenant,
        work: &mut dyn FnMut(&mut dyn Store) -> Result<(), HistoryError>,
    ) -> Option<Result<(), HistoryError>> {
        let _ = (tenant, work);
        None
    }

    /// Reads from a tenant's store as it is now: all of `work` sees one state, with nothing of a write
    /// that has not returned. Readers do not wait for writers.
    ///
    /// # Errors
    /// What `work` answers, and where the engine fails.
    fn read(
        &self,
        tenant: Tenant,
        work: &mut dyn FnMut(&dyn Store) -> Result<(), HistoryError>,
    ) -> Result<(), HistoryError>;

    /// Removes what is not wanted any more. Turns that a conversation still leads to stay.
    ///
    /// # Errors
    /// Where the engine fails.
    fn purge(&self, what: Purge) -> Result<Purged, HistoryError>;

    /// What [`purge`](Self::purge) would remove now. Removes nothing.
    ///
    /// # Errors
    /// Where the engine fails.
    fn preview(&self, what: Purge) -> Result<Purged, HistoryError>;
}
