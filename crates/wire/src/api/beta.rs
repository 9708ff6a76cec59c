//! Names of Anthropic's opt-in features, values of the header `anthropic-beta`.

/// Compaction on demand, and every request that carries its block.
pub const COMPACT: &str = "compact-2026-09-04";
/// Compaction from a size on.
pub const COMPACT_THRESHOLD: &str = "compact-2026-01-12";
/// System messages that clear themselves.
pub const CLEAR_AT: &str = "mid-conversation-system-clear-at-2026-08-21";
/// The provider's reason for a cache miss.
pub const DIAGNOSIS: &str = "cache-diagnosis-2026-04-07";
/// Message threads.
pub const THREADS: &str = "message-threads-2026-08-12";
