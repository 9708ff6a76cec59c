//! The outer half on real sockets, with the strict provider or a small upstream made by hand behind it.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod house;
mod passing;
