//! The cost of checking: programs of 10, 100 and 1,000 statements, as one body and as many processes.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plumb::check::check;
use plumb::modules::BuiltIn;

/// One body: channels in a row, with a filter, a map and a branch between each and the next.
fn body(statements: usize) -> String {
    let mut text = "type Note = { number: int, text: string, seen?: bool }\n".to_owned();
    text += "let main : !Note -> !Note = plumb(input, output) {\n  input ; c0\n";
    let channels = statements.saturating_sub(2) / 3;
    for channel in 0..channels {
        let next = channel + 1;
        let _ = writeln!(text, "  let c{channel} : !Note = channel");
        let _ = writeln!(
            text,
            "  c{channel} ; filter(number > {channel} && text != \"\") ; map({{number: number + 1, text}}) ; c{next}"
        );
        let _ = writeln!(
            text,
            "  c{channel} ; filter(defined(seen) && seen) ; output"
        );
    }
    let _ = writeln!(
        text,
        "  let c{channels} : !Note = channel\n  c{channels} ; output\n}}"
    );
    text
}

/// Many processes, each with a few statements, and one that has all of them in a row.
fn processes(statements: usize) -> String {
    let mut text = "type Note = { number: int, text: string }\n".to_owned();
    let count = (statements / 4).max(1);
    for process in 0..count {
        let _ = writeln!(
            text,
            "let p{process} : !Note -> !Note = plumb(input, output) {{\n  input ; filter(number > {process}) ; output\n  input ; filter(number <= {process}) ; map({{number, text: \"small\"}}) ; output\n}}"
        );
    }
    text += "let main : !Note -> !Note = plumb(input, output) {\n  input ; p0\n";
    for process in 1..count {
        let _ = writeln!(text, "  p{} ; p{process}", process - 1);
    }
    let _ = writeln!(text, "  p{} ; output\n}}", count - 1);
    text
}

fn checking(c: &mut Criterion) {
    for (name, program) in [
        ("body", body as fn(usize) -> String),
        ("processes", processes),
    ] {
        let mut group = c.benchmark_group(format!("check/{name}"));
        for statements in [10, 100, 1_000] {
            let text = program(statements);
            let checked = check("bench.plumb", &text, &BuiltIn);
            assert!(checked.is_sound(), "{:#?}", checked.diagnostics);
            group.throughput(Throughput::Elements(statements as u64));
            group.bench_function(BenchmarkId::from_parameter(statements), |b| {
                b.iter(|| check("bench.plumb", black_box(&text), &BuiltIn));
            });
        }
        group.finish();
    }
    let checked = check("bench.plumb", &processes(1_000), &BuiltIn);
    c.bench_function("graph/1000", |b| {
        b.iter(|| black_box(&checked).graph("main"))
    });
}

criterion_group!(benches, checking);
criterion_main!(benches);
