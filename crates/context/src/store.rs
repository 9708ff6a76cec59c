//! The store comonad.
