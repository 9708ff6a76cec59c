//! PV: pulses and vitality.

use context::turn::{Role, Turn, TurnDraft, TurnId};
use context::vitality::{
    ContentHash, Level, Loop, LoopKind, Options, Phase, Pulse, PulseError, Severity, Status,
    VitalityAnalyzer, pulses,
};
use context::{Heuristic, Pressure, TokenCounter, Tokens};
use jiff::{SignedDuration, Timestamp};

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn pressure(ratio: f64) -> Pressure {
    Pressure::new(ratio).unwrap_or_default()
}

fn sample() -> Pulse {
    Pulse::new("l-gent", at(0), Phase::Thinking, "what it did")
        .with_pressure(pressure(0.45))
        .with_turns(42)
}

/// The statuses after each of these contents, 10 seconds apart, at pressure 0.3.
fn statuses(options: Options, contents: &[&str]) -> Vec<Status> {
    let mut analyzer = VitalityAnalyzer::new(options);
    contents
        .iter()
        .zip((0..).step_by(10))
        .map(|(content, second)| {
            let pulse = Pulse::new("a", at(second), Phase::Acting, content);
            analyzer.ingest(pulse.with_pressure(pressure(0.3)))
        })
        .collect()
}

#[expect(clippy::indexing_slicing, reason = "contents are never empty")]
fn last(options: Options, contents: &[&str]) -> Status {
    statuses(options, contents)[contents.len() - 1]
}

fn at_pressure(ratio: f64) -> Status {
    VitalityAnalyzer::default().ingest(sample().with_pressure(pressure(ratio)))
}

const UNIQUE: [&str; 10] = [
    "read the parser",
    "write a test",
    "run the linter",
    "open an issue",
    "fetch the schema",
    "draw a plot",
    "ask the user",
    "clean the cache",
    "sort the index",
    "close the socket",
];

#[test]
fn pv_1_fields_are_stored() {
    let pulse = sample();
    assert_eq!((pulse.agent.as_str(), pulse.turns), ("l-gent", 42));
    assert_eq!((pulse.at, pulse.phase), (at(0), Phase::Thinking));
    assert_eq!(pulse.pressure, pressure(0.45));
    assert_eq!(pulse.hash, ContentHash::of("what it did"));
}

#[test]
fn pv_2_a_pulse_that_was_sent_does_not_change() {
    let mut analyzer = VitalityAnalyzer::default();
    let mut mine = sample();
    analyzer.ingest(mine.clone());
    mine.turns = 0;
    assert_eq!(analyzer.history("l-gent").next().unwrap().turns, 42);
}

#[test]
fn pv_3_equal_texts_have_equal_hashes_of_8_digits() {
    assert_eq!(ContentHash::of("x"), ContentHash::of("x"));
    assert_eq!(ContentHash::of("x").to_string().len(), 8);
}

#[test]
fn pv_4_other_texts_have_other_hashes() {
    assert_ne!(ContentHash::of("x"), ContentHash::of("y"));
}

#[test]
fn pv_5_the_length_of_a_hash_can_be_chosen() {
    for digits in [4, 16] {
        let hash = ContentHash::with_digits("x", digits);
        assert_eq!(hash.to_string().len(), usize::from(digits));
    }
}

#[test]
fn pv_6_metadata_and_phase_are_in_the_line() {
    let line = sample().with_metadata("zone", "eu").to_log();
    assert!(line.contains("|phase=thinking|") && line.ends_with("|m.zone=eu"));
}

#[test]
fn pv_7_everything_is_restored() {
    let pulse = sample().with_metadata("zone", "eu");
    assert_eq!(Pulse::from_log(&pulse.to_log()), Ok(pulse));
}

#[test]
fn pv_8_the_line_has_its_fields() {
    let line = sample().to_log();
    let hash = ContentHash::of("what it did");
    let start = format!("PULSE|agent=l-gent|pressure=0.45|phase=thinking|hash={hash}|turns=42|ts=");
    assert!(line.starts_with(&start), "{line}");
}

#[test]
fn pv_9_the_pressure_comes_back_to_the_last_bit() {
    let pulse = sample().with_pressure(pressure(0.899));
    let back = Pulse::from_log(&pulse.to_log()).unwrap();
    assert_eq!(back.pressure.get().to_bits(), 0.899_f64.to_bits());
}

