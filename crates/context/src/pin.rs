//! Pins: text that survives every compaction verbatim.
