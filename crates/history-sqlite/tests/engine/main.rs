//! Tests of the SQLite engine: the conformance suite, and what only a file can suffer.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed; clippy knows test functions, not what they call"
)]

mod conformance;
mod corpus;
mod damage;
mod files;
mod held;
mod killed;
mod log;
mod random;
mod schemas;

#[path = "../../../lab/tests/corpus/locate.rs"]
mod locate;
