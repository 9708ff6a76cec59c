//! Recorded sessions fed through the gateway turn by turn, as their client would: each request holds the
//! whole history so far. The strict provider stands behind it and answers what was answered then.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and figures are for people to read"
)]

mod boundary;
mod cache;
mod crossing;
#[path = "../../../lab/tests/corpus/locate.rs"]
mod locate;
mod received;
mod session;
mod stage;
mod talk;
