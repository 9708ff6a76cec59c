//! Any bytes as a program of the language that is right more often than chance would have it, and messages
//! for it: what checks meets no type error when it runs, and gives what its types say.

#![no_main]

#[path = "../../crates/plumb/tests/machine/programs.rs"]
mod programs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = programs::check_and_run(data);
});
