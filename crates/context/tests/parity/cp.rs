//! CP: the projector.

use context::archive::{Archive, ArchiveError, MemoryArchive, Place};
use context::extract::Extractive;
use context::linearity::ResourceClass::{Droppable, Preserved, Required};
use context::projector::{
    Compression, ContextProjector, Summarizer, SummarizerError, SummaryOutcome, TargetOutcome,
};
use context::summary;
use context::window::ContextWindow;
use context::{Heuristic, Provenance, Role, Text, TokenCounter, Tokens, Turn, TurnDraft};

use crate::{append_all, empty, said, texts};

const U: Role = Role::User;
const A: Role = Role::Assistant;
const S: Role = Role::System;

/// The first words of each turn, as many turns as fit.
pub struct FirstWords;

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
            let words: Vec<&str> = readable.split_whitespace().take(4).collect();
            let longer = format!("{out}- {}\n", words.join(" "));
            if counter.count(&longer) > budget {
                break;
            }
            out = longer;
        }
        Ok(out.into())
    }
}

/// A summariser that says more than there was.
struct Longer;

impl Summarizer for Longer {
    fn summarize(
        &self,
        old: &[Turn],
        _: &[Turn],
        _: Tokens,
        _: &dyn TokenCounter,
    ) -> Result<Text, SummarizerError> {
        let all: String = old.iter().map(Turn::readable).collect();
        Ok(all.repeat(2).into())
    }
}

fn compress(window: &ContextWindow, target: u64) -> Compression {
    ContextProjector::new(&FirstWords, &Heuristic)
        .compress(window, Tokens::new(target), &mut MemoryArchive::new())
        .unwrap()
}

fn long() -> String {
    "some words ".repeat(120)
}

/// `count` turns of the model, each of about 330 tokens, numbered from 0.
fn model(count: usize) -> ContextWindow {
    let drafts = (0..count).map(|at| TurnDraft::text(A, format!("{at} {}", long())));
    append_all(&empty(10_000), drafts)
}

fn numbers(window: &ContextWindow) -> Vec<String> {
    let first = |text: String| text.split(' ').next().unwrap().to_owned();
    window
        .turns()
        .filter(|turn| turn.provenance() == Provenance::Said)
        .map(Turn::readable)
        .map(first)
        .collect()
}

#[test]
fn cp_1_what_fits_is_not_summed_up() {
    let window = said(1_000, &[(S, &long()), (A, &long())]);
    let compression = compress(&window, 1_000);
    assert_eq!(compression.window, window);
    assert_eq!(compression.summary, SummaryOutcome::NotNeeded);
}

#[test]
fn cp_2_a_summary_has_a_budget() {
    let drafts = (0..20).map(|at| TurnDraft::text(S, format!("{at} {}", long())));
    let window = append_all(&empty(10_000), drafts);
    let compression = compress(&window, 800);
    assert_eq!(compression.outcome, TargetOutcome::Reached);
    assert!(compression.after <= Tokens::new(800));
}

#[test]
fn cp_3_a_summary_carries_something_of_its_source() {
    let window = said(1_000, &[(S, "sentence one. sentence two."), (S, &long())]);
    let compression = compress(&window, 200);
    assert_eq!(compression.summary, SummaryOutcome::Written);
    assert!(texts(&compression.window).concat().contains("sentence"));
}

#[test]
fn cp_4_the_ratio() {
    let compression = compress(&model(8), 1_330);
    let ratio = compression.after.as_f64() / compression.before.as_f64();
    assert_eq!(compression.ratio(), ratio);
    assert!(compression.ratio() <= 0.5);
}

#[test]
fn cp_5_the_ratio_of_nothing_is_one() {
    assert_eq!(compress(&empty(100), 0).ratio(), 1.0);
}

#[test]
fn cp_6_every_setting_has_an_effect() {
    let window = model(8);
    let mut archive = MemoryArchive::new();
    let shown = |keep: u64, archive: &mut MemoryArchive| {
        let projector =
            ContextProjector::new(&FirstWords, &Heuristic).keep_recent(Tokens::new(keep));
        numbers(
            &projector
                .compress(&window, Tokens::ZERO, archive)
                .unwrap()
                .window,
        )
    };
    assert_eq!(shown(0, &mut archive), Vec::<String>::new());
    assert_eq!(shown(1, &mut archive), ["7"]);
    assert_eq!(shown(700, &mut archive), ["6", "7"]);
}

#[test]
fn cp_7_an_empty_window_stays_empty() {
    let compression = compress(&empty(100), 0);
    assert!(compression.window.is_empty() && compression.dropped.is_empty());
}

