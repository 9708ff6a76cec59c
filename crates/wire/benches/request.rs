//! Reading a request body of about 1 MB: a coding agent's conversation, made up here, with the
//! proportions of real ones (three quarters of the bytes are tool results with escaped line breaks).
//! The measures to compare with stand beside ours in the same run: `serde_json` building a `Value`,
//! `serde_json` only checking, hashing the bytes, copying the bytes.

use std::fmt::Write as _;
use std::hint::black_box;

use context::Heuristic;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wire::api::{Dialect, Piece, Request};

/// Text with the lines, indentation and punctuation of source code, from a small generator.
fn source(seed: &mut u64, lines: usize) -> String {
    const WORDS: [&str; 16] = [
        "let",
        "fn",
        "request",
        "self.window",
        "=",
        "parse(body)?;",
        "\"key\"",
        "if",
        "match",
        "{",
        "}",
        "// why the",
        "tokens",
        "crates/wire/src/api",
        "Ok(())",
        "0x7f3a",
    ];
    let mut out = String::new();
    for line in 0..lines {
        let _ = write!(out, "{:>6}\u{2192}{}", line + 1, " ".repeat((line % 5) * 4));
        for _ in 0..6 {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let word = WORDS
                .get((*seed >> 60) as usize)
                .copied()
                .unwrap_or_default();
            let _ = write!(out, "{word} ");
        }
        out.push('\n');
    }
    out
}

/// A request with `steps` tool steps of an agent.
fn body(steps: usize) -> String {
    let mut seed = 7;
    let tools: Vec<_> = (0..20)
        .map(|tool| {
            serde_json::json!({"name": format!("tool_{tool}"), "description": source(&mut seed, 12),
                "input_schema": {"type": "object", "required": ["path"], "properties": {
                    "path": {"type": "string"}, "limit": {"type": "integer"}}}})
        })
        .collect();
    let mut messages = vec![serde_json::json!({"role": "user", "content": source(&mut seed, 30)})];
    for step in 0..steps {
        let id = format!("toolu_{step:024}");
        messages.push(serde_json::json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": source(&mut seed, 8), "signature": "QmFzZTY0".repeat(40)},
            {"type": "text", "text": source(&mut seed, 3)},
            {"type": "tool_use", "id": id, "name": "tool_1",
                "input": {"path": "/src/lib.rs", "old": source(&mut seed, 4), "limit": 200}}]}));
        messages.push(serde_json::json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": source(&mut seed, 60)}]}));
    }
    serde_json::json!({"model": "claude-opus-5-5", "max_tokens": 32_000, "stream": true,
        "system": [{"type": "text", "text": source(&mut seed, 200)}],
        "tools": tools, "messages": messages})
    .to_string()
}

fn requests(criterion: &mut Criterion) {
    let text = body(190);
    let bytes = text.as_bytes();
    let read = || Request::parse(Dialect::Anthropic, black_box(bytes)).ok();
    let mut group = criterion.benchmark_group("request");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("spans", |bench| {
        bench.iter(|| read().map(|request| request.len()))
    });
    group.bench_function("spans_and_turns", |bench| {
        bench.iter(|| {
            read().map(|request| request.messages().map(|m| m.draft()).collect::<Vec<_>>())
        });
    });
    group.bench_function("spans_and_counted_turns", |bench| {
        bench.iter(|| read().map(|request| request.turns(&Heuristic)));
    });
    group.bench_function("swap", |bench| {
        bench.iter(|| {
            let request = read()?;
            let pieces = vec![
                Piece::Written(r#"{"role":"user","content":"summary"}"#.into()),
                Piece::Kept(request.len() / 2..request.len()),
            ];
            request.edit().messages(pieces).render().ok()
        });
    });
    group.bench_function("serde_json_value", |bench| {
        bench.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(bytes)).ok());
    });
    group.bench_function("serde_json_check", |bench| {
        bench.iter(|| serde_json::from_slice::<serde::de::IgnoredAny>(black_box(bytes)).is_ok());
    });
    group.bench_function("utf8_check", |bench| {
        bench.iter(|| std::str::from_utf8(black_box(bytes)).is_ok());
    });
    group.bench_function("blake3", |bench| {
        bench.iter(|| blake3::hash(black_box(bytes)))
    });
    group.bench_function("copy", |bench| bench.iter(|| black_box(bytes).to_vec()));
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
