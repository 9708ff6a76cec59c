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
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_network_keeps_the_laws(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        laws::check(&bytes);
    }

    #[test]
    fn a_broken_program_is_told_of(bytes in prop::collection::vec(any::<u8>(), 4..24)) {
        programs::break_and_check(&bytes);
    }
}

#[test]
fn what_checks_meets_no_type_error() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let checked = std::cell::Cell::new(0);
    let strategy = prop::collection::vec(any::<u8>(), 40..120);
    let ran = runner.run(&strategy, |bytes| {
        checked.set(checked.get() + u32::from(programs::check_and_run(&bytes)));
        Ok(())
    });
    ran.unwrap();
    let checked = checked.get();
    assert!(checked > 50, "only {checked} of the programs checked");
}
