//! Skips list elements that an earlier request of the conversation already held.
//!
//! Each request of a conversation repeats all earlier messages. A caller that keeps a keyed hash and the
//! length of each element recognizes the next bytes as one of them at the cost of hashing them, so they
//! need not be read as JSON again.

use context::Role;

/// Recognizes elements that were read before, and records the others.
///
/// Elements come in order. Where a body has several message lists, a later one begins again at
/// index 0 and replaces the earlier ones.
pub trait Recall {
    /// The length in bytes and the role of the element at the start of `rest`, the remaining body, if
    /// an earlier request of this dialect held it under the same limits.
    /// A wrong answer leads to wrong ranges, so the bytes have to be compared or hashed.
    fn known(&mut self, index: usize, rest: &[u8]) -> Option<(usize, Role)>;

    /// Records an element that was read.
    fn was_read(&mut self, index: usize, raw: &str, role: Role);
}

/// Recognizes nothing.
pub(super) struct Nothing;

impl Recall for Nothing {
    fn known(&mut self, _: usize, _: &[u8]) -> Option<(usize, Role)> {
        None
    }

    fn was_read(&mut self, _: usize, _: &str, _: Role) {}
}
