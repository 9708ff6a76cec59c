//! Steps and splits of random conversations.

use std::collections::HashMap;

use context::cut::{Cuts, Rule};
use context::split::{CompactionRatio, by_ratio, by_tokens};
use context::step::{StepKind, steps};
use context::{Heuristic, Role, Tokens, Turn, TurnDraft, TurnId};
use proptest::prelude::*;

use crate::conversation::drafts;

fn placed(drafts: Vec<TurnDraft>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    drafts
        .into_iter()
        .map(|draft| {
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

fn conversation() -> impl Strategy<Value = Vec<Turn>> {
    drafts("c", 14).prop_map(placed)
}

/// The number of results left without a call before them, by id.
fn orphans(turns: &[Turn]) -> usize {
    let mut waiting: HashMap<&str, usize> = HashMap::new();
    let mut orphans = 0;
    for turn in turns {
        for call in turn.calls() {
            *waiting.entry(call.id.as_str()).or_default() += 1;
        }
        for result in turn.results() {
            match waiting.get_mut(result.call.as_str()) {
                Some(open) if *open > 0 => *open -= 1,
                _ => orphans += 1,
            }
        }
    }
    orphans
}

/// The cut parts no call from its result: no result loses its call, on neither side.
fn keeps_pairs(cut: usize, turns: &[Turn]) -> bool {
    let (old, kept) = turns.split_at(cut);
    orphans(old) + orphans(kept) == orphans(turns)
}

proptest! {
    #[test]
    fn steps_partition_the_conversation(turns in conversation()) {
        let mut next = 0;
        for step in steps(&turns) {
            prop_assert_eq!(step.turns().start, next);
            prop_assert!(!step.turns().is_empty());
            next = step.turns().end;
            prop_assert!(step.kind() != StepKind::InFlight || next == turns.len());
        }
        prop_assert_eq!(next, turns.len());
    }

    #[test]
    fn no_cut_parts_a_call_from_its_result(turns in conversation()) {
        let cuts = Cuts::of(&turns);
        for at in 0..=turns.len() {
            prop_assert!(!cuts.is_cut(at, Rule::Provider) || cuts.is_cut(at, Rule::Steps));
            prop_assert!(!cuts.is_cut(at, Rule::Steps) || keeps_pairs(at, &turns));
        }
    }

    #[test]
    fn the_providers_rule_holds(turns in conversation(), keep in 0..4_000_u64) {
        let cut = by_tokens(&turns, Tokens::new(keep), Rule::Provider);
        let (old, kept) = turns.split_at(cut);
        if let (Some(last), Some(first)) = (old.last(), kept.first()) {
            prop_assert_ne!(last.role(), first.role());
            prop_assert_ne!(first.role(), Role::System);
        }
        prop_assert!(turns.is_empty() || !kept.is_empty());
    }

    #[test]
    fn the_kept_part_fills_its_budget_and_passes_it_by_less_than_a_step(
        turns in conversation(),
        keep in 0..6_000_u64,
    ) {
        let keep = Tokens::new(keep);
        let sum = |turns: &[Turn]| turns.iter().map(Turn::tokens).sum::<Tokens>();
        let cut = by_tokens(&turns, keep, Rule::Steps);
        let kept = &turns[cut..];
        let next = Cuts::of(&turns).at_least(cut + 1, Rule::Steps);
        if let Some(next) = next {
            // One cut further on would keep less than asked for, or just as much.
            prop_assert!(sum(&turns[next..]) < keep || sum(kept) <= keep);
        }
        let wanted: usize = turns.iter().rev().scan(Tokens::ZERO, |total, turn| {
            *total += turn.tokens();
            (*total <= keep).then_some(())
        }).count();
        prop_assert!(kept.len() >= wanted);
    }

    #[test]
    fn a_larger_ratio_keeps_no_more(turns in conversation(), a in 0.0..=1.0, b in 0.0..=1.0) {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let cut = |ratio| by_ratio(&turns, CompactionRatio::new(ratio).unwrap(), Rule::Steps);
        prop_assert!(cut(low) <= cut(high));
    }
}
