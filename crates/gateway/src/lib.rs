//! HTTP in front of a provider: compaction for any client, and the dashboard.
//!
//! A request runs through two halves. The outer half ([`server`]) does the I/O: it reads the body, asks
//! the inner half what to send, sends it upstream and streams the answer back while the inner half
//! watches. The inner half ([`core`]) keeps the conversations, each with its supervisor, and decides; it
//! makes the bytes with [`rewrite`], which is pure. Whatever fails in the inner half, the outer half
//! sends the client's own bytes.

pub mod config;
pub mod core;
pub mod dashboard;
mod error;
pub mod metrics;
mod remote;
pub mod report;
pub mod rewrite;
pub mod server;
pub mod words;

use context::coded::{self, CodeEntry};

pub use remote::{Remote, RemoteError};
pub use server::{Gateway, Running, ServeError, serve};

const TABLES: &[&[CodeEntry]] = &[error::CODES, rewrite::CODES];

/// The error codes of this crate.
pub const CODES: &[CodeEntry] = &coded::joined::<{ coded::total(TABLES) }>(TABLES);
