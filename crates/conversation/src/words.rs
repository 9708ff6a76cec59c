//! The closed list of words in which the gateway says what it did to a request.
//!
//! They stand in the response header `x-ebbtide-did`, separated by commas, and are the labels of the
//! metrics.

use std::fmt;

/// One change to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Did {
    /// Sent as it was received: nothing was due.
    Kept,
    /// Sent as it was received: it is of a kind the gateway does not look into.
    Passed,
    /// Sent as it was received, since something of ours failed.
    Failed,
    /// Nothing was due; earlier additions were repeated byte for byte.
    Replayed,
    /// Something left the view with this request: a summary was swapped in, or turns were dropped or cleared.
    Swapped,
    /// A swap was taken back with this request.
    Undone,
    /// Shown under a summary that was swapped in earlier.
    Compacted,
    /// A summary began to be prepared with this request.
    Preparing,
    /// Held until a summary was ready.
    Waited,
    /// The provider refused it as too long; it was made smaller and sent once more.
    Rescued,
    /// An oversized tool result in it was shortened before it was first sent.
    Shrunk,
    /// Cache breakpoints were placed, since its client sets none.
    Marked,
    /// A note about the agent's own state was added.
    Noted,
    /// Pins were restated.
    Pinned,
    /// A `#pin` or `#unpin` line in it was not obeyed.
    PinRefused,
    /// The client's own compaction was answered here.
    Answered,
    /// The client's own compaction was sent on; ours stood back.
    Yielded,
    /// A sealed summary in it was opened: its text was sent.
    Opened,
    /// A sealed summary in it was not believed and was left out.
    SealRefused,
    /// Refused before it was sent.
    Refused,
    /// Observed only: a swap would have happened here.
    WouldSwap,
    /// Observed only: a preparation would have begun here.
    WouldPrepare,
}

impl Did {
    /// Every word.
    pub const ALL: [Self; 22] = [
        Self::Kept,
        Self::Passed,
        Self::Failed,
        Self::Replayed,
        Self::Swapped,
        Self::Undone,
        Self::Compacted,
        Self::Preparing,
        Self::Waited,
        Self::Rescued,
        Self::Shrunk,
        Self::Marked,
        Self::Noted,
        Self::Pinned,
        Self::PinRefused,
        Self::Answered,
        Self::Yielded,
        Self::Opened,
        Self::SealRefused,
        Self::Refused,
        Self::WouldSwap,
        Self::WouldPrepare,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Replayed => "replayed",
            Self::Swapped => "swapped",
            Self::Undone => "undone",
            Self::Compacted => "compacted",
            Self::Preparing => "preparing",
            Self::Waited => "waited",
            Self::Rescued => "rescued",
            Self::Shrunk => "shrunk",
            Self::Marked => "marked",
            Self::Noted => "noted",
            Self::Pinned => "pinned",
            Self::PinRefused => "pin-refused",
            Self::Answered => "answered",
            Self::Yielded => "yielded",
            Self::Opened => "opened",
            Self::SealRefused => "seal-refused",
            Self::Refused => "refused",
            Self::WouldSwap => "would-swap",
            Self::WouldPrepare => "would-prepare",
        }
    }
}

impl Did {
    /// The meaning, in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Kept => "Sent unchanged: there was nothing to do.",
            Self::Passed => {
                "Sent unchanged: the gateway does not inspect such requests, or it is not JSON."
            }
            Self::Failed => {
                "Sent unchanged because something in the gateway failed, or not answered because the \
                 provider could not be reached."
            }
            Self::Replayed => {
                "There was nothing to do; earlier notes and pins were sent again, byte for byte."
            }
            Self::Swapped => {
                "The view got smaller with this request: a summary was swapped in, or old turns or tool \
                 results left it."
            }
            Self::Undone => {
                "A swap was taken back with this request: all of the conversation is shown."
            }
            Self::Compacted => "Shown under a summary that was swapped in earlier.",
            Self::Preparing => "This request started the preparation of a summary.",
            Self::Waited => "Held until a summary was ready.",
            Self::Rescued => {
                "The provider rejected it for its length or its thinking; the gateway sent it again, smaller \
                 or without the thinking."
            }
            Self::Shrunk => {
                "An oversized tool result in it was shortened before it was first sent."
            }
            Self::Marked => "Cache breakpoints were placed, since its client sets none.",
            Self::Noted => "A note about the agent's own state was added.",
            Self::Pinned => "Pins were restated.",
            Self::PinRefused => {
                "A pin or unpin line was rejected: it exceeded a limit, or there was nothing to unpin. The \
                 dashboard shows the reason."
            }
            Self::Answered => "The client's own compaction was answered by the gateway.",
            Self::Yielded => "The client's own compaction was forwarded to the provider.",
            Self::Opened => "A sealed summary in it was opened: its text was sent.",
            Self::SealRefused => {
                "A sealed summary in it was not believed and was left out. The dashboard shows the code."
            }
            Self::Refused => "Refused before it was sent.",
            Self::WouldSwap => "Observed only: a swap would have happened here.",
            Self::WouldPrepare => "Observed only: a preparation would have begun here.",
        }
    }
}

impl fmt::Display for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
