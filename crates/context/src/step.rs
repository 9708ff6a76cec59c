//! Steps: an assistant turn with tool calls and all their results, atomic.
