//! Any text is checked: what is wrong is told at a place in the sources, with a code that the tables have;
//! what nothing is wrong with has a graph for each process that the machine takes and pictures show; without
//! its sessions it says the same of itself; and whatever an editor asks has an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb::check::check;
use plumb::diagnostic::codes;
use plumb::machine::{Limits, Machine, Program};
use plumb::modules::BuiltIn;
use plumb::{picture, syntax};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let checked = check("fuzzed.plumb", &text, &BuiltIn);
    for one in &checked.diagnostics {
        let spans = one.labels.iter().map(|label| label.span);
        for span in spans.chain([one.span]) {
            let source = checked.sources.get(span.source);
            assert!(source.is_some_and(|source| source.text.get(span.range()).is_some()), "{one:?}");
        }
        assert!(codes::explain(one.code).is_some(), "{one:?}");
    }
    for at in (0..=text.len()).step_by(text.len() / 12 + 1) {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let _ = (checked.at(at), checked.completions(at));
    }
    if !checked.is_sound() {
        return;
    }
    for name in checked.names() {
        let graph = checked.graph(name).expect("a sound program has graphs");
        let limits = Limits { fuel: 1_000, ..Limits::default() };
        let program = Program::with_limits(&graph, limits).expect("a graph that holds together");
        // Pictures of large graphs take their time, and nobody looks at them.
        if graph.nodes.len() < 200 {
            let _ = (picture::dot(&graph), picture::svg(&graph));
        }
        let _ = Machine::new(program.into()).start();
    }
    let printed = syntax::format(checked.desugared(), "");
    let plain = check("fuzzed.plumb", &printed, &BuiltIn);
    assert!(plain.is_sound(), "{printed}\n{:?}", plain.diagnostics);
});
