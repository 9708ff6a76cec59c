//! Random conversations, tool steps of every kind included.

use context::classify::{Demands, Seed};
use context::linearity::ResourceClass;
use context::projector::{Summarizer, SummarizerError};
use context::turn::{Outcome, ToolCall, ToolResult};
use context::window::ContextWindow;
use context::{Heuristic, Part, Role, Text, TokenCounter, Tokens, Turn, TurnDraft};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

/// The size of all windows in these tests.
pub const LIMIT: Tokens = Tokens::new(20_000);

/// A conversation of up to `most` exchanges; the call ids in it are `prefix` and a number, the same
/// number now and then for two calls.
pub fn drafts(prefix: &'static str, most: usize) -> impl Strategy<Value = Vec<TurnDraft>> {
    vec(exchange(prefix), 0..most).prop_map(|exchanges| exchanges.concat())
}

/// The same window with further turns, said one after the other.
pub fn append_all(
    window: &ContextWindow,
    drafts: impl IntoIterator<Item = TurnDraft>,
) -> ContextWindow {
    let append = |window: ContextWindow, draft| window.append(draft, &Heuristic);
    drafts.into_iter().fold(window.clone(), append)
}

/// A window of random turns under one of the shipped classifiers.
pub fn window(most: usize) -> impl Strategy<Value = ContextWindow> {
    (drafts("c", most), any::<bool>()).prop_map(|(drafts, seed)| {
        let empty = if seed {
            ContextWindow::with_classifier(LIMIT, Arc::new(Seed))
        } else {
            ContextWindow::with_classifier(LIMIT, Arc::new(Demands::default()))
        };
        append_all(&empty, drafts)
    })
}

fn exchange(prefix: &'static str) -> impl Strategy<Value = Vec<TurnDraft>> {
    prop_oneof![
        3 => words().prop_map(|text| vec![TurnDraft::text(Role::Assistant, text)]),
        2 => words().prop_map(|text| vec![TurnDraft::text(Role::User, text)]),
        1 => Just(vec![TurnDraft::text(Role::User, "never touch the vendor folder")]),
        1 => Just(vec![TurnDraft::text(Role::User, "rename it, please")]),
        1 => words().prop_map(|text| vec![TurnDraft::text(Role::System, text)]),
        1 => words().prop_map(|text| {
            vec![TurnDraft::text(Role::Assistant, format!("Decision: {text}"))]
        }),
        4 => (1..4_usize, 0..50_usize, words(), answers())
            .prop_map(move |(calls, first, text, answers)| {
                tools(prefix, first..first + calls, &text, &answers)
            }),
    ]
}

fn words() -> impl Strategy<Value = String> {
    (1..120_usize).prop_map(|count| "some words that were said ".repeat(count))
}

/// For each call whether it is answered, and whether the answer comes in a turn of its own.
fn answers() -> impl Strategy<Value = Vec<(bool, bool)>> {
    vec((prop::bool::weighted(0.85), any::<bool>()), 3)
}

fn tools(
    prefix: &str,
    numbers: std::ops::Range<usize>,
    text: &str,
    answers: &[(bool, bool)],
) -> Vec<TurnDraft> {
    let id = |number: usize| format!("{prefix}{number}").as_str().into();
    let calls = numbers.clone().map(|number| {
        Part::Call(ToolCall {
            id: id(number),
            name: Text::from("read"),
            arguments: Text::from("{\"path\":\"a\"}"),
        })
    });
    let mut turns = vec![TurnDraft::said(Role::Assistant, calls.collect())];
    let mut together = Vec::new();
    for (number, &(answered, alone)) in numbers.zip(answers) {
        let result = Part::Result(ToolResult {
            call: id(number),
            text: text.into(),
            outcome: Outcome::Succeeded,
        });
        match (answered, alone) {
            (true, true) => turns.push(TurnDraft::said(Role::Tool, vec![result])),
            (true, false) => together.push(result),
            (false, _) => {}
        }
    }
    if !together.is_empty() {
        turns.push(TurnDraft::said(Role::Tool, together));
    }
    turns
}

/// A summariser for tests: the first words of each turn, as many turns as fit.
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
            let line: Vec<&str> = readable.split_whitespace().take(4).collect();
            let longer = format!("{out}- {}\n", line.join(" "));
            if counter.count(&longer) > budget {
                break;
            }
            out = longer;
        }
        Ok(out.into())
    }
}

/// A summariser that always fails.
pub struct Broken;

impl Summarizer for Broken {
    fn summarize(
        &self,
        _: &[Turn],
        _: &[Turn],
        _: Tokens,
        _: &dyn TokenCounter,
    ) -> Result<Text, SummarizerError> {
        Err(SummarizerError {
            reason: String::from("no model"),
        })
    }
}

/// The preserved turns of a window, in order.
pub fn preserved(window: &ContextWindow) -> Vec<Turn> {
    window.of_class(ResourceClass::Preserved).cloned().collect()
}
