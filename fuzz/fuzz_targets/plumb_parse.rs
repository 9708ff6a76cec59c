//! Any text is read: a mistake is told at a place in the text, with a code that the tables have, and can be
//! shown to people and to editors.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb::diagnostic::{Colour, codes, render, to_json};
use plumb::source::Sources;
use plumb::syntax;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut sources = Sources::default();
    let id = sources.add("fuzzed.plumb", &text);
    let (program, told) = syntax::parse(id, &text);
    for one in &told {
        assert!(text.get(one.span.range()).is_some(), "{one:?}");
        assert!(codes::explain(one.code).is_some(), "{one:?}");
        for label in &one.labels {
            assert!(text.get(label.span.range()).is_some(), "{one:?}");
        }
    }
    for declaration in &program.declarations {
        assert!(text.get(declaration.span.range()).is_some());
    }
    assert_eq!(render(&told, &sources, Colour::Plain, 80).is_empty(), told.is_empty());
    assert_eq!(to_json(&told, &sources).as_array().map(Vec::len), Some(told.len()));
});
