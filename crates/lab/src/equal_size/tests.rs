//! Counts are put together, and a table says what it is about.

use context::Heuristic;
use wire::session::load;

use super::{EqualSize, EqualSizeRow, board, measure, pooled};
use crate::compare::Comparison;
use crate::options::{Options, RecallMeasure};
use crate::replay::run;

/// A log of chat messages of about `tokens` tokens, in which the last message repeats a path from
/// the first.
fn log(tokens: usize) -> Vec<u8> {
    let filler = "the parser reads the next line and looks at it. ".repeat(40);
    let mut said = vec![(
        "user",
        "Look at src/parser/lexer_state.rs, it fails on port 48213.".to_owned(),
    )];
    while said.len() * 490 < tokens {
        said.push(("assistant", filler.clone()));
        said.push(("user", filler.clone()));
    }
    said.push((
        "assistant",
        "So src/parser/lexer_state.rs binds 48213 twice.".to_owned(),
    ));
    let messages: Vec<_> = said
        .into_iter()
        .map(|(role, text)| serde_json::json!({ "role": role, "content": text }))
        .collect();
    serde_json::to_vec(&messages).expect("JSON")
}

fn replayed(tokens: usize) -> Comparison {
    let document = load(&log(tokens), "made", &Heuristic).expect("loads");
    let session = document.sessions.first().expect("a session");
    run(session, &Options::default(), &mut |_| {}).expect("runs")
}

fn row(budget_tokens: u64, place: &'static str, counts: [usize; 3]) -> EqualSizeRow {
    let [needed, named, in_context] = counts;
    EqualSizeRow {
        place,
        before_turn: 9,
        way: "extractive",
        budget_tokens,
        tokens: budget_tokens,
        needed,
        named,
        in_context,
    }
}

#[test]
fn a_session_is_measured_at_the_fixed_cut() {
    let comparison = replayed(70_000);
    let recall = &comparison.recall;
    assert_eq!((recall.cut_tokens, recall.tail_tokens), (60_000, 8_000));
    assert_eq!(recall.absent, None);
    assert_eq!(recall.rows.len(), 6, "three ways at two budgets");
    for row in &recall.rows {
        assert!(
            row.tokens <= row.budget_tokens && row.place == "fixed",
            "{row:?}"
        );
        assert!(
            row.in_context <= row.named && row.named <= row.needed,
            "{row:?}"
        );
        assert_eq!(row.needed, 2, "the path and the port");
    }
    let ours = recall.rows.first().expect("a row");
    assert_eq!((ours.way, ours.named), ("extractive", 2));
}

#[test]
fn what_was_not_measured_says_why() {
    let comparison = replayed(2_000);
    assert!(comparison.recall.rows.is_empty());
    let reason = comparison.recall.absent.as_deref().expect("a reason");
    assert!(reason.ends_with("never reaches 60000"), "{reason}");
    assert_eq!(board(&[comparison]), None);
    let document = load(&log(2_000), "made", &Heuristic).expect("loads");
    let skipped = measure(&document.sessions[0], RecallMeasure::Skipped);
    assert_eq!(skipped.absent.as_deref(), Some("recall was not requested"));
}

#[test]
fn sessions_are_put_together_by_count() {
    let with = |rows| Comparison {
        recall: EqualSize {
            cut_tokens: 60_000,
            rows,
            ..EqualSize::default()
        },
        ..replayed(500)
    };
    let all = [
        with(vec![
            row(1_234, "product", [4, 4, 4]),
            row(2_000, "fixed", [30, 30, 15]),
        ]),
        with(vec![
            row(987, "product", [4, 0, 0]),
            row(2_000, "fixed", [10, 0, 0]),
        ]),
    ];
    let pools = pooled(&all);
    let found: Vec<_> = pools
        .iter()
        .map(|pool| {
            (
                pool.place,
                pool.budget_tokens,
                pool.places,
                pool.named_share,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("fixed", Some(2_000), 2, Some(0.75)),
            ("product", None, 2, Some(0.5)),
        ]
    );
    let board = board(&all).expect("a table");
    let heads: Vec<_> = board
        .columns
        .iter()
        .map(|column| (column.budget.as_str(), column.cells.join(" ")))
        .collect();
    assert_eq!(
        heads,
        [
            ("2,000:", "75 %".to_owned()),
            ("2,000:", "38 %".to_owned()),
            ("own size:", "50 %".to_owned()),
            ("own size:", "50 %".to_owned()),
        ]
    );
    assert!(
        board.note.contains("2 cuts, 40 identifiers needed"),
        "{}",
        board.note
    );
}

#[test]
fn no_sessions_make_no_table() {
    assert!(pooled(&[]).is_empty() && board(&[]).is_none());
}
