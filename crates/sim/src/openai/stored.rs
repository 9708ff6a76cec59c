//! Responses that are kept, so that later requests can go on from them.

use std::sync::Arc;

use jiff::Timestamp;

use super::items::Item;

/// A response with everything before it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub at: Timestamp,
    /// The model that counted the items.
    pub model: String,
    /// All items, input and output. They are shared with the responses before.
    pub items: Vec<Arc<Item>>,
}
