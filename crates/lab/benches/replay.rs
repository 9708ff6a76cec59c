//! A session of 374k tokens (by `cl100k_base`; the corpus has it) in a window of 128k under all five
//! strategies. The budget is 2 s, loading and recall included.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a bench reads its input and says where there is none"
)]

use std::path::PathBuf;

use context::Tokens;
use criterion::{Criterion, criterion_group, criterion_main};
use lab::replay::run;
use lab::{Options, RecallMeasure};
use wire::session::load;

const SESSION: &str = "pi-mono/packages/coding-agent/test/fixtures/before-compaction.jsonl";

fn replay(criterion: &mut Criterion) {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let folder =
        std::env::var_os("EBBTIDE_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let Ok(bytes) = std::fs::read(folder.join(SESSION)) else {
        eprintln!("skipped: no corpus");
        return;
    };
    let counter = tokens::counter_for(lab::replay::DEFAULT_MODEL);
    let options = |recall| Options {
        window: Some(Tokens::new(128_000)),
        recall,
        ..Options::default()
    };
    let mut group = criterion.benchmark_group("replay");
    group.sample_size(10);
    let cases = [
        ("engine", RecallMeasure::Skipped),
        ("engine and recall", RecallMeasure::Measured),
    ];
    if let Ok(document) = load(&bytes, "bench", &*counter) {
        for (name, recall) in cases {
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    let session = document.sessions.first()?;
                    run(session, &options(recall), &mut |_| {}).ok()
                });
            });
        }
    }
    group.bench_function("load, engine and recall", |bencher| {
        bencher.iter(|| {
            let document = load(&bytes, "bench", &*counter).ok()?;
            let session = document.sessions.first()?;
            run(session, &options(RecallMeasure::Measured), &mut |_| {}).ok()
        });
    });
    group.finish();
}

criterion_group!(benches, replay);
criterion_main!(benches);
