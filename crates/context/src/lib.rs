//! The context window of a model, and every pure operation on it.
//!
//! A conversation is a list of [`Turn`]s. The [`ContextWindow`](window::ContextWindow) is the part of it
//! that a model is shown. Everything here is synchronous and does no I/O: time, token counts and
//! archives come in through arguments and small traits.
//!
//! | to | use |
//! |---|---|
//! | hold a conversation and move through it | [`window`], [`store`] |
//! | say what may be lost | [`linearity`], [`classify`], [`pin`] |
//! | find the places to cut a conversation | [`cut`], [`step`], [`split`] |
//! | compact | [`extract`], [`summary`], [`projector`], [`shrink`] |
//! | judge a compaction | [`quality`], [`identifiers`] |
//! | decide when to compact | [`threshold`], [`vitality`] |
//! | tell the agent about itself | [`note`] |
//! | find and give back what was said | [`recall`], [`original`] |
//! | count what an agent misses | [`regret`] |
//! | keep the provider's cache | [`cache_plan`] |
//! | tell tokens apart by what they cost | [`Consumption`] |
//! | write figures for people | [`figures`] |

pub mod archive;
pub mod cache_plan;
pub mod classify;
mod client_summary;
pub mod coded;
mod consumption;
pub mod counter;
pub mod cut;
pub mod extract;
pub mod figures;
pub mod identifiers;
pub mod linearity;
mod list;
mod nearest;
pub mod note;
pub mod original;
#[doc = include_str!("../PARITY.md")]
pub mod parity {}
pub mod pin;
pub mod projector;
pub mod quality;
pub mod recall;
mod refusal;
pub mod regret;
mod sentence;
pub mod shrink;
pub mod split;
mod spoken;
pub mod standing;
pub mod step;
pub mod store;
pub mod summary;
pub mod text;
pub mod threshold;
pub mod title;
pub mod turn;
pub mod units;
pub mod user_words;
mod visible;
pub mod vitality;
pub mod window;

pub use consumption::Consumption;
pub use counter::{Heuristic, TokenCounter};
pub use nearest::nearest;
pub use spoken::lines as typed_lines;
pub use text::Text;
pub use turn::{CallId, Part, Provenance, Role, Turn, TurnDraft, TurnId};
pub use units::{Pressure, Tokens};
pub use visible::visible;

const TABLES: &[&[coded::CodeEntry]] = &[
    archive::CODES,
    linearity::CODES,
    original::CODES,
    pin::CODES,
    projector::CODES,
    quality::CODES,
    summary::CODES,
    vitality::CODES,
    window::CODES,
];

/// The error codes of this crate.
pub const CODES: &[coded::CodeEntry] = &coded::joined::<{ coded::total(TABLES) }>(TABLES);
