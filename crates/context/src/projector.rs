//! Compress a window to a target and expand it again: a Galois connection.
