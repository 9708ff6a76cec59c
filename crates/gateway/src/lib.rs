//! The HTTP gateway in front of a provider: compaction for any client, and the dashboard.
//!
//! The outer half ([`server`]) does the I/O: it reads a request, asks the inner half what to send, sends it
//! upstream and streams the answer back while the inner half watches. The inner half ([`core`]) tracks the
//! conversations, each with its supervisor, and decides; it builds the bytes with the pure functions of
//! [`rewrite`]. If anything in the inner half fails, the outer half sends the client's own bytes.

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

/// The error codes that this crate reports.
pub const CODES: &[CodeEntry] = &coded::joined::<{ coded::total(TABLES) }>(TABLES);