#[test]
fn pv_10_garbage_is_an_error() {
    assert_eq!(Pulse::from_log("garbage"), Err(PulseError::NotAPulse));
}

#[test]
fn pv_11_a_missing_prefix_is_an_error() {
    let line = "agent=a|pressure=0.45|ts=2026-01-01T00:00:00Z";
    assert_eq!(Pulse::from_log(line), Err(PulseError::NotAPulse));
}

#[test]
fn pv_12_the_defaults() {
    let options = Options::default();
    assert_eq!(options.loop_threshold, 3);
    assert_eq!(options.pressure_warning.to_bits(), 0.7_f64.to_bits());
    assert_eq!(options.pressure_critical.to_bits(), 0.9_f64.to_bits());
}

#[test]
fn pv_13_a_low_pressure_is_healthy() {
    let status = at_pressure(0.3);
    assert!(status.is_healthy());
    assert_eq!(status.severity(), Severity::Ok);
}

#[test]
fn pv_14_a_high_pressure_warns() {
    let status = at_pressure(0.75);
    assert_eq!(status.level, Level::Warning);
    assert_eq!(status.severity(), Severity::Warning);
    assert!(status.message().contains("Pressure warning (75 %)"));
}

#[test]
fn pv_15_a_very_high_pressure_is_critical() {
    let status = at_pressure(0.95);
    assert_eq!(status.level, Level::Critical);
    assert!(!status.is_healthy());
    assert_eq!(status.recommendations(), ["compact now"]);
}

#[test]
fn pv_16_three_equal_steps_are_a_loop() {
    let status = last(Options::default(), &["same"; 3]);
    let kind = LoopKind::Exact;
    assert_eq!(status.looping, Some(Loop { kind, count: 3 }));
    assert!(status.message().contains("Loop detected"));
}

#[test]
fn pv_17_three_are_none_at_a_threshold_of_five() {
    let options = Options {
        loop_threshold: 5,
        ..Options::default()
    };
    assert_eq!(last(options, &["same"; 3]).looping, None);
}

#[test]
fn pv_18_different_steps_are_none() {
    let all = statuses(Options::default(), &UNIQUE);
    assert!(all.iter().all(|status| status.looping.is_none()));
}

#[test]
fn pv_19_reset_forgets() {
    let mut analyzer = VitalityAnalyzer::default();
    analyzer.ingest(sample());
    analyzer.reset();
    assert_eq!(analyzer.history("l-gent").count(), 0);
}

#[test]
fn pv_20_counts_fall_as_the_window_moves_on() {
    let options = Options {
        window: 6,
        ..Options::default()
    };
    let mut contents = vec!["same"; 6];
    contents.extend(["read the parser", "write a test", "run the linter"]);
    let mut analyzer = VitalityAnalyzer::new(options);
    let mut most = Vec::new();
    for (content, second) in contents.iter().zip(0..) {
        analyzer.ingest(Pulse::new("a", at(second), Phase::Acting, content));
        most.push(analyzer.statistics("a").most_repeated);
    }
    assert_eq!(most, [1, 2, 3, 4, 5, 6, 5, 4, 3]);
}

#[test]
fn pv_21_statistics() {
    let mut analyzer = VitalityAnalyzer::default();
    for (content, second) in UNIQUE.iter().take(5).zip((0..).step_by(4)) {
        analyzer.ingest(Pulse::new("a", at(second), Phase::Acting, content));
    }
    let figures = analyzer.statistics("a");
    assert_eq!((figures.pulses, figures.different), (5, 5));
    assert!((figures.average_interval - 4.0).abs() < 1e-9);
}

#[test]
fn pv_22_history_is_oldest_first() {
    let mut analyzer = VitalityAnalyzer::default();
    for second in [5, 1, 3] {
        analyzer.ingest(Pulse::new("a", at(second), Phase::Acting, "x"));
    }
    let times: Vec<Timestamp> = analyzer.history("a").map(|pulse| pulse.at).collect();
    assert_eq!(times, [at(1), at(3), at(5)]);
}

#[test]
fn pv_23_severity_ok() {
    let status = at_pressure(0.1);
    assert_eq!(status.severity(), Severity::Ok);
    assert_eq!(status.message(), "Agent healthy");
}

