//! Laws of the machine, on random networks and random calls.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise; clippy knows test functions, not what they call"
)]

mod laws;
mod programs;
mod random;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn any_network_keeps_the_laws(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        laws::check(&bytes);
    }
}
