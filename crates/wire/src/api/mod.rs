//! Provider requests, responses and streams.

mod anthropic;
mod breakpoint;
mod canonical;
mod chat;
mod conversation;
mod edit;
mod error;
mod failure;
mod json;
mod limits;
mod message;
mod message_edit;
mod overflow;
mod parts;
mod recall;
mod render;
mod reply;
mod request;
mod response;
mod responses;
mod sse;
mod stream;
mod usage;

pub use breakpoint::{Breakpoint, Place};
pub use conversation::Conversation;
pub use edit::{Edit, Piece};
pub use error::{ApiError, CODES, Position};
pub use failure::Failure;
pub use json::scan::Span;
pub use limits::{DEEPEST, Limits};
pub use message::Message;
pub use message_edit::MessageEdit;
pub use overflow::Overflow;
pub use recall::Recall;
pub use render::render_turn;
pub use reply::{Reply, Stop};
pub use request::{Field, Instructions, Request};
pub use response::Response;
pub use sse::{Decoder, Event, LONGEST_EVENT};
pub use stream::Accumulator;
pub use usage::{CacheWrites, Counts, Iteration, Usage};

/// A provider's request format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Anthropic Messages (`POST /v1/messages`).
    Anthropic,
    /// OpenAI Chat Completions (`POST /v1/chat/completions`).
    Chat,
    /// OpenAI Responses (`POST /v1/responses`).
    Responses,
}

impl Dialect {
    /// The top-level key under which a request keeps its messages.
    #[must_use]
    pub const fn list_key(self) -> &'static str {
        match self {
            Self::Anthropic | Self::Chat => "messages",
            Self::Responses => "input",
        }
    }
}

#[cfg(test)]
mod tests;
