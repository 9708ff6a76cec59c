//! The canonical text of a program reads without a mistake, has as many comments, says the same and is its
//! own canonical text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb::span::SourceId;
use plumb::syntax::{self, ast::Program};

/// What a program says, without its comments and lines.
fn said(program: &Program) -> String {
    let bare = Program {
        declarations: program.declarations.clone(),
        comments: Vec::new(),
    };
    syntax::format(&bare, "")
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (program, told) = syntax::parse(SourceId(0), &text);
    let canonical = syntax::format(&program, &text);
    if !told.is_empty() {
        return;
    }
    let (again, told) = syntax::parse(SourceId(0), &canonical);
    assert!(told.is_empty(), "{told:?}\n{canonical}");
    assert_eq!(again.comments.len(), program.comments.len(), "{canonical}");
    assert_eq!(said(&again), said(&program), "{canonical}");
    assert_eq!(syntax::format(&again, &canonical), canonical);
});
