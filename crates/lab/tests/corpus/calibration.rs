//! The estimate for Claude against what the provider reported for real sessions, before and after
//! calibration.

use context::Tokens;
use tokens::{Calibration, Growth, counter_for};
use wire::session::{Session, load};

use crate::locate::corpus;

/// The readings of a session: by how much each request grew, estimated and reported.
fn learn(session: &Session, model: &str, calibration: &mut Calibration) {
    let mut growth = Growth::default();
    for usage in &session.usage {
        let said: Tokens = session.turns[..usage.turn]
            .iter()
            .map(context::Turn::tokens)
            .sum();
        let reported = usage.input + usage.cache_read + usage.cache_write;
        if let Some(reading) = growth.next(said, reported) {
            calibration.observe(model, reading);
        }
    }
}

#[test]
fn calibration_brings_the_estimate_closer_to_reported_usage() {
    let Some(corpus) = corpus() else { return };
    let counter = counter_for("claude-opus-4-5");
    let mut logs: Vec<_> = std::fs::read_dir(corpus.join("entire-cli"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == "jsonl"))
        .collect();
    logs.sort();
    let (mut before, mut after, mut fits) = (0.0, 0.0, 0.0);
    println!("session                       readings  factor  error before  after");
    for path in logs {
        let title = path.file_stem().unwrap().to_string_lossy().into_owned();
        let document = load(&std::fs::read(&path).unwrap(), &title, counter.as_ref()).unwrap();
        for session in &document.sessions {
            let model = session.model.as_deref().unwrap_or("claude");
            let mut calibration = Calibration::new();
            learn(session, model, &mut calibration);
            let Some(fit) = calibration.fit(model) else {
                continue;
            };
            println!(
                "{title:<30.30}{:>8}{:>8.3}{:>13.1} %{:>6.1} %",
                fit.readings,
                fit.factor,
                100.0 * fit.error_before,
                100.0 * fit.error_after
            );
            before += fit.error_before;
            after += fit.error_after;
            fits += 1.0;
        }
    }
    println!(
        "mean of {fits} sessions: {:.1} % before, {:.1} % after",
        100.0 * before / fits,
        100.0 * after / fits
    );
    assert!(fits >= 15.0);
    assert!(after < before);
}
