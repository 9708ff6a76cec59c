//! Conversations over boundaries: a client, the gateway and the strict provider on real sockets.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails where it stands"
)]

mod accounts;
mod boundaries;
mod branches;
mod breakpoints;
mod coders;
mod continuations;
mod decorating;
mod desk;
mod dialects;
#[path = "../adversity/dice.rs"]
mod dice;
mod documents;
mod encodings;
mod house;
mod naming;
mod observing;
mod orders;
mod pinning;
mod proof;
mod purges;
mod receipts;
mod rescues;
mod restarts;
mod returning;
mod sizes;
mod slots;
mod strategies;
mod streams;
mod switches;
mod windows;
