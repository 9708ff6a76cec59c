//! Counting a megabyte of mixed text: for the first time, again, against another implementation, and
//! against what reading the bytes costs at least.

use std::hint::black_box;

use context::TokenCounter;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokens::{CachedCounter, ContentKind, ModelCounter, Tokenizer};

/// One megabyte in messages of 2 kB: prose, program text and JSON, each message different.
fn messages() -> Vec<String> {
    (0..512)
        .map(|number| {
            let line = |at: usize| match number % 3 {
                0 => format!("In step {at} of run {number} the build looked for the cache and did not find it. "),
                1 => format!("    let value_{at} = table.get(&key_{number})?.parse::<u64>().map_err(Error::from)?;\n"),
                _ => format!("{{\"id\":{at},\"path\":\"src/module_{number}.rs\",\"lines\":[{at},{number}],\"ok\":true}},"),
            };
            let mut text: String = (0..40).map(line).collect();
            text.truncate(2_048);
            text
        })
        .collect()
}

fn count(criterion: &mut Criterion) {
    let messages = messages();
    let bytes: usize = messages.iter().map(String::len).sum();
    let all = |counter: &dyn TokenCounter| -> u64 {
        messages
            .iter()
            .map(|message| counter.count(message).get())
            .sum()
    };
    let mut group = criterion.benchmark_group("count");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.sample_size(10);
    group.bench_function("copy the bytes", |bencher| {
        bencher.iter(|| black_box(messages.clone()));
    });
    group.bench_function("hash the bytes", |bencher| {
        bencher.iter(|| -> u8 {
            messages
                .iter()
                .map(|message| blake3::hash(message.as_bytes()).as_bytes()[0])
                .fold(0, u8::wrapping_add)
        });
    });
    group.bench_function("kind of text", |bencher| {
        bencher.iter(|| {
            messages
                .iter()
                .filter(|message| ContentKind::of(message) == ContentKind::Code)
                .count()
        });
    });
    let exact = ModelCounter::new(Tokenizer::O200k);
    group.bench_function("o200k", |bencher| bencher.iter(|| all(&exact)));
    let claude = ModelCounter::new(Tokenizer::Claude47);
    group.bench_function("claude, estimated", |bencher| bencher.iter(|| all(&claude)));
    let cached = CachedCounter::new(claude);
    group.bench_function("claude, again", |bencher| bencher.iter(|| all(&cached)));
    let other = bpe_openai::o200k_base();
    group.bench_function("o200k by bpe-openai", |bencher| {
        bencher.iter(|| -> usize { messages.iter().map(|message| other.count(message)).sum() });
    });
    group.finish();
}

criterion_group!(benches, count);
criterion_main!(benches);
