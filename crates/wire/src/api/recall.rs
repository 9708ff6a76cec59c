//! What is known of the elements of a list of messages before they are read.
//!
//! Each request of a conversation repeats all earlier messages. Whoever keeps a keyed hash and the length
//! of each element can tell that the bytes which come next are one of them, at the cost of hashing them,
//! and they need not be read as JSON again.

use context::Role;

/// Tells which elements were read before, and hears of those that had to be read.
///
/// Elements come in order. Where a body has several lists of messages, the later one begins again at
/// index 0, and what came before it does not count.
pub trait Recall {
    /// Where `rest`, what is left of the body, begins with an element that was read in an earlier
    /// request of this dialect under the same limits: its length in bytes, and its role as it was
    /// read. A wrong answer leads to wrong ranges, so the bytes have to be compared or hashed.
    fn known(&mut self, index: usize, rest: &[u8]) -> Option<(usize, Role)>;

    /// An element was read.
    fn was_read(&mut self, index: usize, raw: &str, role: Role);
}

/// Knows nothing.
pub(super) struct Nothing;

impl Recall for Nothing {
    fn known(&mut self, _: usize, _: &[u8]) -> Option<(usize, Role)> {
        None
    }

    fn was_read(&mut self, _: usize, _: &str, _: Role) {}
}
