//! Calling models: streaming clients for Anthropic and OpenAI-compatible endpoints, and the three ways to
//! make a summary.
//!
//! | to | use |
//! |---|---|
//! | say where a model is reached | [`Endpoint`] |
//! | ask a model | [`Client::events`] for a stream, [`Client::reply`] for a whole answer |
//! | say how long is waited and how often is tried | [`Settings`] |

mod client;
mod endpoint;
mod error;
mod settings;

pub use client::{Answer, Client, Events, Restart};
pub use endpoint::Endpoint;
pub use error::{Begun, CODES, ModelError, Refused, Wait};
pub use settings::{Retries, Settings, Timeouts};
