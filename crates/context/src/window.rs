//! The context window: an immutable store comonad over positions.
