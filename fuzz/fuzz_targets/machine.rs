//! Any bytes as a network and the calls to it. What holds for all of them stands with the tests of the
//! crate: equal calls give equal steps, a state that is stored and restored between any two calls goes on
//! the same, no message is lost, a refused call changes nothing, and what has no more to come ends.

#![no_main]

#[path = "../../crates/plumb/tests/machine/laws.rs"]
mod laws;
#[path = "../../crates/plumb/tests/machine/random.rs"]
mod random;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| laws::check(data));