#[test]
fn cp_8_the_users_turns_remain_around_a_long_answer() {
    let window = said(100, &[(U, "first"), (A, &long()), (U, "second")]);
    let compression = compress(&window, 10);
    assert_eq!(compression.preserved, 2);
    let kept: Vec<String> = compression
        .window
        .of_class(Preserved)
        .map(Turn::readable)
        .collect();
    assert_eq!(kept, ["first", "second"]);
    assert_eq!(compression.dropped.len(), 1);
}

#[test]
fn cp_9_preserved_turns_stay_even_where_they_do_not_fit() {
    let window = said(50, &[(U, &long()), (U, &long())]);
    let compression = compress(&window, 5);
    assert_eq!(compression.preserved, 2);
    assert_eq!(
        compression.outcome,
        TargetOutcome::Unreachable,
        "and it says so"
    );
    assert_eq!(compression.window, window);
}

#[test]
fn cp_10_compressions_are_counted_only_where_something_changed() {
    let window = model(8);
    assert_eq!(compress(&window, 1_000).window.compactions(), 1);
    assert_eq!(compress(&window, 100_000).window.compactions(), 0);
}

#[test]
fn cp_11_two_long_answers_get_smaller() {
    assert!(compress(&model(2), 100).ratio() < 1.0);
}

#[test]
fn cp_12_the_class_says_what_remains() {
    let window = said(
        5_000,
        &[(S, "be kind"), (U, "hello"), (A, &long()), (U, "bye")],
    );
    let small = compress(&window, 0).window;
    assert_eq!(small.by_role(A).count(), 0);
    assert_eq!(small.of_class(Preserved).count(), 2);
}

#[test]
fn cp_13_required_turns_are_summed_up_and_droppable_ones_dropped() {
    let none = compress(&said(5_000, &[(S, &long()), (A, &long())]), 0);
    assert_eq!((none.summarised.len(), none.dropped.len()), (1, 1));
}

#[test]
fn cp_21_the_target_is_given_each_time_and_zero_is_a_target() {
    let window = model(4);
    assert!(compress(&window, 700).after <= Tokens::new(700));
    let nothing = compress(&window, 0);
    assert_eq!(nothing.dropped.len(), 4);
    assert_eq!(nothing.outcome, TargetOutcome::Unreachable);
}

#[test]
fn cp_22_an_overfull_window_does_not_grow() {
    for target in [0, 100, 1_000, 2_000, 5_000] {
        let compression = compress(&model(12), target);
        assert!(compression.after <= compression.before);
    }
}

#[test]
fn cp_23_below_the_target_nothing_is_done() {
    let window = model(3);
    let calm = compress(&window, window.tokens().get());
    assert_eq!(
        (calm.window, calm.outcome),
        (window.clone(), TargetOutcome::Unchanged)
    );
    assert_eq!(compress(&window, 500).outcome, TargetOutcome::Reached);
}

#[test]
fn cp_24_all_droppable_turns_go_before_a_required_one() {
    let decision = format!("Decision: {}", long());
    let window = said(
        1_000,
        &[(U, "hello"), (A, &decision), (A, &long()), (A, &long())],
    );
    let compression = compress(&window, 100);
    assert_eq!(compression.preserved, 1);
    assert_eq!(
        (compression.dropped.len(), compression.summarised.len()),
        (2, 1)
    );
    assert_eq!(compression.window.of_class(Droppable).count(), 0);
    assert_eq!(compression.summary, SummaryOutcome::Written);
    let gentle = compress(&window, 850);
    assert_eq!((gentle.dropped.len(), gentle.summarised.len()), (1, 0));
}

#[test]
fn cp_25_ten_answers_get_smaller() {
    let compression = compress(&model(10), 1_000);
    assert!(compression.ratio() < 1.0 && !compression.dropped.is_empty());
    assert_eq!(
        numbers(&compression.window).last().unwrap(),
        "9",
        "the oldest go first"
    );
}

#[test]
fn cp_26_five_user_turns_stay() {
    let texts = [(U, "a"), (U, "b"), (U, "c"), (U, "d"), (U, "e")];
    let compression = compress(&said(10, &texts), 1);
    assert_eq!((compression.preserved, compression.dropped.len()), (5, 0));
}

#[test]
fn cp_27_answers_are_dropped() {
    assert!(!compress(&model(10), 2_000).dropped.is_empty());
}

#[test]
fn cp_28_a_mixed_window() {
    let decision = format!("Therefore {}", long());
    let window = said(
        1_200,
        &[
            (S, "be kind"),
            (U, "hello"),
            (A, &long()),
            (A, &decision),
            (U, "bye"),
        ],
    );
    let compression = compress(&window, 360);
    assert_eq!(compression.preserved, 2);
    assert_eq!(compression.outcome, TargetOutcome::Reached);
}

