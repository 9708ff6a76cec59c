//! Recorded sessions at the limit of their window: a replay without options reaches it where the product did,
//! and no strategy with guards sends more than fits.

use context::Tokens;
use conversation::homunculus::hosted::StrategyProgram;
use lab::{Options, RecallMeasure};

use crate::locate::corpus;
use crate::replay::{files, sessions};

#[test]
fn the_wall_is_where_the_product_met_it() {
    let Some(corpus) = corpus() else { return };
    let options = Options {
        recall: RecallMeasure::Skipped,
        strategies: StrategyProgram::all()
            .filter(|it| &**it.name() == "stop_the_world")
            .collect(),
        ..Options::default()
    };
    let logs = ["entire-cli", "pi-mono"].map(|folder| files(&corpus.join(folder), &["jsonl"]));
    let (mut compacted, mut found) = (0, Vec::new());
    for path in logs.into_iter().flatten() {
        for session in &sessions(&path) {
            if session.compactions.is_empty() {
                continue;
            }
            compacted += 1;
            let comparison = lab::replay::run(session, &options, &mut |_| ()).unwrap();
            let boundaries = comparison.strategies[0].boundaries;
            found.push((
                session.title.clone(),
                comparison.simulation.room(),
                boundaries,
            ));
        }
    }
    assert!(compacted >= 9, "{compacted}");
    let missed: Vec<_> = found.iter().filter(|it| it.2 == 0).collect();
    assert!(missed.is_empty(), "{missed:?}\n{found:?}");
}

#[test]
fn what_can_be_made_to_fit_is_made_to_fit_in_a_small_window() {
    let Some(corpus) = corpus() else { return };
    let guarded = ["prepared", "thrifty", "cold_cache"];
    let options = Options {
        recall: RecallMeasure::Skipped,
        window: Some(Tokens::new(16_000)),
        strategies: StrategyProgram::all()
            .filter(|it| guarded.contains(&&**it.name()))
            .collect(),
        ..Options::default()
    };
    // Steps of 94 % of the window, and one that is larger than the window.
    let names = ["2026-01-13-44df", "67d765b5"];
    let is_meant = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        names.iter().any(|it| name.starts_with(it))
    };
    let logs = files(&corpus.join("entire-cli"), &["jsonl"]);
    let mut replayed = 0;
    for path in logs.iter().filter(|path| is_meant(path)) {
        for session in &sessions(path) {
            let comparison = lab::replay::run(session, &options, &mut |_| ()).unwrap();
            for result in &comparison.strategies {
                replayed += 1;
                let over = result.overflows;
                let (name, title) = (&result.strategy, &session.title);
                assert_eq!(over.requests, over.unavoidable, "{name}: {title}");
            }
        }
    }
    assert_eq!(replayed, names.len() * guarded.len());
}
