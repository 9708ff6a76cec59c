//! Reads and writes provider requests, replies and session files, and converts them to turns without loss.
//!
//! [`api`] reads and writes provider requests and replies: Anthropic Messages, OpenAI Chat Completions and
//! OpenAI Responses, streams included. [`session`] reads transcripts on disk.
//! Both keep bytes: an untouched message leaves with the bytes it came in with.

pub mod api;
pub mod session;

const TABLES: &[&[context::coded::CodeEntry]] = &[api::CODES, session::CODES];

/// The error codes of this crate.
pub const CODES: &[context::coded::CodeEntry] =
    &context::coded::joined::<{ context::coded::total(TABLES) }>(TABLES);
