//! Shortening oversized tool results before they are first sent.
