//! Benchmarks of the engine: writing the two turns of a request, reading a conversation back and looking up
//! heads, beside appending the same bytes to a plain file.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write as _;

use context::{Turn, TurnId};
use criterion::{Criterion, criterion_group, criterion_main};
use history::conformance::sample;
use history::{Engine, Limits, Tenant};
use history_sqlite::Sqlite;

const TENANT: Tenant = Tenant::from_bytes([1; 16]);

/// About what a step of a coding agent says: 0.6 kB of a call, 3 kB of a result.
fn step(parent: TurnId, n: u64) -> [Turn; 2] {
    let call = sample::turn(parent, &format!("{n:8} call ").repeat(42));
    let result = sample::turn(call.id(), &format!("{n:8} result ").repeat(188));
    [call, result]
}

/// Keeps a request's new turns and the conversation that leads to them.
fn keep(engine: &dyn Engine, parent: TurnId, turns: &[Turn]) -> TurnId {
    let head = sample::head(turns);
    engine
        .write(TENANT, &mut |store| {
            let mut parent = parent;
            for turn in turns {
                store.append(parent, turn)?;
                parent = turn.id();
            }
            store.save(&sample::conversation(1, head, sample::moment(1)))
        })
        .unwrap();
    head
}

fn append(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::open(&folder.path().join("store.db"), Limits::NONE).unwrap();
    let (mut head, mut n) = (TurnId::ROOT, 0);
    criterion.bench_function("append two turns, committed", |bench| {
        bench.iter(|| {
            n += 1;
            head = keep(&engine, head, &step(head, n));
        });
    });
    let plain = folder.path().join("plain");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(plain)
        .unwrap();
    criterion.bench_function("the same bytes to a plain file", |bench| {
        bench.iter(|| {
            n += 1;
            for turn in step(TurnId::ROOT, n) {
                file.write_all(turn.readable().as_bytes()).unwrap();
            }
        });
    });
}

fn read(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::open(&folder.path().join("store.db"), Limits::NONE).unwrap();
    let mut heads = vec![TurnId::ROOT];
    for n in 0..2_000 {
        let parent = heads.last().copied().unwrap();
        let turns = step(parent, n);
        keep(&engine, parent, &turns);
        heads.extend(turns.iter().map(Turn::id));
    }
    let at = |turns: usize| heads.get(turns).copied().unwrap();
    let mut ask = |name: &str, work: &dyn Fn(&dyn history::Store) -> usize| {
        criterion.bench_function(name, |bench| {
            bench.iter(|| {
                engine
                    .read(TENANT, &mut |store| {
                        black_box(work(store));
                        Ok(())
                    })
                    .unwrap();
            });
        });
    };
    ask("the path of 1,000 turns", &|store| {
        store.path(at(1_000)).unwrap().len()
    });
    ask("the conversations headed by 4,000 turns", &|store| {
        store.headed(&heads).unwrap().len()
    });
    let said = engine_path(&engine, at(1_000));
    ask("how much of 1,000 turns is known", &|store| {
        store.known(&said).unwrap()
    });
}

fn engine_path(engine: &dyn Engine, head: TurnId) -> Vec<Turn> {
    let mut path = Vec::new();
    engine
        .read(TENANT, &mut |store| {
            path = store.path(head)?;
            Ok(())
        })
        .unwrap();
    path
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = append, read
}
criterion_main!(benches);
