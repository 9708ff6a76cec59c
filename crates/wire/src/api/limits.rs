//! How much input is read.

/// The deepest nesting that can be asked for. Turns and hashes are computed by recursion over
/// nested values; this bounds the stack they need.
pub const DEEPEST: usize = 1_024;

/// How much input is read before an error is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body, in bytes. At most 4 GiB − 1, whatever is asked for.
    pub bytes: usize,
    /// The largest number of messages.
    pub messages: usize,
    /// The deepest nesting of lists and objects, the body itself included; [`DEEPEST`] at most.
    pub depth: usize,
}

impl Default for Limits {
    /// 32 MiB and 100,000 messages, which is what Anthropic takes, and 512 levels.
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            messages: 100_000,
            depth: 512,
        }
    }
}

impl Limits {
    /// The depth in force.
    pub(crate) fn depth_in_force(self) -> usize {
        self.depth.min(DEEPEST)
    }

    /// The length in force: offsets are stored as 32-bit numbers.
    pub(crate) fn bytes_in_force(self) -> usize {
        self.bytes.min(u32::MAX as usize)
    }
}
