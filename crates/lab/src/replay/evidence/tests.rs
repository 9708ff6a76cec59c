//! Windows and overhead from minimal logs.

use context::Tokens;
use tokens::ModelTable;
use wire::session::{Session, load};

use super::{Evidence, WindowSource};
use crate::options::{Options, RecallMeasure};

fn session(log: &str) -> Session {
    let document = load(log.as_bytes(), "s", &context::Heuristic).expect("reads");
    document.sessions.into_iter().next().expect("one")
}

fn check(log: &str, model: &str, given: Option<u64>, expected: (u64, WindowSource, u64)) {
    let model = ModelTable::shipped().find(model);
    let found = Evidence::of(&session(log), &model, given.map(Tokens::new));
    let found = (found.window.get(), found.source, found.unlogged.get());
    assert_eq!(found, expected, "{log}");
}

/// An answer in Claude Code's log, with the input that the provider counted.
fn answer(id: u32, input: u64) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"u{id}\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"go\"}}}}\n\
         {{\"type\":\"assistant\",\"uuid\":\"a{id}\",\"sessionId\":\"s\",\"message\":{{\"id\":\"m{id}\",\"role\":\"assistant\",\
         \"model\":\"claude-opus-4-6\",\"content\":[{{\"type\":\"text\",\"text\":\"done\"}}],\
         \"usage\":{{\"input_tokens\":{input},\"output_tokens\":{}}}}}}}\n",
        id + 5
    )
}

fn compaction(trigger: &str, tokens: u64) -> String {
    format!(
        "{{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"b\",\"sessionId\":\"s\",\
         \"compactMetadata\":{{\"trigger\":\"{trigger}\",\"preTokens\":{tokens}}}}}\n\
         {{\"type\":\"user\",\"uuid\":\"c\",\"sessionId\":\"s\",\"isCompactSummary\":true,\
         \"message\":{{\"role\":\"user\",\"content\":\"It was short.\"}}}}\n"
    )
}

#[test]
fn a_model_without_evidence_has_the_tables_window() {
    check(
        &answer(1, 2),
        "claude-opus-4-6",
        None,
        (1_000_000, WindowSource::Model, 0),
    );
    check(
        &answer(1, 2),
        "claude-opus-4-6",
        Some(64_000),
        (64_000, WindowSource::Given, 0),
    );
}

#[test]
fn the_window_ends_where_the_product_compacted() {
    let log = answer(1, 160_000) + &compaction("auto", 167_000) + &answer(2, 20_000);
    // Half of the window at most: the conversation before is in another file.
    check(
        &log,
        "claude-opus-4-6",
        None,
        (167_000, WindowSource::Compaction, 83_500),
    );
    let log = answer(1, 30_005) + &compaction("auto", 167_000) + &answer(2, 20_000);
    check(
        &log,
        "claude-opus-4-6",
        None,
        (167_000, WindowSource::Compaction, 30_000),
    );
}

#[test]
fn a_compaction_by_hand_counts_if_the_window_was_half_full() {
    let early = answer(1, 900) + &compaction("manual", 20_000);
    check(
        &early,
        "claude-opus-4-5",
        None,
        (200_000, WindowSource::Model, 895),
    );
    let late = answer(1, 900) + &compaction("manual", 145_000);
    check(
        &late,
        "claude-opus-4-5",
        None,
        (145_000, WindowSource::Compaction, 895),
    );
}

#[test]
fn a_request_above_the_tables_window_shows_the_large_one() {
    let log = answer(1, 2) + &answer(2, 300_000);
    check(
        &log,
        "claude-opus-4-5",
        None,
        (1_000_000, WindowSource::Requests, 299_985),
    );
}

#[test]
fn the_same_usage_everywhere_is_none() {
    let mut log = String::new();
    for id in 1..9 {
        log += &answer(id, 90_000).replace(
            &format!("\"output_tokens\":{}", id + 5),
            "\"output_tokens\":547",
        );
    }
    check(
        &log,
        "claude-opus-4-5",
        None,
        (200_000, WindowSource::Model, 0),
    );
}

#[test]
fn codex_names_its_window() {
    let log = "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"x\",\"cwd\":\"/w\"}}\n\
        {\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"go\"}]}}\n\
        {\"timestamp\":\"2026-01-01T00:00:01Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"done\"}]}}\n\
        {\"timestamp\":\"2026-01-01T00:00:01Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":{\"model_context_window\":258400,\"last_token_usage\":{\"input_tokens\":12005,\"cached_input_tokens\":0,\"output_tokens\":5}}}}\n";
    check(log, "gpt-5.4", None, (258_400, WindowSource::Log, 12_000));
}

/// Two answers 20 minutes apart, with what the provider says that it wrote to the cache.
fn cached(writes: &str) -> String {
    let turn = |minute: u32, id: u32| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{id}\",\"sessionId\":\"s\",\"timestamp\":\"2026-01-01T10:{minute}:00Z\",\
             \"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n\
             {{\"type\":\"assistant\",\"uuid\":\"a{id}\",\"sessionId\":\"s\",\"timestamp\":\"2026-01-01T10:{minute}:05Z\",\
             \"message\":{{\"id\":\"m{id}\",\"role\":\"assistant\",\"model\":\"claude-opus-4-6\",\
             \"content\":[{{\"type\":\"text\",\"text\":\"done\"}}],\"usage\":{{\"input_tokens\":3,\"output_tokens\":{id},\
             \"cache_creation_input_tokens\":30000{writes}}}}}}}\n",
            "Look at the tests again. ".repeat(5_000)
        )
    };
    turn(10, 1) + &turn(30, 2)
}

#[test]
fn the_cache_lives_as_long_as_the_log_says() {
    let options = Options {
        recall: RecallMeasure::Skipped,
        ..Options::default()
    };
    let long =
        ",\"cache_creation\":{\"ephemeral_5m_input_tokens\":0,\"ephemeral_1h_input_tokens\":30000}";
    let short =
        ",\"cache_creation\":{\"ephemeral_5m_input_tokens\":30000,\"ephemeral_1h_input_tokens\":0}";
    for (writes, seconds, is_read) in [("", 300, false), (short, 300, false), (long, 3_600, true)] {
        let found = crate::replay::run(&session(&cached(writes)), &options, &mut |_| {});
        let found = found.expect("replays");
        let simulation = &found.simulation;
        assert_eq!(simulation.cache_ttl_seconds, seconds, "{writes}");
        assert_eq!(simulation.cache_ttl_is_long, is_read, "{writes}");
        let read = found.strategies[0].simulated.requests.cache_read;
        assert_eq!(read > 0, is_read, "{writes}: {read}");
        let written = simulation.usd_per_million_cache_write / simulation.usd_per_million_input;
        assert_eq!(written, if is_read { 2.0 } else { 1.25 });
    }
    // A model under another name is replayed as a Claude; a provider with other lifetimes has no hour.
    let unknown = cached(long).replace("claude-opus-4-6", "corp-coder-1");
    let cases = [
        (unknown.clone(), None, 3_600),
        (unknown, Some("claude-opus-4-5"), 3_600),
        (cached(long), Some("gpt-5.4"), 1_800),
    ];
    for (log, model, seconds) in cases {
        let options = Options {
            model: model.map(str::to_owned),
            ..options.clone()
        };
        let found = crate::replay::run(&session(&log), &options, &mut |_| {}).expect("replays");
        assert_eq!(found.simulation.cache_ttl_seconds, seconds, "{model:?}");
    }
}
