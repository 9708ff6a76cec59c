//! The state machine of one conversation: requests, answers and summaries go in, effects come out.
//!
//! A [`Conversation`] holds what its client said, how that is shown to the model, and the supervisor that
//! decides when to summarise. [`Conversation::on`] takes an [`Input`] and the time and gives the
//! [`Effect`]s to carry out: send, hold, prepare, store, tell. It reads no clock and does no I/O, so a
//! gateway drives it live and the lab drives it in virtual time, with the same result.
//!
//! | module | what it holds |
//! |---|---|
//! | [`commons`] | what conversations share: parsing, models, learned windows |
//! | [`directory`] | the conversations in memory, and the way of a request to its own |
//! | [`incoming`], [`identity`], [`element`] | a request, and how it is recognised |
//! | `join`, `begin` | taking a request into a conversation; new, branched and stored ones |
//! | `decoration` | clients that add to their newest message only |
//! | `decide`, `inject`, `rescue` | what is sent, what is added, what a refusal changes |
//! | `breakpoints` | cache breakpoints for clients that set none |
//! | `answer` | hearing answers and summaries |
//! | `whole`, `bill` | the size and the cost without the gateway |
//! | [`hearing`] | an answer as it comes |
//! | [`view`], `overlay` | how it is shown, and the texts beside the turns |
//! | [`rewrite`] | the bytes of a view |
//! | [`originals`] | what left the model's sight, and the way back |
//! | `regret` | counts what the agent misses |
//! | `adaptive` | moves the soft threshold by what the agent does |
//! | [`homunculus`] | the supervisor: when to prepare and when to swap |
//! | [`client_compaction`], [`continuation`] | the client's own compactions |
//! | [`lineage`] | what was said up to an answer that a request names by its id |

mod adaptive;
mod answer;
mod batch;
mod begin;
mod bill;
mod breakpoints;
pub mod client_compaction;
pub mod commons;
pub mod continuation;
mod conversation;
mod decide;
mod decoration;
pub mod directory;
mod dispatch;
mod effect;
pub mod element;
mod flight;
pub mod hearing;
pub mod homunculus;
pub mod identity;
pub mod incoming;
mod inject;
mod join;
pub mod journal;
mod ledger;
pub mod lineage;
pub mod originals;
mod overlay;
mod pins;
mod proof;
mod regret;
mod rescue;
mod reword;
pub mod rewrite;
pub mod seal;
mod terms;
pub mod view;
mod whole;
pub mod window;
pub mod words;

use context::coded::{self, CodeEntry};

pub use adaptive::SoftMoved;
pub use batch::Batch;
pub use begin::{Inherited, Kin, Recovered, Stored as StoredConversation, new_id, stored_pins};
pub use bill::{Bill, Spent, micros};
pub use commons::{Commons, Origin};
pub use conversation::Conversation;
pub use effect::{
    Effect, Hold, Input, Lesson, NotPinned, Notice, Order, Sending, Start, Stored, Summary, Unmade,
};
pub use flight::Flight;
pub use incoming::Incoming;
pub use join::{Joining, Relation};
pub use overlay::{Overlay, Wanted};
pub use pins::{Accepted, PinBook, Resting};
pub use proof::Proof;
pub use regret::{Acted, Hider};
pub use rescue::Rescue;
pub use terms::{Mode, RouteChoice, Terms};
pub use view::View;

const TABLES: &[&[CodeEntry]] = &[homunculus::CODES, rewrite::CODES, seal::CODES];

/// The error codes of this crate.
pub const CODES: &[CodeEntry] = &coded::joined::<{ coded::total(TABLES) }>(TABLES);
