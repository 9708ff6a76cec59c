//! Replays recorded sessions under memory strategies, in virtual time, and compares them.

pub mod recall;
