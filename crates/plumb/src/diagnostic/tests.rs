//! Diagnostics in a terminal, and their places for editors.

use proptest::prelude::*;

use super::codes;
use super::{Colour, Diagnostic, Lines, Position, render, to_json};
use crate::source::Sources;
use crate::span::{SourceId, Span};
use crate::syntax;

fn told(text: &str) -> (Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let id = sources.add("main.plumb", text);
    let (_, told) = syntax::parse(id, text);
    (sources, told)
}

const TEXT: &str = "type Verdict = { resolved: bool, topic: string
let judge : !Verdict -> !bool = map(resolved == true)
(* é 😀 *) let cool : !string -> !string = plum(input, output) {
  input ; filtr(len(value) > 10) ; a_name_of_a_process_that_is_rather_long ; another_name_of_a_process ; ;
}
";

#[test]
fn for_people() {
    let (sources, told) = told(TEXT);
    insta::assert_snapshot!(render(&told, &sources, Colour::Plain, 80));
}

#[test]
fn colours_only_where_they_are_wanted() {
    let (sources, told) = told(TEXT);
    assert!(render(&told, &sources, Colour::Ansi, 80).contains('\u{1b}'));
    assert!(!render(&told, &sources, Colour::Plain, 80).contains('\u{1b}'));
}

#[test]
fn labels_in_other_sources_have_excerpts_of_their_own() {
    let mut sources = Sources::default();
    let main = sources.add("main.plumb", "use mem\nlet f : !A -> !B = Mem.g");
    let module = sources.add("mem.plumb", "let g : !int -> !int = id");
    let told = [
        Diagnostic::warning(codes::all()[0].code, Span::new(main, 27, 32), "this does not fit")
            .label(Span::new(module, 8, 20), "its signature")
            .hint("Make it fit, which may take a sentence that is longer than what a line of eighty columns holds."),
    ];
    insta::assert_snapshot!(render(&told, &sources, Colour::Plain, 80));
}

#[test]
fn for_editors() {
    let (sources, told) = told("(* é 😀 *) type t = int\n");
    let expected = serde_json::json!([{
        "source": "main.plumb",
        "code": "P0110",
        "severity": "error",
        "message": "the name of a type starts with a capital, `t` does not",
        "range": {
            "start": { "line": 0, "character": 16, "byte": 19 },
            "end": { "line": 0, "character": 17, "byte": 20 },
        },
        "labels": [],
        "hint": "Call it `T`.",
    }]);
    assert_eq!(to_json(&told, &sources), expected);
}

#[test]
fn places_count_in_utf_16() {
    let lines = Lines::new("a😀b\n\né\r\n");
    #[track_caller]
    fn check(lines: &Lines<'_>, byte: usize, line: u32, character: u32) {
        let position = Position { line, character };
        assert_eq!(lines.position(byte), position);
        assert_eq!(lines.byte(position), byte);
    }
    check(&lines, 0, 0, 0);
    check(&lines, 5, 0, 3);
    check(&lines, 6, 0, 4);
    check(&lines, 7, 1, 0);
    check(&lines, 8, 2, 0);
    check(&lines, 12, 3, 0);
    assert_eq!(lines.position(99), lines.end());
    assert_eq!(
        lines.byte(Position {
            line: 9,
            character: 0
        }),
        12
    );
    assert_eq!(
        lines.byte(Position {
            line: 0,
            character: 99
        }),
        6
    );
}

#[test]
fn each_code_stands_once_in_its_range() {
    let all = codes::all();
    for pair in all.windows(2) {
        assert!(
            pair[0].code < pair[1].code,
            "{} {}",
            pair[0].code,
            pair[1].code
        );
    }
    for entry in all {
        let code = entry.code.0;
        assert!(code.len() == 5 && code.starts_with('P'), "{code}");
        assert!(
            !entry.meaning.ends_with('.') && entry.remedy.ends_with('.'),
            "{code}"
        );
        assert_eq!(codes::explain(entry.code), Some(entry));
    }
}

proptest! {
    #[test]
    fn anything_can_be_shown(
        text in "[a-z(){};\"\\\\ \t\r\n\u{0}\u{1b}é😀\u{200d}\u{301}|=!-]{0,200}",
        spans in prop::collection::vec((0_u32..250, 0_u32..250), 1..5),
        width in 0_usize..120,
    ) {
        let mut sources = Sources::default();
        let id = sources.add("main.plumb", &text);
        let (_, mut all) = syntax::parse(id, &text);
        let mut made = Diagnostic::error(codes::all()[0].code, Span::default(), text.clone());
        for (start, end) in spans {
            made = made.label(Span::new(id, start, end), "a label").hint(&*text);
            made.span = Span::new(id, end, start);
        }
        all.push(made.clone());
        made.span.source = SourceId(7);
        all.push(made);
        drop(render(&all, &sources, Colour::Plain, width));
        drop(render(&all, &sources, Colour::Ansi, width));
        prop_assert_eq!(to_json(&all, &sources).as_array().map(Vec::len), Some(all.len()));
    }
}
