//! Needed-later recall of extractive compaction over the coding sessions, against its targets.

use context::Tokens;
use lab::recall::{CutKind, EvalOptions, RecallRow, Rules, Score, Strategy, Words, evaluate};
use tokens::{ModelCounter, Tokenizer};
use wire::session::load;

use crate::locate::corpus;

/// The rows of every Claude Code and pi session.
fn measure(rules: Rules) -> Option<Vec<RecallRow>> {
    let corpus = corpus()?;
    let counter = ModelCounter::new(Tokenizer::Cl100k);
    let options = EvalOptions {
        rules,
        ..EvalOptions::default()
    };
    let folders = ["entire-cli", "pi-mono/packages/coding-agent/test/fixtures"];
    let mut logs: Vec<_> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(corpus.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == "jsonl"))
        .collect();
    logs.sort();
    let mut rows = Vec::new();
    for path in logs {
        let title = path.file_stem().unwrap().to_string_lossy().into_owned();
        let document = load(&std::fs::read(&path).unwrap(), &title, &counter).unwrap();
        for session in &document.sessions {
            rows.extend(evaluate(session, &options, &counter));
        }
    }
    Some(rows)
}

/// The pooled shares of a strategy, named and in context, in percent; prints them.
#[track_caller]
fn shares(
    rows: &[RecallRow],
    strategy: Strategy,
    chosen: impl Fn(&RecallRow) -> bool,
) -> (f64, f64) {
    let mut score = Score::default();
    let mut places = 0;
    for row in rows
        .iter()
        .filter(|row| row.strategy == strategy && chosen(row))
    {
        assert!(row.tokens <= row.budget, "{row:?}");
        score += row.score;
        places += 1;
    }
    let named = 100.0 * score.named_share().expect("something is needed");
    let in_context = 100.0 * score.context_share().expect("something is needed");
    println!(
        "{:<16}{places:>3} places{:>5} needed{named:>7.1} % named{in_context:>7.1} % in context",
        strategy.as_str(),
        score.needed
    );
    (named, in_context)
}

fn fixed(budget: u64) -> impl Fn(&RecallRow) -> bool {
    move |row| row.place == CutKind::Fixed && row.budget == Tokens::new(budget)
}

fn product(row: &RecallRow) -> bool {
    matches!(row.place, CutKind::Product(_))
}

#[track_caller]
fn check(shares: (f64, f64), named: f64, in_context: f64) {
    assert!(shares.0 >= named && shares.1 >= in_context, "{shares:?}");
}

#[test]
fn the_targets_are_met_under_every_reading_of_words() {
    for words in [
        Words::Plain { shortest: 1 },
        Words::Plain { shortest: 3 },
        Words::Whole { shortest: 3 },
    ] {
        let rules = Rules {
            words,
            ..Rules::default()
        };
        let Some(rows) = measure(rules) else { return };
        println!("{words:?}");
        check(
            shares(&rows, Strategy::Extractive, fixed(2_000)),
            62.0,
            41.0,
        );
        check(
            shares(&rows, Strategy::Extractive, fixed(4_000)),
            91.0,
            60.0,
        );
    }
}

#[test]
fn it_keeps_what_the_products_own_summaries_forget() {
    let Some(rows) = measure(Rules::default()) else {
        return;
    };
    let (own, _) = shares(&rows, Strategy::Product, product);
    let ours = shares(&rows, Strategy::Extractive, product);
    assert!(own < 50.0 && ours.0 > own);
    check(ours, 87.0, 78.5);
}

#[test]
fn a_bare_list_of_identifiers_names_but_gives_no_context() {
    let Some(rows) = measure(Rules::default()) else {
        return;
    };
    let list = shares(&rows, Strategy::IdentifierList, fixed(2_000));
    let ours = shares(&rows, Strategy::Extractive, fixed(2_000));
    let newest = shares(&rows, Strategy::NewestText, fixed(2_000));
    assert!(ours.1 > 1.8 * list.1, "{ours:?} {list:?}");
    assert!(ours.0 > 2.0 * newest.0);
}
