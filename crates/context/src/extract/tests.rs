//! Tests of extractive compaction: budget, determinism, nothing invented, what must be there.

use proptest::prelude::*;

use super::{Extractive, extract, ledger};
use crate::counter::{Heuristic, TokenCounter};
use crate::identifiers;
use crate::projector::Summarizer;
use crate::summary::{Field, Replaced, Summary, is_summary, one_line};
use crate::turn::{Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};
use crate::units::Tokens;

fn placed(drafts: impl IntoIterator<Item = TurnDraft>) -> Vec<Turn> {
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

fn call(name: &str, arguments: &str) -> TurnDraft {
    TurnDraft::said(
        Role::Assistant,
        vec![Part::Call(ToolCall {
            id: "one".into(),
            name: name.into(),
            arguments: arguments.into(),
        })],
    )
}

fn result(text: &str, outcome: Outcome) -> TurnDraft {
    TurnDraft::said(
        Role::Tool,
        vec![Part::Result(ToolResult {
            call: "one".into(),
            text: text.into(),
            outcome,
        })],
    )
}

fn small_session() -> Vec<Turn> {
    placed([
        TurnDraft::text(
            Role::User,
            "Make the importer keep the row order. Never touch the schema.",
        ),
        call("Read", r#"{"file_path":"src/import/rows.rs"}"#),
        result(
            "    1→fn load_rows(path: &Path) -> Vec<Row> {\n    2→    let batch_size = 4096;\n    3→}",
            Outcome::Succeeded,
        ),
        TurnDraft::text(
            Role::Assistant,
            "The root cause is the parallel reader in load_rows. I'll use an ordered channel.",
        ),
        call(
            "Bash",
            r#"{"command":"cargo test --no-fail-fast import_keeps_order"}"#,
        ),
        result(
            "error: test import_keeps_order failed at row 812",
            Outcome::Failed,
        ),
        call(
            "TodoWrite",
            r#"{"todos":[{"content":"sort the batches","status":"in_progress"},{"content":"run all tests","status":"pending"}]}"#,
        ),
        TurnDraft::text(
            Role::Assistant,
            "Next I will sort the batches by their offset.",
        ),
    ])
}

#[test]
fn a_small_session() {
    let turns = small_session();
    insta::assert_snapshot!(extract(&turns, &[], Tokens::new(600), &Heuristic).render());
}

#[test]
fn every_field_says_who_said_it() {
    let turns = small_session();
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let demands = summary.entries(Field::Decisions).join("\n");
    assert!(
        demands.contains("user: Make the importer keep the row order. Never touch the schema."),
        "{demands}"
    );
    assert!(demands.contains("assistant: The root cause"), "{demands}");
    let failed = summary.entries(Field::DeadEnds).join("\n");
    assert!(failed.contains("a tool failed: error: test"), "{failed}");
    let next = summary.entries(Field::NextSteps).join("\n");
    assert!(next.contains("to do: run all tests"), "{next}");
    let task = summary.entries(Field::Task).join("\n");
    assert!(task.contains("sort the batches"), "{task}");
}

#[test]
fn preserved_turns_stand_in_full_and_once() {
    let constraint = "Never write to the production database from a test, not even in a dry run.";
    let filler = |number: usize| {
        TurnDraft::text(
            Role::Assistant,
            format!("Read file{number}.rs and went on. ").repeat(40),
        )
    };
    let mut drafts = vec![TurnDraft::text(Role::User, constraint)];
    drafts.extend((0..40).map(filler));
    let turns = placed(drafts);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let decisions = summary.entries(Field::Decisions);
    assert_eq!(decisions.first(), Some(&format!("user: {constraint}")));
    let said = decisions
        .iter()
        .filter(|entry| entry.contains("production database"));
    assert_eq!(said.count(), 1);
}

#[test]
fn what_the_tail_shows_is_not_repeated() {
    let turns = small_session();
    let (old, tail) = turns.split_at(5);
    let summary = extract(old, tail, Tokens::new(900), &Heuristic);
    let quoted: Vec<_> = [Field::Facts, Field::Ledger]
        .into_iter()
        .flat_map(|field| summary.entries(field))
        .collect();
    assert!(
        quoted.iter().any(|entry| entry.contains("batch_size")),
        "{quoted:?}"
    );
    assert!(
        !quoted
            .iter()
            .any(|entry| entry.trim() == "import_keeps_order")
    );
}

#[test]
fn a_ledger_adds_only_what_is_missing() {
    let turns = small_session();
    let already = "We edit src/import/rows.rs and load_rows.";
    let lines = ledger(&turns, &[], already, Tokens::new(60), &Heuristic).join("\n");
    assert!(identifiers::mentions(&lines, "batch_size"), "{lines}");
    let with_all = format!("{already} {lines}");
    assert!(ledger(&turns, &[], &with_all, Tokens::new(60), &Heuristic).is_empty());
}

#[test]
fn as_a_summariser_it_never_fails() {
    let turns = small_session();
    let text = Extractive
        .summarize(&turns, &[], Tokens::new(400), &Heuristic)
        .expect("no model, no failure");
    assert!(is_summary(&text));
}

/// The source as [`extract`] quotes it: one line, escapes undone, without line numbers.
fn quotable(turns: &[Turn]) -> String {
    super::source::pieces(turns)
        .iter()
        .map(|piece| one_line(&piece.text) + "\n")
        .collect()
}

fn random_turns() -> impl Strategy<Value = Vec<Turn>> {
    let word = prop_oneof![
        Just("the".to_owned()),
        Just("must".to_owned()),
        Just("reads\n".to_owned()),
        Just("größe".to_owned()),
        Just("漢字、".to_owned()),
        "[a-z]{2,6}_[a-z]{2,6}",
        "[a-z]{2,5}/[a-z]{2,5}\\.rs",
        "[0-9]{3,5}",
        "--[a-z]{2,6}",
        "[ -~]{1,8}",
    ];
    let text = prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "));
    let draft = (0_usize..5, text).prop_map(|(who, text)| match who {
        0 => TurnDraft::text(Role::User, text),
        1 => TurnDraft::text(Role::Assistant, text),
        2 => call(
            "Edit",
            &format!("{{\"text\":{}}}", serde_json::Value::from(text)),
        ),
        3 => result(&text, Outcome::Failed),
        _ => result(&text, Outcome::Succeeded),
    });
    prop::collection::vec(draft, 0..12).prop_map(placed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_budget_is_never_exceeded(old in random_turns(), tail in random_turns(), budget in 0_u64..1_500) {
        let budget = Tokens::new(budget);
        let summary = extract(&old, &tail, budget, &Heuristic);
        let empty = Summary::new(Replaced {
            turns: old.len(),
            tokens: old.iter().map(Turn::tokens).sum(),
        });
        let least = empty.tokens(&Heuristic);
        prop_assert!(summary.tokens(&Heuristic) <= budget.max(least));
        prop_assert_eq!(&summary, &extract(&old, &tail, budget, &Heuristic));
        let lines = ledger(&old, &tail, "", budget, &Heuristic);
        let listed: String = lines.iter().map(|line| format!("- {line}\n")).collect();
        prop_assert!(Heuristic.count(&listed) <= budget);
    }

    #[test]
    fn every_fragment_is_verbatim(old in random_turns(), budget in 100_u64..1_500) {
        let summary = extract(&old, &[], Tokens::new(budget), &Heuristic);
        let source = quotable(&old);
        for entry in summary.entries(Field::Facts) {
            let quoted = entry.strip_prefix("user: ").unwrap_or(entry);
            for fragment in quoted.split(" … ") {
                prop_assert!(source.contains(fragment), "{fragment:?} in {source:?}");
            }
        }
        for entry in summary.entries(Field::Ledger) {
            for found in identifiers::scan(entry) {
                prop_assert!(identifiers::mentions(&source, found.text), "{:?}", found.text);
            }
        }
    }
}
