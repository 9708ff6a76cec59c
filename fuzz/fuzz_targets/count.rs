//! Any text can be counted for any model: only the empty text has no tokens, and no text has more tokens
//! than bytes times the largest factor.

#![no_main]

use context::TokenCounter;
use libfuzzer_sys::fuzz_target;
use tokens::{ModelCounter, Tokenizer};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for tokenizer in Tokenizer::ALL {
        let tokens = ModelCounter::new(tokenizer).count(&text).get();
        assert_eq!(tokens == 0, text.is_empty());
        assert!(tokens <= 3 * text.len() as u64);
    }
});
