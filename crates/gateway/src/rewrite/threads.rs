//! Message threads, which are refused: a gateway that does not hold the history would see fragments.

use wire::api::Request;

use crate::core::Direct;

/// The refusal, where the request is part of a thread.
#[must_use]
pub fn refuse_thread(_request: &Request<'_>) -> Option<Direct> {
    None
}
