//! A whole conversation can be read and searched, and all of it is text.

use super::{Piece, excerpts, turns_page};
use crate::dashboard::tests::sample::{HOSTILE, line, part, visit};
use crate::report::{Matches, Needle, Said, Turns};

fn said(index: usize, seen: &'static str, text: &str) -> Said {
    Said {
        index,
        role: if index.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        },
        at: Some("2026-01-02T03:00:05Z".to_owned()),
        tokens: 12,
        seen,
        text: text.to_owned(),
    }
}

fn turns() -> Turns {
    Turns {
        line: line(1, None),
        all: 60,
        turns: vec![
            said(20, "summarized", "Port the parser."),
            said(21, "shown", "Done."),
        ],
        found: None,
        earlier: Some(0),
        later: Some(22),
    }
}

#[test]
fn turns_stand_in_order_and_say_what_the_model_sees() {
    let page = turns_page(&turns(), "", &visit()).expect("renders");
    assert!(page.contains("<h1>Turns 21 to 22 of 60</h1>"), "{page}");
    insta::assert_snapshot!(part(&page, "<article", "</article>"));
    assert_eq!(page.matches("the model sees a summary instead").count(), 1);
    assert!(page.contains("?find=&amp;from=0\"") && page.contains("?find=&amp;from=22\""));
}

#[test]
fn found_places_are_marked_and_counted() {
    let mut turns = turns();
    turns.turns.truncate(1);
    turns.found = Some(Matches {
        places: 1_204,
        turns: 3,
        searched: 0..60,
    });
    let page = turns_page(&turns, "PARSER", &visit()).expect("renders");
    assert!(page.contains("<h1>1,204 matches in 3 turns</h1>"), "{page}");
    assert!(page.contains("Port the <mark>parser</mark>."), "{page}");
    assert!(page.contains("?from=20#turn-21\""), "{page}");
    assert!(page.contains("?find=PARSER&amp;from=22\""), "{page}");
    turns.found = Some(Matches {
        places: 0,
        turns: 0,
        searched: 10..40,
    });
    let page = turns_page(&turns, "PARSER", &visit()).expect("renders");
    assert!(
        page.contains("No match; searched: turns 11 to 40 of 60"),
        "{page}"
    );
}

#[test]
fn what_was_said_and_searched_for_is_text() {
    let mut turns = turns();
    turns.turns = vec![said(0, "shown", HOSTILE)];
    let page = turns_page(&turns, "", &visit()).expect("renders");
    assert!(page.contains("[U+202E]gnp.exe") && !page.contains('\u{202e}'));
    for find in ["", "<SCRIPT>", HOSTILE, "\" onload", "<mark>"] {
        let page = turns_page(&turns, find, &visit()).expect("renders");
        for wrong in ["<script>alert", "onload='x'", "\" onload", "<!--"] {
            assert!(!page.contains(wrong), "{find}: {wrong}");
        }
    }
    let page = turns_page(&turns, "<SCRIPT>", &visit()).expect("renders");
    assert!(
        page.contains("<mark>&#60;script&#62;</mark>alert(1)"),
        "{page}"
    );
}

#[test]
fn excerpts_hold_what_is_around_and_no_more() {
    let check = |text: &str, expected: &[&str]| {
        let needle = Needle::of("key").expect("a text");
        let line = |pieces: &Vec<Piece>| -> String {
            let shown = |piece: &Piece| match piece.is_found {
                true => format!("[{}]", piece.text),
                false => piece.text.clone(),
            };
            pieces.iter().map(shown).collect()
        };
        let found = excerpts(text, &needle.places(text));
        assert_eq!(found.iter().map(line).collect::<Vec<_>>(), expected);
    };
    check("a Key b", &["a [Key] b"]);
    check("keykey", &["[key][key]"]);
    let (long, side) = ("ä".repeat(400), "ä".repeat(60));
    check(
        &format!("{long}key{long}KEY"),
        &[&format!("…{side}[key]{side}…"), &format!("…{side}[KEY]")],
    );
    check("none", &[]);
}
