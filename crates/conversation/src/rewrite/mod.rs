//! Makes the bytes that are sent from the bytes that were received. Pure: no clock, no I/O, no state.
//!
//! [`render`] puts a request together as a [`View`](crate::view::View) says. Its rules:
//!
//! - Every byte that the view does not name is as it came. Messages that are shown unchanged are copied
//!   with what stands between them, and not read. With a plain view the result is the body.
//! - What was changed about a message when it was first sent is made again on the client's message as it
//!   comes now, so that what the client moves (its cache breakpoints) stays the client's. So, between swaps,
//!   no byte before the newest message changes other than what the client itself changed.
//! - A readable summary is one user message: pins in full, then the summary. It stands behind the operator's
//!   messages of OpenAI lists, which stay although the view begins behind them.
//! - The provider's own summary stands first, byte for byte, alone. Fields that may not stand beside it
//!   are taken out: `task_budget.remaining`, and the client's wish that the provider compact by itself.
//! - A list never begins with the model's words: where nothing stands in front, a short user message does.
//! - Anthropic's cache breakpoints: the client's stay where they are; where a slot of the four is free, the
//!   summary gets one, of the lifetime that is legal at its place. Where the client's own number of
//!   breakpoints changes, ours can go or come back; markers are no part of what the provider compares. For
//!   a client that sets none, the view names the places of all.
//! - Thinking is taken out of all messages before a place, or of none. Only Anthropic's is bound to what
//!   stands before it; what other interfaces have stays.
//! - A view that the provider would refuse (between a call and its result, at a system message on Anthropic,
//!   nothing kept, two blocks) is an error, and the caller sends the client's own bytes.
//!
//! [`note`], [`restate`] and [`shrink_new`] make additions. [`refuse_thread`] and [`own_compaction`]
//! recognize requests that are not sent on, and [`answer`], [`answer_sealed`] and [`answer_closed`] answer
//! them. [`unseal`] opens summaries that a client sends back sealed.

mod compaction;
mod cut;
mod direct;
mod error;
mod front;
mod note;
mod render;
mod shrink;
mod threads;
mod unknown_answer;
mod unseal;

pub use compaction::{
    ClientCompaction, Form, Wants, answer, answer_closed, answer_sealed, own_compaction, pauses,
};
pub use direct::Direct;
pub(crate) use error::CODES;
pub use error::RewriteError;
pub use note::{Addition, fits, note, restate};
pub(crate) use render::clears;
pub use render::{betas, may_ask, render, render_asking};
pub use shrink::shrink_new;
pub use threads::refuse_thread;
pub use unknown_answer::refuse_unknown_answer;
pub use unseal::{Unsealed, unseal};
