//! Traits of a whole engine: the trees of many tenants, their conversations, pins and editions.

use context::pin::{Pin, PinId};
use context::{Text, TurnId};
use jiff::Timestamp;

use crate::account::AccountStore;
use crate::conversation::{Conversation, ConversationId};
use crate::edition::Edition;
use crate::error::HistoryError;
use crate::state::State;
use crate::store::MarkStore;
use crate::tenant::Tenant;

/// The conversations of one tenant.
pub trait ConversationStore {
    /// Writes a conversation, replacing the one with the same id.
    ///
    /// # Errors
    /// [`HistoryError::Full`] at a limit.
    fn save(&mut self, conversation: &Conversation) -> Result<(), HistoryError>;

    /// Returns the conversation with this id.
    fn conversation(&self, id: ConversationId) -> Result<Option<Conversation>, HistoryError>;

    /// Returns the conversations whose head is one of these turns, without duplicates: most recently seen
    /// first, ties by id.
    fn headed(&self, heads: &[TurnId]) -> Result<Vec<Conversation>, HistoryError>;

    /// Returns up to `most` conversations last seen before `before`, in the order of
    /// [`headed`](Self::headed). The next page begins before the last one's timestamp.
    fn conversations(
        &self,
        before: Timestamp,
        most: usize,
    ) -> Result<Vec<Conversation>, HistoryError>;

    /// Keeps a conversation's journal in place of its last one. It leaves with the conversation; without one,
    /// nothing is kept. It is short, and counts toward no limit.
    fn keep_journal(&mut self, of: ConversationId, text: &str) -> Result<(), HistoryError>;

    /// Returns a conversation's journal.
    fn journal(&self, of: ConversationId) -> Result<Option<Text>, HistoryError>;
}

/// A pin and the place where its text was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The pin.
    pub pin: Pin,
    /// The turn that says it. While that turn is shown, the pin is not restated. `None`: no turn
    /// says it, so it is restated in every view.
    pub said_in: Option<TurnId>,
}

/// The pins set from outside a conversation: over HTTP, on the command line, in the dashboard, by the
/// agent. Pins in user messages follow from the turns and are not stored.
pub trait PinStore {
    /// Sets a pin. Returns `false` if the conversation has one with the same id, that is the same text.
    /// The conversation need not be saved yet.
    ///
    /// # Errors
    /// [`HistoryError::Full`] at a limit.
    fn set_pin(&mut self, of: ConversationId, pin: &Pinned) -> Result<bool, HistoryError>;

    /// Removes a pin. Returns `false` if there is none.
    fn remove_pin(&mut self, of: ConversationId, pin: PinId) -> Result<bool, HistoryError>;

    /// Returns the pins of a conversation, oldest first.
    fn pins(&self, of: ConversationId) -> Result<Vec<Pinned>, HistoryError>;
}

/// The record that a kept text leaves the store with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A conversation, for a text that no other one needs.
    Conversation(ConversationId),
    /// A turn, for a text made from this turn and those before it. It serves every conversation with the turn.
    Turn(TurnId),
}

impl Owner {
    /// The bytes of its id. Ids are hashes or random, so those of turns and conversations differ.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        match self {
            Self::Conversation(id) => id.as_bytes(),
            Self::Turn(id) => id.as_bytes(),
        }
    }
}

/// Content sent beside or instead of the turns, and the parts of messages that a turn does not hold.
pub trait EditionStore {
    /// Adds an edition. Does nothing if the turn has the same change already, whatever its timestamp.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] if its turn is unknown, [`HistoryError::Full`] at a limit.
    fn add_edition(&mut self, edition: &Edition) -> Result<(), HistoryError>;

    /// Returns the editions of these turns in the order in which they were added.
    fn editions(&self, of: &[TurnId]) -> Result<Vec<Edition>, HistoryError>;

    /// Keeps the message that a turn was parsed from, byte for byte. Needed only if the turn does not
    /// hold all of it: images, signatures, blocks of unknown types. The first one kept stays.
    ///
    /// # Errors
    /// The errors of [`add_edition`](Self::add_edition).
    fn keep_original(&mut self, of: TurnId, message: &[u8]) -> Result<(), HistoryError>;

    /// Returns the kept message of a turn, if any.
    fn original(&self, of: TurnId) -> Result<Option<Vec<u8>>, HistoryError>;

    /// Caches the summary of a range of turns under a hash of its content, so that it is made only once.
    /// The first one kept stays.
    ///
    /// # Errors
    /// [`HistoryError::Full`] at a limit.
    fn keep_chunk(&mut self, hash: [u8; 16], summary: &Text) -> Result<(), HistoryError>;

