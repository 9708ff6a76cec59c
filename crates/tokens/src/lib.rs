//! Counting tokens, calibrating estimates against reported usage, and the model table.
