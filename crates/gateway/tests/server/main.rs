//! The outer half on real sockets, with the strict provider or a small upstream made by hand behind it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails where it stands"
)]

mod control;
mod house;
mod kept;
mod limits;
mod overflow;
mod passing;
mod spans;
mod streams;
mod tenancy;
mod tls;
