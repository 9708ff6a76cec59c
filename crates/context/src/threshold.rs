//! When to compact: the adaptive threshold.
