//! The supervisor of one conversation: a pure state machine that prepares and swaps.
//!
//! ```text
//!            prepare              finished                swap
//!   Idle ───────────► Preparing ───────────► Ready ───────────────► Idle
//!    ▲                  │    ▲                 │
//!    │ back-off over    │    └─────────────────┘ prepare again, from a later mark
//!    └───── Failed ◄────┘ failed
//! ```
//!
//! [`Homunculus::on`] takes an [`Event`] and the time, and gives [`Action`]s for the driver: a gateway
//! live, the lab in virtual time. It reads no clock, takes some hundred bytes, and holds no text of the
//! conversation unless its strategy reads it.
//!
//! Mechanism and policy are apart. *When* and *with what* is said by a [`Strategy`], which is shown a
//! [`Situation`] and gives [`Command`]s: a plumb program, [`hosted::Hosted`]. The machine checks every command against the rules and
//! the [`Limits`] and refuses what would break one. So whatever a strategy says:
//!
//! - no turn is lost: what is not shown stands under a mark, or was dropped by an explicit command;
//! - a cut never falls inside a step, and the roles on its two sides differ;
//! - there is never more than one preparation;
//! - every request is sent, or held for one stated reason and asked for again at a stated time;
//! - where compaction no longer helps, the machine stops and says why.

mod codes;
mod event;
mod extent;
mod gauge;
pub mod hosted;
mod limits;
mod machine;
mod outline;
mod pace;
pub mod price;
mod strategy;

pub use codes::CODES;
pub use event::{
    Acknowledged, Action, Event, JobId, Preparation, Refusal, Reported, StopReason, Telemetry,
    Verdict, Wish,
};
pub use extent::Extent;
pub use gauge::{Gauge, Size};
pub use limits::{BackOff, Limits, MINIMUM_SUMMARY, Staleness};
pub use machine::{Homunculus, Orders, Restored};
pub use outline::{Outline, Path, PinnedAt, Words};
pub use pace::Writing;
pub use price::{CacheState, Prices};
pub use strategy::{Command, Moment, Situation, Stage, Strategy, When};
