//! The tables of the texts that the rules come from, case by case.

use super::{CompactionRatio, by_ratio, by_tokens};
use crate::counter::Heuristic;
use crate::cut::{Cuts, Rule};
use crate::text::Text;
use crate::turn::{CallId, Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};

/// A conversation from a pattern: `s` system, `u` user, `a` assistant, `c` assistant with a call,
/// `p` with two calls, `r` the result of the oldest open call, `x` a result without a call, `o` a
/// turn of an unknown role.
fn turns(pattern: &str) -> Vec<Turn> {
    let (mut parent, mut asked, mut answered) = (TurnId::ROOT, 0, 0);
    let id = |number: usize| CallId::from(format!("c{number}").as_str());
    let said = |role| TurnDraft::text(role, "word ".repeat(20));
    pattern
        .chars()
        .map(|kind| {
            let draft = match kind {
                's' => said(Role::System),
                'u' => said(Role::User),
                'a' => said(Role::Assistant),
                'o' => said(Role::Other),
                'c' | 'p' => {
                    let calls = asked..asked + if kind == 'c' { 1 } else { 2 };
                    asked = calls.end;
                    let call = |number| {
                        Part::Call(ToolCall {
                            id: id(number),
                            name: Text::from("read"),
                            arguments: Text::from("{}"),
                        })
                    };
                    TurnDraft::said(Role::Assistant, calls.map(call).collect())
                }
                _ => {
                    let stray = kind == 'x';
                    let call = id(if stray { 1_000 } else { answered });
                    answered += usize::from(!stray);
                    let result = Part::Result(ToolResult {
                        call,
                        text: Text::from("word ".repeat(20)),
                        outcome: Outcome::Succeeded,
                    });
                    TurnDraft::said(Role::Tool, vec![result])
                }
            };
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

/// The messages that are summarised and those that are kept, counted from 1 as seed 003 does.
#[track_caller]
fn check_ratio(pattern: &str, ratio: f64, old: &[usize], kept: &[usize]) {
    let turns = turns(pattern);
    let cut = by_ratio(&turns, CompactionRatio::new(ratio).unwrap(), Rule::Steps);
    let numbered = |range: std::ops::Range<usize>| range.map(|at| at + 1).collect::<Vec<_>>();
    assert_eq!(numbered(0..cut), old, "{pattern} at {ratio}: old");
    assert_eq!(
        numbered(cut..turns.len()),
        kept,
        "{pattern} at {ratio}: kept"
    );
}

#[test]
fn seed_003_ten_messages_at_three_ratios() {
    let five = [1, 2, 3, 4, 5];
    let eight = [1, 2, 3, 4, 5, 6, 7, 8];
    // Directly, message by message, and through steps that end where the table cuts.
    for pattern in ["uauauauaua", "suauauauau", "uacraucrua", "uaprraucra"] {
        check_ratio(pattern, 0.2, &[1, 2], &[3, 4, 5, 6, 7, 8, 9, 10]);
    }
    for pattern in ["uauauauaua", "suauauauau", "uacraucrua"] {
        check_ratio(pattern, 0.5, &five, &[6, 7, 8, 9, 10]);
        check_ratio(pattern, 0.8, &eight, &[9, 10]);
    }
}

#[test]
fn a_ratio_that_falls_inside_a_step_keeps_the_step() {
    check_ratio("uaucrauaua", 0.4, &[1, 2, 3], &[4, 5, 6, 7, 8, 9, 10]);
    check_ratio("uauprruaua", 0.5, &[1, 2, 3], &[4, 5, 6, 7, 8, 9, 10]);
    check_ratio("uapruauaua", 0.3, &[1, 2], &[3, 4, 5, 6, 7, 8, 9, 10]);
    check_ratio("uauauauapr", 1.0, &[1, 2, 3, 4, 5, 6, 7, 8], &[9, 10]);
}

/// Checks that with room for just the newest `keep` turns, the kept part starts at `first` (from 0).
#[track_caller]
fn check_recent(pattern: &str, keep: usize, first: usize) {
    let turns = turns(pattern);
    let budget = turns.iter().rev().take(keep).map(Turn::tokens).sum();
    let cut = by_tokens(&turns, budget, Rule::Steps);
    assert_eq!(cut, first, "{pattern}, {keep} newest turns");
}

#[test]
fn seed_004_a_result_is_never_kept_without_its_call() {
    check_recent("uaucrua", 2, 5);
    // The line would fall between the call and its result: the pair stays together. Seed 004 gives
    // it to the old part; here it is kept, so that never less than asked for stays verbatim.
    check_recent("uaucrua", 3, 3);
    check_recent("uaucrua", 4, 3);
    check_recent("uauprrua", 3, 3);
    check_recent("uauprrua", 4, 3);
}

#[test]
fn the_newest_step_is_kept_however_small_the_budget() {
    check_recent("ua", 0, 1);
    check_recent("uaucr", 0, 3);
    check_recent("uauprr", 1, 3);
    // In flight: one of the two calls has no result yet.
    check_recent("uaupr", 0, 3);
    check_recent("", 0, 0);
}

#[track_caller]
fn check_provider(pattern: &str, expected: &[usize]) {
    let turns = turns(pattern);
    let cuts = Cuts::of(&turns);
    let legal = (0..=turns.len()).filter(|&at| cuts.is_cut(at, Rule::Provider));
    assert_eq!(legal.collect::<Vec<_>>(), expected, "{pattern}");
}

#[test]
fn a_provider_is_cut_where_the_speaker_changes() {
    check_provider("uaua", &[1, 2, 3]);
    // A result and a user's text arrive from the same side, and so does an unknown role.
    check_provider("ucrua", &[1, 4]);
    check_provider("uaoua", &[1, 2, 4]);
    check_provider("uaasua", &[1, 4, 5]);
    // The kept part never begins with a result whose call is not there.
    check_provider("uaxa", &[1, 3]);
}
