//! The append-only tree of turns, the summaries on it (marks) and the store traits, with an in-memory engine.
//!
//! A node's id is a hash over its parent's id and its own content ([`context::TurnId`]), as in git: a
//! resent conversation is recognized, branches share their common prefix, and each turn is stored once.
//!
//! Compaction adds a [`Mark`], a node up to which a summary stands, and destroys nothing. Marks belong to
//! nodes, so every branch through a node shares its marks.
//!
//! One tenant's store implements [`NodeStore`], [`MarkStore`], [`ConversationStore`], [`PinStore`],
//! [`EditionStore`] and [`AccountStore`]; [`Memory`] is the in-memory one. An [`Engine`] holds the stores of many tenants and
//! opens each within a transaction; [`MemoryEngine`] is the in-memory one. Every method of these traits
//! can fail with an error of the engine; `# Errors` sections list the other errors only.

mod account;
pub mod conformance;
mod conversation;
mod edition;
mod engine;
mod error;
mod id;
mod limits;
mod mark;
mod memory;
mod state;
mod store;
mod tenant;

pub use account::{AccountStore, MOST_MODELS, MOST_SPENT, OTHER_MODELS, Spent};
pub use conversation::{Conversation, ConversationId, Labels, Standing, Totals};
pub use edition::{Change, Edition};
pub use engine::{
    ConversationStore, EditionStore, Engine, Owner, PinStore, Pinned, Purge, Purged, ReadWork,
    Store, WriteWork,
};
pub use error::{CODES, HistoryError};
pub use limits::Limits;
pub use mark::{Mark, MarkId, Route};
pub use memory::{Memory, MemoryEngine};
pub use state::{Record, State};
pub use store::{MarkStore, NodeStore, Recorded, Stored};
pub use tenant::Tenant;
