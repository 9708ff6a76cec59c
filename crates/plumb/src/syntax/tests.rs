//! Laws of reading and writing, on generated programs.

mod forms;
mod generate;

use proptest::prelude::*;

use super::ast::Program;
use super::{format, parse};
use crate::diagnostic::Diagnostic;
use crate::span::SourceId;
use generate::Dice;

fn read(text: &str) -> (Program, Vec<Diagnostic>) {
    parse(SourceId(0), text)
}

/// The tree without its spans and comments.
fn bare(program: &Program) -> String {
    let shown = format!("{:?}", program.declarations);
    let mut parts = shown.split("Span {");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('}').unwrap().1);
    }
    out
}

fn comments(program: &Program) -> Vec<String> {
    let texts = program.comments.iter();
    texts.map(|comment| comment.text.to_string()).collect()
}

/// Checks that the canonical text of a text reads as the same tree, has the same comments, and is its own
/// canonical text.
#[track_caller]
fn check_canonical(text: &str) -> String {
    let (program, told) = read(text);
    assert_eq!(told, [], "in\n{text}");
    let canonical = format(&program, text);
    let (again, told) = read(&canonical);
    assert_eq!(told, [], "{text}\nbecame\n{canonical}");
    assert!(
        bare(&again) == bare(&program),
        "{text}\nbecame\n{canonical}"
    );
    let (mut before, mut after) = (comments(&program), comments(&again));
    before.sort();
    after.sort();
    assert_eq!(after, before, "{text}\nbecame\n{canonical}");
    let twice = format(&again, &canonical);
    assert!(
        twice == canonical,
        "{text}\nbecame\n{canonical}\nthen\n{twice}"
    );
    canonical
}

proptest! {
    #[test]
    fn canonical_text_reads_as_the_same_tree(throws in prop::collection::vec(any::<u8>(), 0..400)) {
        let tokens = Dice::new(&throws).program();
        check_canonical(&tokens.join(" "));
        check_canonical(&tokens.join("\n"));
    }

    #[test]
    fn comments_are_kept_wherever_they_stand(
        throws in prop::collection::vec(any::<u8>(), 0..200),
        gaps in prop::collection::vec(any::<u8>(), 1..50),
    ) {
        let tokens = Dice::new(&throws).program();
        check_canonical(&generate::with_comments(&tokens, &gaps));
    }

    #[test]
    fn the_canonical_text_says_nothing_about_the_old_lines(
        throws in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        // Without comments, only empty lines between declarations and statements stay as they were.
        let tokens = Dice::new(&throws).program();
        let one = check_canonical(&tokens.join(" "));
        let many = check_canonical(&tokens.join("\n"));
        prop_assert_eq!(one, many);
    }

    #[test]
    fn mutilated_programs_are_read(
        throws in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>()), 1..6),
    ) {
        let mut tokens = Dice::new(&throws).program();
        for (how, at, other) in cuts {
            generate::mutilate(&mut tokens, how, at, other);
        }
        for separator in [" ", "\n"] {
            let text = tokens.join(separator);
            let (program, told) = read(&text);
            for one in &told {
                prop_assert!(text.get(one.span.range()).is_some(), "{one:?}");
            }
            if told.is_empty() {
                check_canonical(&text);
            }
            drop(format(&program, &text));
        }
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,80}", tail in "[a-zA-Z(){};.*|!<>=@\"\\\\ \n-]{0,80}") {
        let text = format!("{text}{tail}");
        let (program, told) = read(&text);
        drop(format(&program, &text));
        for one in &told {
            prop_assert!(text.get(one.span.range()).is_some(), "{one:?}");
        }
    }
}
