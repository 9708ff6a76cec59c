//! Any bytes can be loaded as a transcript, by their content or as any format: no panic; what was
//! found says where it stands.

#![no_main]

use context::Heuristic;
use libfuzzer_sys::fuzz_target;
use wire::session::{Format, detect, load, load_as};

const FORMATS: [Format; 7] = [
    Format::ClaudeCode,
    Format::Codex,
    Format::Pi,
    Format::OpenAiChat,
    Format::Anthropic,
    Format::LangChain,
    Format::Copilot,
];

fuzz_target!(|data: &[u8]| {
    let loaded = load(data, "fuzz", &Heuristic);
    if loaded.is_ok() {
        assert!(detect(data).is_some());
    }
    let forced = FORMATS.map(|format| load_as(format, data, "fuzz", &Heuristic));
    for document in forced.into_iter().chain([loaded]).flatten() {
        for session in &document.sessions {
            assert!(!session.turns.is_empty() || !session.compactions.is_empty());
            for usage in &session.usage {
                assert!(usage.turn < session.turns.len());
            }
            for compaction in &session.compactions {
                assert!(compaction.before <= session.turns.len());
            }
            for problem in &session.problems {
                assert!(problem.line > 0);
            }
        }
    }
});
