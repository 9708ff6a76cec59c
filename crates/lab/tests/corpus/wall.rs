//! Of the recorded sessions that their product compacted, a replay without options reaches the limit.

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
