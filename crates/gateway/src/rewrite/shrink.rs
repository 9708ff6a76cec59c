//! Oversized tool results, shortened before they are first sent.

use context::shrink::Limits;
use context::{TokenCounter, TurnId};
use history::Change;
use wire::api::Request;

/// The shortened results of the newest messages: as many as there are ids in `new`, which are those of
/// their turns. Messages that were sent before must not be among them.
#[must_use]
pub fn shrink_new(
    _request: &Request<'_>,
    _new: &[TurnId],
    _limits: &Limits,
    _counter: &dyn TokenCounter,
) -> Vec<(usize, Change)> {
    Vec::new()
}
