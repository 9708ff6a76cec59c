//! Compress and expand are adjoint, and compressing is idempotent, over three cycles and more.

use std::collections::HashSet;

use context::archive::{Archive, MemoryArchive};
use context::projector::{
    Compression, ContextProjector, Summarizer, SummarizerError, TargetOutcome,
};
use context::step::steps;
use context::window::ContextWindow;
use context::{Heuristic, Provenance, Text, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::conversation::{Broken, FirstWords, append_all, drafts, preserved, window};
use crate::order::Says;

const PREFIXES: [&str; 4] = ["d", "e", "f", "g"];

/// Four rounds in which more is said after each compression.
fn rounds() -> impl Strategy<Value = (ContextWindow, Vec<Vec<TurnDraft>>)> {
    let later: Vec<_> = PREFIXES.map(|prefix| drafts(prefix, 5)).into();
    (window(16), later)
}

fn ids(window: &ContextWindow) -> Vec<TurnId> {
    window.turns().map(Turn::id).collect()
}

struct Cycle<'a> {
    projector: ContextProjector<'a>,
    target: Tokens,
    archive: MemoryArchive,
}

impl<'a> Cycle<'a> {
    fn new(summarizer: &'a dyn Summarizer, target: u64, keep_recent: u64) -> Self {
        Self {
            projector: ContextProjector::new(summarizer, &Heuristic)
                .keep_recent(Tokens::new(keep_recent)),
            target: Tokens::new(target),
            archive: MemoryArchive::new(),
        }
    }

    fn compress(&mut self, window: &ContextWindow) -> Compression {
        self.projector
            .compress(window, self.target, &mut self.archive)
            .unwrap()
    }

    /// One compression of a window, with everything that must hold of it.
    fn check(&mut self, window: &ContextWindow) -> ContextWindow {
        let compression = self.compress(window);
        let compressed = compression.window.clone();
        assert!(compressed.tokens() <= window.tokens(), "never grows");
        let small = compressed.tokens() <= self.target;
        assert_eq!(small, compression.outcome != TargetOutcome::Unreachable);
        assert_eq!(preserved(&compressed), preserved(window), "preserved");
        self.check_laws(window, &compressed);
        self.check_steps(&compressed);
        compressed
    }

    fn check_laws(&mut self, window: &ContextWindow, compressed: &ContextWindow) {
        let expanded = compressed.expand(&self.archive).unwrap();
        assert!(
            Says::of(window) <= Says::of(&expanded),
            "w <= expand(compress(w))"
        );
        let again = self.compress(&expanded).window;
        assert!(
            Says::of(&again) <= Says::of(compressed),
            "compress(expand(c)) <= c"
        );
        let twice = self.compress(compressed).window;
        assert_eq!(&twice, compressed, "idempotent");
    }

    /// Checks that the hidden turns are whole steps of the full conversation, and that the rest stands in order.
    fn check_steps(&self, compressed: &ContextWindow) {
        let full = compressed.expand(&self.archive).unwrap().to_vec();
        let shown: HashSet<TurnId> = ids(compressed).into_iter().collect();
        for step in steps(&full) {
            let kept = step
                .of(&full)
                .iter()
                .filter(|turn| shown.contains(&turn.id()));
            let kept = kept.count();
            assert!(kept == 0 || kept == step.turns().len(), "half a step");
        }
        let in_order: Vec<TurnId> = full
            .iter()
            .map(Turn::id)
            .filter(|id| shown.contains(id))
            .collect();
        let stand_in = compressed.compacted().map(|compacted| compacted.stand_in());
        let without: Vec<TurnId> = ids(compressed)
            .into_iter()
            .filter(|id| Some(*id) != stand_in)
            .collect();
        assert_eq!(in_order, without);
    }
}

/// The first words, after a look at what they are taken from.
struct FromOriginals;

impl Summarizer for FromOriginals {
    fn summarize(
        &self,
        old: &[Turn],
        tail: &[Turn],
        budget: Tokens,
        counter: &dyn TokenCounter,
    ) -> Result<Text, SummarizerError> {
        let said = |turn: &Turn| turn.provenance() == Provenance::Said;
        assert!(old.iter().all(said), "a summary of a summary");
        assert!(tail.iter().all(said), "a summary in the tail");
        FirstWords.summarize(old, tail, budget, counter)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn both_laws_hold_over_five_cycles(
        (window, later) in rounds(),
        target in 0..6_000_u64,
        keep_recent in prop_oneof![Just(0), 0..2_000_u64],
    ) {
        let mut cycle = Cycle::new(&FirstWords, target, keep_recent);
        let mut everything = ids(&window);
        let mut compressed = cycle.check(&window);
        for drafts in later {
            let before = compressed.len();
            let longer = append_all(&compressed, drafts);
            everything.extend(ids(&longer).into_iter().skip(before));
            compressed = cycle.check(&longer);
        }
        let expanded = compressed.expand(&cycle.archive).unwrap();
        prop_assert_eq!(ids(&expanded), everything, "all turns come back, in order");
    }

    #[test]
    fn every_summary_is_made_from_what_was_said(
        (window, later) in rounds(),
        target in 0..6_000_u64,
    ) {
        let mut cycle = Cycle::new(&FromOriginals, target, 0);
        let mut compressed = cycle.compress(&window).window;
        for drafts in later {
            compressed = cycle.compress(&append_all(&compressed, drafts)).window;
        }
    }

    #[test]
    fn without_a_summary_the_laws_hold_too((window, later) in rounds(), target in 0..3_000_u64) {
        let mut cycle = Cycle::new(&Broken, target, 0);
        let mut compressed = cycle.check(&window);
        for drafts in later {
            compressed = cycle.check(&append_all(&compressed, drafts));
        }
    }

    #[test]
    fn the_archive_gives_back_what_was_put(turns in window(8)) {
        let turns = turns.to_vec();
        let mut archive = MemoryArchive::new();
        for (index, turn) in turns.iter().enumerate() {
            let mark = context::archive::Place::after(turn.id());
            archive.put(mark, &turns[..=index]).unwrap();
        }
        for (index, turn) in turns.iter().enumerate() {
            let mark = context::archive::Place::after(turn.id());
            prop_assert_eq!(archive.get(mark).unwrap(), &turns[..=index]);
        }
    }

    #[test]
    fn a_smaller_target_says_no_more(window in window(16), targets in vec(0..6_000_u64, 2)) {
        let (low, high) = (targets[0].min(targets[1]), targets[0].max(targets[1]));
        let says = |target| Says::of(&Cycle::new(&FirstWords, target, 0).compress(&window).window);
        prop_assert!(says(low) <= says(high));
    }
}
