//! Anthropic Messages, as the strict provider speaks it.

mod client;

mod caching;
mod compaction;
mod rules;
mod streams;
mod thinking;
mod threads;
