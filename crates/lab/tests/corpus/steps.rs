//! Steps, cuts, splits and compressions of every session of the corpus.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context::archive::MemoryArchive;
use context::classify::Demands;
use context::cut::{Cuts, Rule};
use context::linearity::ResourceClass;
use context::projector::{ContextProjector, Summarizer, SummarizerError, TargetOutcome};
use context::split::{CompactionRatio, by_ratio, by_tokens};
use context::step::{StepKind, steps};
use context::window::ContextWindow;
use context::{Heuristic, Role, Text, TokenCounter, Tokens, Turn};
use wire::session::load;

use crate::locate::corpus;

/// Every session of the corpus that can be read, by its title.
pub fn sessions(corpus: &Path) -> Vec<(String, Vec<Turn>)> {
    let mut out = Vec::new();
    for path in transcripts(corpus) {
        let bytes = std::fs::read(&path).unwrap();
        let title = path.file_stem().unwrap().to_string_lossy();
        let Ok(document) = load(&bytes, &title, &Heuristic) else {
            continue;
        };
        let named = document.sessions.into_iter();
        out.extend(named.map(|session| (session.title, session.turns)));
    }
    assert!(out.len() >= 23, "only {} sessions were read", out.len());
    out
}

fn transcripts(corpus: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = ["entire-cli", "pi-mono", "tau-bench", "swe-agent"]
        .map(|folder| corpus.join(folder))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            match extension {
                _ if path.is_dir() => folders.push(path),
                Some("jsonl" | "json" | "traj") => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The number of results that have no call before them, each call answered once.
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

#[test]
fn steps_partition_every_session() {
    let Some(corpus) = corpus() else { return };
    let mut kinds: HashMap<StepKind, usize> = HashMap::new();
    for (title, turns) in sessions(&corpus) {
        let mut next = 0;
        for step in steps(&turns) {
            assert_eq!(step.turns().start, next, "{title}");
            next = step.turns().end;
            *kinds.entry(step.kind()).or_default() += 1;
        }
        assert_eq!(next, turns.len(), "{title}");
    }
    for kind in [StepKind::Complete, StepKind::Aborted, StepKind::Stray] {
        assert!(kinds.contains_key(&kind), "no {kind:?} step: {kinds:?}");
    }
}

#[test]
fn no_step_swallows_a_session() {
    let Some(corpus) = corpus() else { return };
    for (title, turns) in sessions(&corpus) {
        let longest = steps(&turns)
            .iter()
            .map(|step| step.turns().len())
            .max()
            .unwrap_or(0);
        assert!(longest <= 40, "{title}: a step of {longest} turns");
    }
}

#[test]
fn every_legal_cut_keeps_calls_with_their_results() {
    let Some(corpus) = corpus() else { return };
    for (title, turns) in sessions(&corpus) {
        let all = orphans(&turns);
        // Each cut on its own is quadratic; 60 of them, spread over the session, are enough.
        let legal: Vec<usize> = steps(&turns)
            .iter()
            .map(|step| step.turns().start)
            .collect();
        for &at in legal.iter().step_by(legal.len() / 60 + 1) {
            let (old, kept) = turns.split_at(at);
            assert_eq!(orphans(old) + orphans(kept), all, "{title} at {at}");
        }
    }
}

#[test]
fn every_split_is_legal() {
    let Some(corpus) = corpus() else { return };
    for (title, turns) in sessions(&corpus) {
        let cuts = Cuts::of(&turns);
        for rule in [Rule::Steps, Rule::Provider] {
            let by_size =
                [0, 2_000, 8_000, 20_000].map(|keep| by_tokens(&turns, Tokens::new(keep), rule));
            let by_share = [0.2, 0.5, 0.8]
                .map(|ratio| by_ratio(&turns, CompactionRatio::new(ratio).unwrap(), rule));
            for cut in by_size.into_iter().chain(by_share) {
                assert!(cut == 0 || cuts.is_cut(cut, rule), "{title}: {cut}");
                check_provider(cut, rule, &turns, &title);
            }
        }
    }
}

fn check_provider(cut: usize, rule: Rule, turns: &[Turn], title: &str) {
    let (old, kept) = turns.split_at(cut);
    assert!(
        turns.is_empty() || !kept.is_empty(),
        "{title}: nothing kept"
    );
    if let (Rule::Provider, Some(last), Some(first)) = (rule, old.last(), kept.first()) {
        assert_ne!(last.role(), first.role(), "{title}: {cut}");
        assert_ne!(first.role(), Role::System, "{title}: {cut}");
        assert_eq!(first.results().count(), 0, "{title}: {cut}");
    }
}

/// The first words of each turn, as many turns as fit.
struct FirstWords;

impl Summarizer for FirstWords {
    fn summarize(
        &self,
        old: &[Turn],
        _: &[Turn],
        budget: Tokens,
        counter: &dyn TokenCounter,
    ) -> Result<Text, SummarizerError> {
        let mut out = String::new();
        for turn in old {
            let readable = turn.readable();
            let words: Vec<&str> = readable.split_whitespace().take(6).collect();
            out.push_str(&words.join(" "));
            out.push('\n');
            if counter.count(&out) > budget {
                break;
            }
        }
        Ok(out.into())
    }
}

#[test]
fn compression_keeps_what_is_preserved_and_never_grows() {
    let Some(corpus) = corpus() else { return };
    let projector = ContextProjector::new(&FirstWords, &Heuristic);
    for (title, turns) in sessions(&corpus) {
        let classifier = Arc::new(Demands::default());
        let window = ContextWindow::from_turns(Tokens::new(200_000), classifier, turns);
        let mut archive = MemoryArchive::new();
        for share in [0.5, 0.2, 0.05] {
            let target = window.tokens().scaled(share);
            let compression = projector.compress(&window, target, &mut archive).unwrap();
            let small = &compression.window;
            let preserved = |window: &ContextWindow| {
                let turns = window.of_class(ResourceClass::Preserved);
                turns.cloned().collect::<Vec<_>>()
            };
            assert_eq!(preserved(small), preserved(&window), "{title}");
            assert!(small.tokens() <= window.tokens(), "{title}");
            let reached = compression.outcome != TargetOutcome::Unreachable;
            assert_eq!(reached, small.tokens() <= target, "{title}");
            assert_eq!(
                small.expand(&archive).unwrap().to_vec(),
                window.to_vec(),
                "{title}"
            );
            assert_eq!(
                orphans(&small.to_vec()),
                orphans_left(&window, small),
                "{title}"
            );
        }
    }
}

/// The results without a call that stood in the original and are still shown.
fn orphans_left(full: &ContextWindow, small: &ContextWindow) -> usize {
    let turns = full.to_vec();
    steps(&turns)
        .iter()
        .filter(|step| step.kind() == StepKind::Stray)
        .flat_map(|step| step.of(&turns))
        .filter(|turn| small.class_of(turn.id()).is_some())
        .map(|turn| turn.results().count())
        .sum()
}
