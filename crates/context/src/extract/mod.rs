//! Extractive compaction: the summary template filled from the turns themselves, to a token budget.
