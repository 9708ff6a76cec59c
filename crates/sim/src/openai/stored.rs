//! Responses that are kept, so that later requests can go on from them.

use jiff::Timestamp;

/// A response with everything before it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub at: Timestamp,
    /// All items, input and output, as JSON without the brackets around.
    pub items: String,
}
