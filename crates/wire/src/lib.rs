//! Wire shapes and the turns behind them.
//!
//! [`api`] reads and writes what providers speak: Anthropic Messages, OpenAI Chat Completions and
//! OpenAI Responses, streams included. [`session`] reads the transcripts that people have on disk.
//! Both keep the bytes they were given: an untouched message comes out as it came in.

pub mod api;
pub mod session;

const TABLES: &[&[context::coded::CodeEntry]] = &[api::CODES, session::CODES];

/// The error codes of this crate.
pub const CODES: &[context::coded::CodeEntry] =
    &context::coded::joined::<{ context::coded::total(TABLES) }>(TABLES);
