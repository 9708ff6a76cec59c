//! Anthropic Messages, as the strict provider speaks it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "bodies are written where they are used, and read better without an ampersand each"
)]

#[cfg(test)]
mod client;

#[cfg(test)]
mod caching;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod faults;
#[cfg(test)]
#[cfg(test)]
mod rules;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod thinking;
#[cfg(test)]
mod threads;
