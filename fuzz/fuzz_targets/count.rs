//! Any text can be counted for any model: an estimate is never above its own upper bound, only the
//! empty text has no tokens, and no text has more tokens than bytes times the largest factor.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tokens::{ModelCounter, Tokenizer};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for tokenizer in Tokenizer::ALL {
        let estimate = ModelCounter::new(tokenizer).estimate(&text);
        assert!(estimate.tokens <= estimate.upper);
        assert_eq!(estimate.tokens.get() == 0, text.is_empty());
        assert!(estimate.upper.get() <= 3 * text.len() as u64);
    }
});
