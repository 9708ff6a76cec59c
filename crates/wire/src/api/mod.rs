//! Provider requests, responses and streams.

mod error;
mod json;
mod limits;

pub use error::{ApiError, CODES, Position};
pub use json::scan::Span;
pub use limits::{DEEPEST, Limits};

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