#[test]
fn a_second_and_a_third_compression_lose_nothing_that_is_preserved() {
    let mut archive = MemoryArchive::new();
    let projector = ContextProjector::new(&FirstWords, &Heuristic);
    let mut window = said(2_000, &[(S, "be kind"), (U, "hello")]);
    for round in 0..4 {
        let user = format!("round {round}");
        let answers = [TurnDraft::text(A, long()), TurnDraft::text(A, long())];
        window = append_all(
            &window.append(TurnDraft::text(U, user), &Heuristic),
            answers,
        );
        window = projector
            .compress(&window, Tokens::new(300), &mut archive)
            .unwrap()
            .window;
    }
    let kept: Vec<String> = window.of_class(Preserved).map(Turn::readable).collect();
    assert_eq!(kept, ["hello", "round 0", "round 1", "round 2", "round 3"]);
    assert_eq!(window.expand(&archive).unwrap().len(), 2 + 4 * 3);
}

#[test]
fn a_summary_that_is_too_long_is_refused_and_the_turns_stay() {
    let decision = format!("Decision: {}", long());
    let window = said(1_000, &[(A, &decision), (A, &long())]);
    let compression = ContextProjector::new(&Longer, &Heuristic)
        .compress(&window, Tokens::new(50), &mut MemoryArchive::new())
        .unwrap();
    assert_eq!(compression.summary, SummaryOutcome::NoGain);
    assert_eq!(
        compression.window.of_class(Required).count(),
        2,
        "the decision and the stand-in"
    );
    assert_eq!(
        (compression.dropped.len(), compression.summarised.len()),
        (1, 0)
    );
}

#[test]
fn the_stand_in_says_what_is_missing_and_how_to_get_it_back() {
    let compression = compress(&model(8), 1_000);
    let behind = compression.window.compacted().unwrap();
    let stand_in = compression.window.peek(1).unwrap();
    assert_eq!(stand_in.id(), behind.stand_in());
    assert_eq!(
        (stand_in.role(), stand_in.provenance()),
        (U, Provenance::Summary)
    );
    let text = stand_in.readable();
    assert!(
        text.contains(&format!(
            "{} of the turns are left out",
            compression.dropped.len()
        )),
        "{text}"
    );
    assert!(text.contains(&behind.mark().to_string()), "{text}");
    assert!(summary::is_summary(&text), "{text}");
}

#[test]
fn a_summary_with_a_marker_of_its_own_gets_no_second_one() {
    let window = said(1_000, &[(S, "sentence one. sentence two."), (S, &long())]);
    let compression = ContextProjector::new(&Extractive, &Heuristic)
        .compress(&window, Tokens::new(300), &mut MemoryArchive::new())
        .unwrap();
    assert_eq!(compression.summary, SummaryOutcome::Written);
    let text = compression.window.peek(1).unwrap().readable();
    let marker = summary::marker(&summary::Replaced::default(), 0, None);
    let opening = marker.split(" It replaces").next().unwrap();
    assert_eq!(text.matches(opening).count(), 1, "{text}");
    let read = summary::Summary::parse(&text);
    assert_eq!(read.summary.replaced.turns, 2);
}

/// An archive that has lost everything.
struct Lost;

impl Archive for Lost {
    fn put(&mut self, _: Place, _: &[Turn]) -> Result<(), ArchiveError> {
        Err(ArchiveError::Unavailable {
            reason: String::from("disk full"),
        })
    }

    fn get(&self, mark: Place) -> Result<Vec<Turn>, ArchiveError> {
        Err(ArchiveError::Missing { mark })
    }
}

#[test]
fn nothing_is_taken_out_that_the_archive_does_not_keep() {
    let window = model(8);
    let projector = ContextProjector::new(&FirstWords, &Heuristic);
    let refused = projector.compress(&window, Tokens::new(1_000), &mut Lost);
    assert!(matches!(refused, Err(ArchiveError::Unavailable { .. })));
    let small = compress(&window, 1_000).window;
    assert!(matches!(
        small.expand(&Lost),
        Err(ArchiveError::Missing { .. })
    ));
}

#[test]
fn what_the_model_sees_before_and_after() {
    let texts = [
        (S, "You are a careful engineer."),
        (U, "Never touch the vendor folder."),
        (A, &*long()),
        (A, "Decision: use the small parser."),
        (U, "Good. Go on."),
        (A, &*long()),
        (U, "What is left?"),
    ];
    let window = said(1_000, &texts);
    insta::assert_snapshot!("before", window.outline());
    insta::assert_snapshot!("after", compress(&window, 560).window.outline());
}
