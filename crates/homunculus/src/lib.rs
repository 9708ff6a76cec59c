//! The supervisor of one conversation: a pure state machine that prepares and swaps.
