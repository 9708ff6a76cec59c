//! Provider requests, responses and streams.

pub mod beta;
mod breakpoint;
mod bridge;
mod canonical;
mod conversation;
mod dialect;
mod edit;
mod error;
mod failure;
mod insertion;
pub(crate) mod json;
mod limits;
mod message;
mod message_edit;
mod overflow;
pub(crate) mod parts;
mod portion;
mod prefix;
mod previous;
mod recall;
mod render;
mod reply;
mod request;
mod response;
mod sealed;
mod sse;
mod stream;
mod synthetic;
mod usage;

pub use breakpoint::{Breakpoint, BreakpointPosition};
pub use bridge::Bridge;
pub use conversation::Conversation;
pub use dialect::{
    Betas, Compaction, CompactionAsk, Dialect, Facts, Keys, Layout, OwnRequests, Provider,
    ResultPlace, Server, SystemBetween, TextAsk,
};
pub use edit::{Edit, Piece};
pub use error::{ApiError, CODES, Position};
pub use failure::Failure;
pub use insertion::{Insertion, SystemMessages};
pub use json::scan::Span;
pub use limits::{DEEPEST, LONGEST_BODY, LONGEST_STREAM, Limits};
pub use message::Message;
pub use message_edit::MessageEdit;
pub use overflow::Overflow;
pub use portion::Loads;
pub use prefix::{Prefixed, Remake};
pub use recall::Recall;
pub use render::render_turn;
pub use reply::{Reply, Stop};
pub use request::{Field, Instructions, Request};
pub use response::Response;
pub use sealed::{Asked, Closed, Opened, Opener, Sealed};
pub use sse::{Decoder, Event, LONGEST_EVENT};
pub use stream::Accumulator;
pub use synthetic::SyntheticReply;
pub use usage::{CacheWrites, Counts, Iteration, Usage};

#[cfg(test)]
mod tests;
