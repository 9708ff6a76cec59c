//! Tokens of any text lie in it, in order and on the edges of characters, and end with the end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb::span::SourceId;
use plumb::syntax;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let tokens = syntax::tokens(SourceId(0), &text);
    let mut end = 0;
    for token in &tokens {
        let range = token.span.range();
        assert!(range.start >= end && range.end >= range.start);
        assert!(text.get(range.clone()).is_some());
        end = range.end;
    }
    assert!(tokens.last().is_some_and(|last| last.span.range() == (text.len()..text.len())));
});
