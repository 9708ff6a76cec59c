//! An answer that is made here.

use bytes::Bytes;
use history::ConversationId;

use crate::words::Did;

/// An answer that is made here: the provider is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direct {
    /// Its HTTP status.
    pub status: u16,
    /// Its content type.
    pub content_type: &'static str,
    /// Its body.
    pub body: Bytes,
    /// The changes, for the header `x-ebbtide-did`.
    pub did: Vec<Did>,
    /// The conversation, for the header `x-ebbtide-conversation`.
    pub conversation: Option<ConversationId>,
}

impl Direct {
    /// A refusal of a request as invalid, in the provider's words.
    pub(super) fn refusal(body: String) -> Self {
        Self {
            status: 400,
            content_type: "application/json",
            body: body.into(),
            did: vec![Did::Refused],
            conversation: None,
        }
    }
}
