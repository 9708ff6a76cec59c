//! Sizes against plain sums, cuts against the rules.

use context::turn::{Outcome, Part, ToolCall, ToolResult};
use context::{CallId, Heuristic, Role, Text, Tokens, Turn, TurnDraft, TurnId};

use super::{Outline, PLACEHOLDER, Path, PinnedAt};

/// A conversation from a pattern: `s` system, `u` user, `a` assistant, `c` assistant with a call,
/// `r` its result.
fn turns(pattern: &str) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let mut call = 0;
    pattern
        .chars()
        .map(|kind| {
            let text = "word ".repeat(20);
            let draft = match kind {
                's' => TurnDraft::text(Role::System, text),
                'u' => TurnDraft::text(Role::User, text),
                'a' => TurnDraft::text(Role::Assistant, text),
                'c' => {
                    call += 1;
                    let part = Part::Call(ToolCall {
                        id: CallId::from(format!("c{call}").as_str()),
                        name: Text::from("read"),
                        arguments: Text::from("{}"),
                    });
                    TurnDraft::said(Role::Assistant, vec![part])
                }
                _ => {
                    let part = Part::Result(ToolResult {
                        call: CallId::from(format!("c{call}").as_str()),
                        text: Text::from(text),
                        outcome: Outcome::Succeeded,
                    });
                    TurnDraft::said(Role::Tool, vec![part])
                }
            };
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

fn check_cuts(pattern: &str, expected: &[usize]) {
    let outline = Outline::of(&turns(pattern));
    let path = Path::new(&outline, outline.len(), &[]);
    let cuts: Vec<usize> = (0..=outline.len()).filter(|&at| path.is_cut(at)).collect();
    assert_eq!(cuts, expected, "{pattern}");
    for at in 0..outline.len() {
        let most = expected.iter().rev().find(|&&cut| cut <= at).copied();
        let least = expected.iter().find(|&&cut| cut >= at).copied();
        assert_eq!(path.cut_at_most(at), most, "{pattern} at most {at}");
        assert_eq!(path.cut_at_least(at), least, "{pattern} at least {at}");
    }
}

#[test]
fn cuts_are_between_steps_and_roles_differ() {
    check_cuts("", &[]);
    check_cuts("u", &[]);
    check_cuts("uaua", &[1, 2, 3]);
    check_cuts("ucra", &[1, 3]);
    check_cuts("suaua", &[1, 2, 3, 4]);
    check_cuts("uaasua", &[1, 4, 5]);
    // A result and a user's text arrive from the same side.
    check_cuts("ucrua", &[1, 4]);
    // A summary must not stand between a result and what it answers, known or not.
    check_cuts("uara", &[1, 3]);
}

#[test]
fn sizes_are_those_of_the_turns() {
    let said = turns("sucruaucr");
    let outline = Outline::of(&said);
    let sum = |range: &[Turn]| -> Tokens { range.iter().map(Turn::tokens).sum() };
    for len in 0..=said.len() {
        let path = Path::new(&outline, len, &[]);
        for cut in 0..=len {
            assert_eq!(path.tail(cut), sum(&said[cut..len]));
            assert_eq!(path.covered(cut), sum(&said[..cut]));
            let system: Tokens = said[..cut]
                .iter()
                .filter(|turn| turn.role() == Role::System)
                .map(Turn::tokens)
                .sum();
            assert_eq!(path.front(cut), system);
        }
        assert_eq!(
            path.head(),
            said[..len].last().map_or(TurnId::ROOT, Turn::id)
        );
    }
}

#[test]
fn pins_count_in_front_only_where_they_must_be_restated() {
    let outline = Outline::of(&turns("uaua"));
    let pins = [
        PinnedAt {
            turn: Some(2),
            tokens: Tokens::new(7),
        },
        PinnedAt {
            turn: None,
            tokens: Tokens::new(5),
        },
    ];
    let path = Path::new(&outline, 4, &pins);
    assert_eq!(path.front(0), Tokens::new(16 + 5));
    assert_eq!(path.front(1), Tokens::new(16 + 5));
    assert_eq!(path.front(3), Tokens::new(16 + 12));
}

#[test]
fn keeping_and_clearing_look_from_the_back() {
    let said = turns("ucrcrcr");
    let outline = Outline::of(&said);
    let path = Path::new(&outline, said.len(), &[]);
    let step = said[5].tokens() + said[6].tokens();
    assert_eq!(path.cut_keeping(step), Some(5));
    assert_eq!(path.cut_keeping(step + step), Some(3));
    assert_eq!(
        path.cut_keeping(Tokens::ZERO),
        Some(5),
        "the newest step stays"
    );
    assert_eq!(path.before_newest_results(1), 6);
    assert_eq!(path.before_newest_results(0), 7);
    let none = path.before_newest_results(9);
    assert_eq!(path.clearable(0, none), Tokens::ZERO);
    let freed = said[2].tokens().saturating_sub(PLACEHOLDER);
    assert_eq!(path.clearable(0, 4), freed);
    assert_eq!(path.clearable(3, 4), Tokens::ZERO);
}

#[test]
fn a_summary_may_stand_for_all_of_it_where_the_answer_comes_next() {
    for (pattern, whole) in [
        ("u", true),
        ("ua", false),
        ("uc", false),
        ("ucr", true),
        ("ucu", true),
        ("", false),
    ] {
        let outline = Outline::of(&turns(pattern));
        let path = Path::new(&outline, outline.len(), &[]);
        assert_eq!(path.ends_whole(), whole, "{pattern}");
    }
    let longer = Outline::of(&turns("ucrau"));
    assert!(Path::new(&longer, 3, &[]).ends_whole());
    assert!(!Path::new(&longer, 2, &[]).ends_whole());
}

#[test]
fn turns_that_are_shown_with_other_sizes_count_as_they_are_shown() {
    let turns = turns("uacrua");
    let sizes: Vec<Tokens> = (1..=6).map(|size| Tokens::new(size * 10)).collect();
    let mut expected = Outline::default();
    for (turn, &tokens) in turns.iter().zip(&sizes) {
        expected.push(turn, tokens);
    }
    for first in 0..=6 {
        let mut outline = Outline::default();
        for (index, (turn, &tokens)) in turns.iter().zip(&sizes).enumerate() {
            let taken = if index < first { tokens } else { turn.tokens() };
            outline.push(turn, taken);
        }
        outline.resize(first, turns.iter().zip(sizes.iter().copied()).skip(first));
        for at in 0..=6 {
            let path = Path::new(&outline, 6, &[]);
            let wanted = Path::new(&expected, 6, &[]);
            assert_eq!(path.tail(at), wanted.tail(at), "{first} {at}");
            assert_eq!(path.is_cut(at), wanted.is_cut(at), "{first} {at}");
            assert_eq!(
                path.clearable(0, at),
                wanted.clearable(0, at),
                "{first} {at}"
            );
        }
    }
}