#[test]
fn pv_24_a_short_loop_is_a_warning() {
    let status = last(Options::default(), &["same"; 3]);
    assert_eq!(status.severity(), Severity::Warning);
}

#[test]
fn pv_25_critical_pressure_is_critical() {
    assert_eq!(at_pressure(0.9).severity(), Severity::Critical);
}

#[test]
fn pv_26_five_repeats_are_critical() {
    let all = statuses(Options::default(), &["same"; 5]);
    assert_eq!(all[3].severity(), Severity::Warning);
    assert_eq!(all[4].severity(), Severity::Critical);
}

#[test]
fn pv_27_a_new_pulse() {
    let pulse = Pulse::new("a", at(0), Phase::Acting, "x");
    assert_eq!((pulse.turns, pulse.pressure), (0, Pressure::default()));
    assert_eq!(pulse.hash.to_string().len(), 8);
}

#[test]
fn pv_28_metadata_is_kept() {
    let pulse = sample().with_metadata("key", "value");
    assert_eq!(pulse.metadata["key"], "value");
}

fn turns(number: usize, tokens: u64) -> (Vec<Turn>, Tokens) {
    let mut parent = TurnId::ROOT;
    let turns: Vec<Turn> = (0..number)
        .map(|_| {
            let turn = TurnDraft::text(Role::Assistant, "x".repeat(80)).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect();
    (turns, Tokens::new(tokens))
}

#[test]
fn pv_29_a_pulse_of_a_window() {
    // 20 turns of 20 tokens and a frame of 4.
    let (turns, window) = turns(20, 1_000);
    assert_eq!(Heuristic.count(&"x".repeat(80)), Tokens::new(20));
    let pulses = pulses("a", &turns, window);
    let pulse = pulses.last().unwrap();
    assert_eq!((pulse.turns, pulse.pressure), (20, pressure(0.48)));
    assert_eq!(pulse.hash, ContentHash::of(&"x".repeat(80)));
}

#[test]
fn pv_30_a_pulse_of_an_empty_window() {
    let (turns, window) = turns(0, 1_000);
    assert!(pulses("a", &turns, window).is_empty());
}

#[test]
fn pv_31_options_are_used() {
    let options = Options {
        pressure_warning: 0.2,
        pressure_critical: 0.25,
        ..Options::default()
    };
    assert_eq!(last(options, &["x"]).level, Level::Critical);
    assert_eq!(VitalityAnalyzer::new(options).options(), &options);
}

#[test]
fn pv_32_a_slow_rise_stays_healthy() {
    let mut analyzer = VitalityAnalyzer::default();
    for (round, number) in (0_u32..20).enumerate() {
        let content = format!("{} in {}", UNIQUE[round % 10], ["one", "two"][round / 10]);
        let pulse = Pulse::new("a", at(i64::from(number) * 7), Phase::Acting, &content)
            .with_pressure(pressure(0.2 + 0.02 * f64::from(number)));
        assert!(analyzer.ingest(pulse).is_healthy());
    }
}

#[test]
fn pv_33_a_loop_after_healthy_work() {
    let mut contents = UNIQUE[..5].to_vec();
    contents.extend(["same"; 5]);
    assert!(last(Options::default(), &contents).looping.is_some());
}

#[test]
fn pv_34_rising_pressure_warns_and_then_is_critical() {
    let mut analyzer = VitalityAnalyzer::default();
    let mut levels = Vec::new();
    for number in 0_u32..6 {
        let content = UNIQUE[number as usize];
        let pulse = Pulse::new("a", at(number.into()), Phase::Acting, content);
        let ratio = 0.5 + 0.1 * f64::from(number);
        levels.push(analyzer.ingest(pulse.with_pressure(pressure(ratio))).level);
    }
    assert_eq!(levels[1], Level::Calm);
    assert_eq!(levels[3], Level::Warning);
    assert_eq!(levels[5], Level::Critical);
}

#[test]
fn pv_35_every_phase_survives_the_log() {
    for phase in Phase::ALL {
        let pulse = Pulse::new(format!("agent {phase}"), at(1), phase, "x");
        assert_eq!(Pulse::from_log(&pulse.to_log()), Ok(pulse));
    }
}
