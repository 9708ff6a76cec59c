//! Needed-later recall: how much of what the agent goes on to use is still there after a compaction.
