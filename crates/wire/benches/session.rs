//! Loading a Claude Code log of 4 MB, beside parsing every line into a `Value` and finding the lines.

use std::fmt::Write as _;
use std::hint::black_box;

use context::Heuristic;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wire::session::load;

/// A log as Claude Code writes it: a prompt now and then, steps of one call, each result repeated for
/// the interface.
fn log(size: usize) -> String {
    let mut log = String::with_capacity(size + 10_000);
    let mut parent = "null".to_owned();
    let mut number = 0_usize;
    let mut line = |log: &mut String, kind: &str, rest: &str| {
        number += 1;
        let uuid = format!("\"00000000-0000-4000-8000-{number:012}\"");
        let envelope = "\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/user/project\",\"sessionId\":\"11111111-2222-4333-8444-555555555555\",\"version\":\"2.1.0\",\"gitBranch\":\"main\"";
        writeln!(
            log,
            "{{\"parentUuid\":{parent},{envelope},\"type\":\"{kind}\",{rest},\"uuid\":{uuid},\"timestamp\":\"2026-01-02T03:04:05.678Z\"}}"
        )
        .unwrap_or_default();
        parent = uuid;
    };
    let output =
        "    let value = compute(\\\"input\\\", 42); // line of a source file\\n".repeat(30);
    let mut step = 0_usize;
    while log.len() < size {
        step += 1;
        if step % 20 == 1 {
            let rest =
                format!("\"message\":{{\"role\":\"user\",\"content\":\"please do task {step}\"}}");
            line(&mut log, "user", &rest);
        }
        let message = |block: &str| {
            format!(
                "\"message\":{{\"model\":\"claude-x\",\"id\":\"msg_{step}\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{block}],\"usage\":{{\"input_tokens\":4,\"cache_read_input_tokens\":50000,\"cache_creation_input_tokens\":900,\"output_tokens\":120}}}}"
            )
        };
        line(
            &mut log,
            "assistant",
            &message("{\"type\":\"text\",\"text\":\"Let me look at the file first.\"}"),
        );
        let call = format!(
            "{{\"type\":\"tool_use\",\"id\":\"toolu_{step}\",\"name\":\"Read\",\"input\":{{\"file_path\":\"/home/user/project/src/file_{step}.rs\"}}}}"
        );
        line(&mut log, "assistant", &message(&call));
        let result = format!(
            "\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{step}\",\"type\":\"tool_result\",\"content\":\"{output}\"}}]}},\"toolUseResult\":{{\"file\":{{\"content\":\"{output}\"}}}}"
        );
        line(&mut log, "user", &result);
    }
    log
}

fn loading(criterion: &mut Criterion) {
    let log = log(4 << 20);
    let bytes = log.as_bytes();
    let mut group = criterion.benchmark_group("session");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.sample_size(20);
    group.bench_function("load", |bencher| {
        bencher.iter(|| {
            load(black_box(bytes), "bench", &Heuristic).map(|document| document.sessions.len())
        });
    });
    group.bench_function("value per line", |bencher| {
        bencher.iter(|| {
            black_box(bytes)
                .split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
                .count()
        });
    });
    group.bench_function("count lines", |bencher| {
        bencher.iter(|| memchr::memchr_iter(b'\n', black_box(bytes)).count());
    });
    group.finish();
}

criterion_group!(benches, loading);
criterion_main!(benches);
