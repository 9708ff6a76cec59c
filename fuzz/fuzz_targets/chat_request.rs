//! Any bytes as a request in the dialect; the laws stand in `request_laws.rs`.

#![no_main]

mod request_laws;

use libfuzzer_sys::fuzz_target;
use wire::api::Dialect;

fuzz_target!(|data: &[u8]| request_laws::check(Dialect::Chat, data));
