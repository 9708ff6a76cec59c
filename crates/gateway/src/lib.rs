//! HTTP in front of a provider: compaction for any client, and the dashboard.
//!
//! The [`server`] does the I/O of a request: it reads the body, asks what to send, sends it upstream and
//! streams the answer back. [`conversations`] keeps the conversations in memory and in the store, and
//! carries out what each of them decides; the decisions themselves are made in crate `conversation`. If
//! any of that fails, the server sends the client's own bytes.

pub mod config;
pub mod conversations;
pub mod dashboard;
mod error;
mod mcp;
pub mod metrics;
mod remote;
pub mod report;
pub mod server;

use context::coded::{self, CodeEntry, ErrorCode};

pub use remote::{Remote, RemoteError};
pub use server::{Gateway, Running, ServeError, serve};

const TABLES: &[&[CodeEntry]] = &[error::CODES];

/// The code of a refusal for want of credentials.
pub const UNAUTHENTICATED: ErrorCode = error::UNAUTHENTICATED;

/// The error codes of this crate.
pub const CODES: &[CodeEntry] = &coded::joined::<{ coded::total(TABLES) }>(TABLES);
