//! Rendering a request of about 1 MB as it is shown: a coding agent's conversation, made up here, with the
//! proportions of real ones (three quarters of the bytes are tool results), and the client's breakpoints
//! at its system prompt and its two newest messages.
//!
//! The measures to compare with stand beside ours in the same run: copying the bytes, reading the request
//! (which is done once for all that is asked of it), and a round trip through `serde_json::Value`, as a
//! gateway does it that edits a tree.

use std::fmt::Write as _;
use std::hint::black_box;

use conversation::rewrite::render;
use conversation::view::{Front, View};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use history::Change;
use serde_json::{Value, json};
use wire::api::{Dialect, Request};

/// Text with the lines and punctuation of source code, from a small generator.
fn source(seed: &mut u64, lines: usize) -> String {
    const WORDS: [&str; 8] = [
        "let window =",
        "parse(body)?;",
        "\"key\"",
        "match self {",
        "// why the",
        "crates/wire/src/api",
        "Ok(())",
        "\u{1b}[31mfailed\u{1b}[0m",
    ];
    let mut out = String::new();
    for line in 0..lines {
        let _ = write!(out, "{:>6}\u{2192}", line + 1);
        for _ in 0..4 {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let word = usize::try_from(*seed >> 61).unwrap_or_default();
            let _ = write!(out, "{} ", WORDS.get(word).copied().unwrap_or_default());
        }
        out.push('\n');
    }
    out
}

/// A request with `steps` tool steps of an agent.
fn body(steps: usize) -> String {
    let mut seed = 7;
    let mark = json!({"type": "ephemeral"});
    let mut messages = vec![json!({"role": "user", "content": source(&mut seed, 30)})];
    for step in 0..steps {
        let id = format!("toolu_{step:024}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": source(&mut seed, 8), "signature": "QmFzZTY0".repeat(40)},
            {"type": "tool_use", "id": id, "name": "read", "input": {"path": "/src/lib.rs"}}]}));
        let mut result =
            json!({"type": "tool_result", "tool_use_id": id, "content": source(&mut seed, 60)});
        if let (true, Some(block)) = (step + 2 >= steps, result.as_object_mut()) {
            block.insert("cache_control".to_owned(), mark.clone());
        }
        messages.push(json!({"role": "user", "content": [result]}));
    }
    json!({"model": "claude-opus-5-5", "max_tokens": 32_000,
        "system": [{"type": "text", "text": source(&mut seed, 200), "cache_control": mark}],
        "tools": [{"name": "read", "description": source(&mut seed, 200), "input_schema": {"type": "object"}}],
        "messages": messages})
    .to_string()
}

fn rewrites(criterion: &mut Criterion) {
    let text = body(280);
    let bytes = text.as_bytes();
    let Ok(request) = Request::parse(Dialect::Anthropic, bytes) else {
        return;
    };
    let note = r#"{"role":"system","clear_at":"next_user_message","content":"[runtime context]"}"#;
    let changes = [
        (120, Change::Followed(note.into())),
        (300, Change::Followed(note.into())),
        (
            request.len() - 1,
            Change::Shrunk {
                result: 0,
                text: "short".into(),
            },
        ),
    ];
    let steady = View {
        changes: changes.to_vec(),
        ..View::default()
    };
    let summary = "A summary of what was said. ".repeat(400);
    let readable = View {
        front: Front::Readable {
            pins: "[Pinned, in full:]\n- never push".into(),
            summary: summary.as_str().into(),
        },
        from: 61,
        ..steady.clone()
    };
    let stripped = View {
        stripped: request.len() / 4,
        ..readable.clone()
    };
    let block =
        json!({"role": "assistant", "content": [{"type": "compaction", "content": summary}]});
    let block = block.to_string();
    let native = View {
        front: Front::Native {
            message: block.as_str().into(),
        },
        ..readable.clone()
    };
    let mut group = criterion.benchmark_group("rewrite");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    for (name, view) in [
        ("three editions", steady),
        ("readable mark", readable),
        ("readable mark, thinking out", stripped),
        ("native mark", native),
    ] {
        if render(&request, &view).is_ok() {
            group.bench_function(name, |b| b.iter(|| render(&request, black_box(&view))));
        }
    }
    group.bench_function("copying the bytes", |b| {
        b.iter(|| black_box(bytes).to_vec())
    });
    group.bench_function("reading the request", |b| {
        b.iter(|| Request::parse(Dialect::Anthropic, black_box(bytes)).map(|it| it.len()))
    });
    group.bench_function("serde_json::Value and back", |b| {
        b.iter(|| {
            let value: Option<Value> = serde_json::from_slice(black_box(bytes)).ok();
            value.map(|value| value.to_string().len())
        });
    });
    group.finish();
}

criterion_group!(benches, rewrites);
criterion_main!(benches);
