//! What is said to the model beside what the client said: the note about its own memory, and pins.

use context::note::RuntimeContext;
use history::Change;
use tokens::Model;
use wire::api::Request;

/// Something that is added to one message of a request, and its index among the messages.
///
/// It is kept as an edition and made again in every later request. What the header `anthropic-beta`
/// needs for it is said by [`betas`](super::betas).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// The message that is changed, or behind which something is put.
    pub message: usize,
    /// The change.
    pub change: Change,
}

/// The note, through the channel that the model has: always at the newest message, never between a call
/// and its result. `None` where there is nothing to say, or where the newest message is the model's own.
#[must_use]
pub fn note(
    _request: &Request<'_>,
    _model: &Model,
    _facts: &RuntimeContext<'_>,
) -> Option<Addition> {
    None
}

/// Pins restated at the newest message, in the user's voice. `None` where `text` is empty or the newest
/// message is the model's own.
#[must_use]
pub fn restate(_request: &Request<'_>, _text: &str) -> Option<Addition> {
    None
}
