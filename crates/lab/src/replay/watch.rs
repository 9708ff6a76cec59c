//! Watches the requests of a replay, and may answer them in the modelled provider's place.

use jiff::Timestamp;
use wire::api::Counts;

/// A request as it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The index of the assistant turn that answers it.
    pub turn: usize,
    /// The time at which it is sent, in virtual time.
    pub at: Timestamp,
    /// The body that a gateway would have sent. Empty unless bytes are wanted.
    pub body: &'a [u8],
}

/// Sees every request of a replay.
pub trait Watch: Sync {
    /// Returns true if the bodies must be written, which takes time.
    fn wants_bytes(&self) -> bool {
        false
    }

    /// The provider's counts for a request. `None`: take those of the provider model.
    fn asked(&self, asked: &Asked<'_>) -> Option<Counts> {
        let _ = asked;
        None
    }

    /// Returns true if the rest of the session need not be replayed.
    fn has_seen_enough(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}
