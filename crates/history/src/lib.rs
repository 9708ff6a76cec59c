//! The tree of everything said: nodes, marks and the store traits, with the in-memory engine.
//!
//! What was said is an append-only tree of turns. A node's id is a hash over its parent's id and its
//! own content ([`context::TurnId`]), as in git: a conversation that is sent again is recognised,
//! branches share their common beginning, and a turn is stored once however often it is resent.
//!
//! Compaction adds a [`Mark`]: a node up to which a summary stands. It destroys nothing. Marks belong
//! to nodes, so every branch through a node shares its marks. [`view()`] makes what the model is shown
//! from one path and one mark on it.
//!
//! A store of one tenant's tree implements [`NodeStore`], [`MarkStore`], [`ConversationStore`],
//! [`PinStore`] and [`EditionStore`]; [`Memory`] is the one in memory. An [`Engine`] keeps the stores of
//! many tenants and hands out each within a transaction; [`MemoryEngine`] is the one in memory.

pub mod conformance;
mod conversation;
mod edition;
mod engine;
mod error;
mod hexadecimal;
mod limits;
mod mark;
mod memory;
mod store;
mod tenant;
mod view;

pub use conversation::{Conversation, ConversationId, Labels, Standing, Totals};
pub use edition::{Change, Edition};
pub use engine::{ConversationStore, EditionStore, Engine, PinStore, Purge, Purged, Store};
pub use error::{CODES, HistoryError};
pub use limits::Limits;
pub use mark::{Mark, MarkId, Route};
pub use memory::{Memory, MemoryEngine};
pub use store::{MarkStore, NodeStore, Recorded, Stored};
pub use tenant::Tenant;
pub use view::{Pinned, summary_turn, view};
