//! Makes the bytes that are sent from the bytes that were received. Pure.

mod compaction;
mod cut;
mod error;
mod front;
mod note;
mod render;
mod shrink;
mod threads;

use history::Change;

pub use compaction::{ClientCompaction, Form, Wants, answer, answer_sealed, own_compaction};
pub(crate) use error::CODES;
pub use error::RewriteError;
pub use note::{Addition, note, restate};
pub use render::{betas, render};
pub use shrink::shrink_new;
pub use threads::refuse_thread;

/// Names of betas that the gateway itself needs.
pub(crate) mod beta {
    /// Compaction on demand, and every request that carries its block.
    pub(crate) const COMPACT: &str = "compact-2026-09-04";
    /// System messages that clear themselves.
    pub(crate) const CLEAR_AT: &str = "mid-conversation-system-clear-at-2026-08-21";
    /// Message threads.
    pub(crate) const THREADS: &str = "message-threads-2026-08-12";
}

/// How one request is to be shown. Message indices count the request's messages as received.
#[derive(Clone, Debug, Default)]
pub struct Recipe<'a> {
    /// What stands in front of the shown messages.
    pub front: Front<'a>,
    /// Messages before this are not shown, system and developer messages excepted (OpenAI) .
    pub from: usize,
    /// Tool results before this are replaced by a placeholder.
    pub cleared: usize,
    /// Thinking is taken out of messages before this.
    pub stripped: usize,
    /// What was changed about single messages when they were first sent, and what is changed now; in
    /// the order of the messages, each message's in the order in which they were made.
    pub changes: &'a [(usize, Change)],
}

/// What stands in front of the shown messages.
#[derive(Clone, Copy, Debug, Default)]
pub enum Front<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// A user message: pins in full, then the summary.
    Readable {
        /// The text that restates the pins that nothing shown says; empty where there is none.
        pins: &'a str,
        /// The summary; empty where turns were dropped without one.
        summary: &'a str,
    },
    /// The provider's own message or item with its compaction block, byte for byte.
    Native {
        /// Its JSON.
        message: &'a str,
    },
}

impl Recipe<'_> {
    /// Whether it changes nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self.front, Front::Nothing)
            && self.from == 0
            && self.cleared == 0
            && self.stripped == 0
            && self.changes.is_empty()
    }
}

#[cfg(test)]
mod tests;
