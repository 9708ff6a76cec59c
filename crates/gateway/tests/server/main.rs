//! Tests of the outer half on real sockets, in front of the strict provider or a handmade upstream.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails where it stands"
)]

mod bridging;
mod chatgpt;
mod compaction;
mod control;
mod damage;
mod encodings;
mod forwarding;
mod harness;
mod held;
mod limits;
mod mcp;
mod memory;
mod overflow;
mod recording;
mod refusals;
mod sites;
mod spans;
mod streams;
mod tenancy;
mod tls;
