//! The runtime-context note: what an agent is told about its own memory.
