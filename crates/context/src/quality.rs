//! How good a compaction is: minimum description length, bounded, as a gate.
