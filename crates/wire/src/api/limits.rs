//! Limits on the size of input.

/// The largest value of [`Limits::depth`]. Turns and hashes are computed by recursion over
/// nested values; this bounds the stack they need.
pub const DEEPEST: usize = 1_024;

/// The longest body of an answer that is held, in bytes: 16 MiB.
pub const LONGEST_BODY: usize = 16 << 20;

/// The longest event stream whose text is held, in bytes: 64 MiB. Events are several times as long as what they
/// say.
pub const LONGEST_STREAM: usize = 64 << 20;

/// Limits beyond which reading returns an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body in bytes, at most 4 GiB − 1.
    pub bytes: usize,
    /// The largest number of messages.
    pub messages: usize,
    /// The deepest nesting of lists and objects, the body itself included; [`DEEPEST`] at most.
    pub depth: usize,
}

impl Default for Limits {
    /// 32 MiB and 100,000 messages, which are Anthropic's limits, and 512 levels.
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            messages: 100_000,
            depth: 512,
        }
    }
}

impl Limits {
    /// The depth limit, at most [`DEEPEST`].
    pub(crate) fn depth_in_force(self) -> usize {
        self.depth.min(DEEPEST)
    }

    /// The length in force: offsets are stored as 32-bit numbers.
    pub(crate) fn bytes_in_force(self) -> usize {
        self.bytes.min(u32::MAX as usize)
    }
}