    /// Keeps a text under a key for as long as its owner is stored. The first one kept stays.
    ///
    /// The owner need not be stored yet, but a purge before that removes the text.
    ///
    /// # Errors
    /// [`HistoryError::Full`] at a limit.
    fn keep_owned(&mut self, of: Owner, key: [u8; 16], text: &Text) -> Result<(), HistoryError>;

    /// Returns the summary cached under a hash, or the text kept under a key, if any.
    fn chunk(&self, hash: [u8; 16]) -> Result<Option<Text>, HistoryError>;
}

/// Everything stored for one tenant.
pub trait Store: MarkStore + ConversationStore + PinStore + EditionStore + AccountStore {}

impl<T: MarkStore + ConversationStore + PinStore + EditionStore + AccountStore> Store for T {}

/// A selection of conversations to remove. All conditions must hold.
///
/// A purge also removes what nothing else needs: the pins of the conversations, the turns that no
/// remaining head leads to, and their marks, editions and kept messages. A turn must therefore be
/// appended in the same transaction that saves its conversation, or a purge between the two removes it.
/// A text with an [`Owner`] leaves with it. Chunk summaries are a cache outside the tree: nothing tells which turns
/// they were made from, so a tenant loses all of them when it loses a turn or its last conversation. The costs before the day of `before` leave the account; all costs without `before`, and none
/// if one conversation is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The tenant, or `None` for all.
    pub tenant: Option<Tenant>,
    /// The conversation, or `None` for all.
    pub conversation: Option<ConversationId>,
    /// Only conversations last seen before this time; `None` for any.
    pub before: Option<Timestamp>,
}

/// The result of a purge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Number of conversations removed.
    pub conversations: u64,
    /// Number of turns that no conversation leads to any more.
    pub turns: u64,
    /// Number of marks on those turns.
    pub marks: u64,
    /// Bytes freed, as far as the engine knows: returned to the file system, or text in memory.
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

/// The closure that [`Engine::write`] runs.
pub type WriteWork<'w> = dyn FnMut(&mut dyn Store) -> Result<(), HistoryError> + 'w;

/// The closure that [`Engine::read`] runs.
pub type ReadWork<'w> = dyn FnMut(&dyn Store) -> Result<(), HistoryError> + 'w;

/// The trees of many tenants, shared between threads.
pub trait Engine: Send + Sync {
    /// Returns the random secret, created with the store, that tenant ids are derived with.
    fn secret(&self) -> Result<[u8; 32], HistoryError>;

    /// Lists the tenants that the engine stores anything for.
    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError>;

    /// Runs `work` on a tenant's store as one transaction: all of its writes are kept, or none if it
    /// fails or the process dies. Once this returns `Ok`, the end of the process loses nothing. Only one
    /// write runs at a time, so `work` must not start another write or a purge on the same engine.
    fn write(&self, tenant: Tenant, work: &mut WriteWork<'_>) -> Result<(), HistoryError>;

    /// Works like [`write`](Self::write) but never waits. Returns `None`, with nothing done, if another
    /// write is running or the engine cannot tell.
    fn write_at_once(
        &self,
        tenant: Tenant,
        work: &mut WriteWork<'_>,
    ) -> Option<Result<(), HistoryError>> {
        let _ = (tenant, work);
        None
    }

    /// Runs `work` on one snapshot of a tenant's store, without any unfinished write. Readers do not wait
    /// for writers. A record that does not match its id or its checksum is left out as if it were not there,
    /// and counted in [`state`](Self::state). A turn leaves a [gap](context::Turn::gap), because the turns after
    /// it stand on it; it causes [`HistoryError::Corrupt`] only if its place is lost, too.
    fn read(&self, tenant: Tenant, work: &mut ReadWork<'_>) -> Result<(), HistoryError>;

    /// Removes the selected conversations. Turns that another conversation leads to stay. Works in small
    /// transactions, with pauses in which others write; what they write meanwhile stays. If it is cut
    /// short, a later purge removes the rest.
    fn purge(&self, what: Purge) -> Result<Purged, HistoryError>;

    /// Returns what [`purge`](Self::purge) would remove now, and removes nothing. Others can write meanwhile.
    fn preview(&self, what: Purge) -> Result<Purged, HistoryError>;

    /// Brings everything acknowledged so far to where it rests, if no other process is writing: for an engine on
    /// a file, into that file and onto the disk. Called when nothing happens and at the end. Changes no answer.
    fn settle(&self) -> Result<(), HistoryError> {
        Ok(())
    }

    /// Returns the state.
    fn state(&self) -> State {
        State::default()
    }
}
