//! Calls models and makes summaries: a streaming client for all dialects, and three routes to a summary.
//!
//! | to | use |
//! |---|---|
//! | send any request to a server | [`Outgoing`] |
//! | say where a model is reached | [`Endpoint`] |
//! | ask a model | [`Client::events`] for a stream, [`Client::reply`] for a whole answer |
//! | set timeouts and retries | [`Settings`] |
//! | make a summary by the first route that works | [`summarise`] with an [`Order`] and [`Routes`] |
//! | make one by one route | [`native`], [`readable`], [`extractive`] |
//! | have a summary written without a client | [`prompt()`], [`written()`] |
//! | keep the summaries of chunks | [`Chunks`]: [`ChunksOfTenant`], [`ChunksInMemory`] |
//!
//! # The three routes
//!
//! *Native*: the provider sums up exactly the messages of a request that was sent already, and gives a
//! signed or sealed block back. *Readable*: a model fills the template of [`context::summary`], alongside
//! the request that was sent last, so that the provider reads its cache, or apart from it, from a
//! transcript; what does not fit the summariser is divided into chunks at borders of steps, whose
//! summaries are kept and combined in a tree. *Extractive*: [`context::extract`], no model. Behind
//! whatever a model wrote stands the ledger of identifiers, from the originals.
//!
//! # The prompts
//!
#![doc = include_str!("../prompts/README.md")]

mod asking;
mod chunk;
mod client;
mod draft;
mod endpoint;
mod error;
mod extractive;
mod made;
mod native;
mod order;
mod outgoing;
mod outward;
mod prompt;
mod readable;
mod settings;
mod summarise;
mod transcript;
mod tree;
mod work;
mod written;

pub use chunk::{Chunks, ChunksInMemory, ChunksOfTenant};
pub use client::{Answer, Client, Events, Restart};
pub use endpoint::{CREDENTIALS, Endpoint};
pub use error::{Begun, CODES, ModelError, Refused, Wait};
pub use extractive::extractive;
pub use made::{Course, Fallen, Made, Manner, Spent};
pub use order::{Order, Routes, Sent, Shows, Writer};
pub use outgoing::{Body, Outgoing, Unanswered, whole};
pub use settings::{Retries, Settings, Timeouts};
pub use summarise::{native, readable, summarise};
pub use written::{Prompt, prompt, written};
