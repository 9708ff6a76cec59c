//! Fingerprints, the log line, and the defects that an analyser must not have.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{
    ContentHash, LoopKind, Options, Phase, Pulse, PulseError, Rhythm, Severity, Shape, Status,
    VitalityAnalyzer, newest_pulses, pulses,
};
use crate::coded::Coded as _;
use crate::counter::Heuristic;
use crate::turn::{Outcome, Role, Turn, TurnDraft, TurnId};
use crate::units::{Pressure, Tokens};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

fn pulse(seconds: i64, content: &str) -> Pulse {
    Pulse::new("a", at(seconds), Phase::Acting, content)
}

fn last(pulses: Vec<Pulse>) -> Status {
    let mut analyzer = VitalityAnalyzer::default();
    let statuses: Vec<Status> = pulses
        .into_iter()
        .map(|pulse| analyzer.ingest(pulse))
        .collect();
    *statuses.last().unwrap()
}

fn near(one: &str, other: &str) -> bool {
    Shape::of(one).is_near(Shape::of(other))
}

#[test]
fn shapes_ignore_numbers_and_mind_names() {
    for (one, other) in [
        ("retry attempt 1: error", "retry attempt 20: error"),
        ("at 12:03:55 it failed", "at 2026-01-02T03:04:05Z it failed"),
        ("id deadbeef01 is gone", "id 0123456789abcdef is gone"),
        ("第3次重试失败，请稍候", "第17次重试失败，请稍候"),
        (
            "let me try to run all of the tests once again now",
            "let me try to run all of the tests once more now",
        ),
    ] {
        assert!(near(one, other), "{one} / {other}");
    }
    for (one, other) in [
        (
            "edit src/a.rs to use the new name",
            "edit src/b.rs to use the new name",
        ),
        ("第一章讲的是历史", "请打开这个文件夹"),
        ("convert img_001.png", "convert img_002.png"),
        (
            "the server refuses the connection",
            "all tests of the parser pass",
        ),
    ] {
        assert!(!near(one, other), "{one} / {other}");
    }
}

#[test]
fn a_pressure_near_a_threshold_keeps_its_side() {
    for ratio in [
        0.899,
        0.9,
        0.8999999999999999,
        0.7,
        0.0,
        1.5,
        1e-12,
        f64::INFINITY,
    ] {
        let pulse = pulse(0, "x").with_pressure(Pressure::new(ratio).unwrap());
        let back = Pulse::from_log(&pulse.to_log()).unwrap();
        assert_eq!(back.pressure.get().to_bits(), ratio.to_bits());
    }
    let line = pulse(0, "x")
        .with_pressure(Pressure::new(0.5).unwrap())
        .to_log();
    assert!(line.contains("|pressure=0.50|"), "{line}");
}

#[test]
fn the_line_reads_well() {
    let pulse = Pulse::new("l-gent", at(0), Phase::Thinking, "hello")
        .with_pressure(Pressure::new(0.45).unwrap())
        .with_turns(42)
        .with_answer("ok", Outcome::Failed)
        .with_metadata("a|b", "c=d\n\\");
    insta::assert_snapshot!(
        pulse.to_log(),
        @r"PULSE|agent=l-gent|pressure=0.45|phase=thinking|hash=ea8f163d|turns=42|ts=2023-11-14T22:13:20Z|v=1|shape=00000000ea8f163db3868292|answer=d3cbd747.00000000d3cbd74709bf071c.failed|m.a\pb=c\ed\n\\"
    );
}

#[test]
fn bad_lines_have_codes_and_unknown_fields_do_not_matter() {
    let good = "PULSE|agent=a|ts=2026-01-01T00:00:00Z|colour=blue|x|hash=abc12345";
    let read = Pulse::from_log(good).unwrap();
    assert_eq!((read.turns, read.phase), (0, Phase::Waiting));
    assert_eq!(read.hash.to_string(), "abc12345");
    for (line, error, code) in [
        ("garbage", PulseError::NotAPulse, "E0440"),
        ("PULSE|agent=a", PulseError::NoTime, "E0441"),
        ("PULSE|ts=yesterday", PulseError::BadField("ts"), "E0442"),
        (
            "PULSE|pressure=NaN",
            PulseError::BadField("pressure"),
            "E0442",
        ),
        (
            "PULSE|pressure=-1",
            PulseError::BadField("pressure"),
            "E0442",
        ),
        (
            "PULSE|phase=dreaming",
            PulseError::BadField("phase"),
            "E0442",
        ),
        ("PULSE|hash=+bc", PulseError::BadField("hash"), "E0442"),
        ("PULSE|agent=a\\x", PulseError::BadField("agent"), "E0442"),
        (
            "PULSE|shape=日本語日本語日本",
            PulseError::BadField("shape"),
            "E0442",
        ),
        (
            "PULSE|turns=1|turns=2",
            PulseError::Repeated("turns"),
            "E0443",
        ),
        (
            "PULSE|v=2|ts=2026-01-01T00:00:00Z",
            PulseError::Version(2),
            "E0444",
        ),
    ] {
        let got = Pulse::from_log(line).unwrap_err();
        assert_eq!(got, error, "{line}");
        assert_eq!(got.code().as_str(), code);
    }
}

proptest! {
    #[test]
    fn any_pulse_comes_back_equal(
        agent in "(.|\\n|\\||=|\\\\){0,20}",
        seconds in -10_000_000_000_i64..10_000_000_000,
        nanos in 0..1_000_000_000_i32,
        ratio in 0.0..2.0_f64,
        phase in prop::sample::select(Phase::ALL.to_vec()),
        content in ".{0,40}",
        turns in any::<u64>(),
        answer in prop::option::of((".{0,20}", any::<bool>())),
        metadata in prop::collection::btree_map("(.|\\n|\\||=){0,8}", "(.|\\r|\\||=|\\\\){0,8}", 0..3),
    ) {
        let mut pulse = Pulse::new(agent, Timestamp::new(seconds, nanos).unwrap(), phase, &content)
            .with_pressure(Pressure::new(ratio).unwrap())
            .with_turns(turns);
        if let Some((text, failed)) = answer {
            pulse = pulse.with_answer(&text, if failed { Outcome::Failed } else { Outcome::Succeeded });
        }
        pulse.metadata = metadata;
        let line = pulse.to_log();
        prop_assert!(!line.contains(['\n', '\r']));
        prop_assert_eq!(Pulse::from_log(&line), Ok(pulse));
    }

    #[test]
    fn no_line_makes_it_panic(line in "(PULSE\\|)?(.|\\n|\\||=|\\\\){0,80}") {
        let _ = Pulse::from_log(&line);
    }

    #[test]
    fn order_of_arrival_does_not_matter(order in Just((0..30_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let sent: Vec<Pulse> = (0..30).map(|number| pulse(number, &format!("step {}", number % 4))).collect();
        let mut sorted = VitalityAnalyzer::default();
        let mut shuffled = VitalityAnalyzer::default();
        for (pulse, index) in sent.iter().zip(order) {
            sorted.ingest(pulse.clone());
            shuffled.ingest(sent[index].clone());
        }
        prop_assert_eq!(sorted.status("a"), shuffled.status("a"));
    }
}

#[test]
fn repeats_far_apart_are_no_loop_and_nothing_grows() {
    let mut analyzer = VitalityAnalyzer::default();
    for number in 0..300 {
        let content = if number % 100 == 0 {
            "same".into()
        } else {
            format!("step of kind k{number}")
        };
        assert_eq!(analyzer.ingest(pulse(number, &content)).looping, None);
    }
    assert_eq!(analyzer.history("a").count(), 50);
}

#[test]
fn agents_do_not_mix_and_waiting_may_repeat() {
    let mut analyzer = VitalityAnalyzer::default();
    for agent in ["a", "b", "c"] {
        let pulse = Pulse {
            agent: agent.into(),
            ..pulse(0, "same")
        };
        assert!(analyzer.ingest(pulse).is_healthy());
    }
    for number in 1..20 {
        let waiting = Pulse {
            phase: Phase::Waiting,
            ..pulse(number, "same")
        };
        assert!(analyzer.ingest(waiting).is_healthy());
    }
}

#[test]
fn near_duplicates_and_periods_are_named() {
    let retries = (0..20).map(|number| pulse(number, &format!("retry attempt {number}: error")));
    let found = last(retries.collect()).looping.unwrap();
    assert_eq!((found.kind, found.count), (LoopKind::Near, 20));
    for period in 2..=5 {
        let steps = [
            "read the file",
            "write a test",
            "call the server",
            "list folders",
            "ask the user",
        ];
        let pulses = (0..period * 3).map(|number| pulse(number as i64, steps[number % period]));
        let found = last(pulses.collect()).looping.unwrap();
        assert_eq!((found.kind, found.count), (LoopKind::Cycle { period }, 3));
    }
}

#[test]
fn severity_follows_the_threshold_that_was_set() {
    let options = Options {
        loop_threshold: 10,
        ..Options::default()
    };
    let mut analyzer = VitalityAnalyzer::new(options);
    let six: Vec<Status> = (0..6)
        .map(|number| analyzer.ingest(pulse(number, "same")))
        .collect();
    assert_eq!((six[5].looping, six[5].severity()), (None, Severity::Ok));
    let mut none = VitalityAnalyzer::new(Options {
        loop_threshold: 0,
        ..options
    });
    assert_eq!(none.ingest(pulse(0, "once")).looping, None);
}

#[test]
fn one_long_pause_is_no_erratic_rhythm() {
    let mut time = 0;
    let pulses = (0..20).map(|number| {
        time += if number == 10 { 86_400 } else { 5 + number % 3 };
        pulse(time, &format!("step of kind k{number}"))
    });
    let status = last(pulses.collect());
    assert_eq!(
        (status.rhythm, status.severity()),
        (Rhythm::Regular, Severity::Ok)
    );
    let pulses = (0..20).map(|number| pulse(number * number * number, &format!("kind k{number}")));
    assert_eq!(last(pulses.collect()).rhythm, Rhythm::Erratic);
}

#[test]
fn rising_pressure_says_when_it_will_be_critical() {
    let pulses = (0..10).map(|number| {
        let pressure = Pressure::new(0.3 + 0.05 * number as f64).unwrap();
        pulse(number, &format!("kind k{number}")).with_pressure(pressure)
    });
    let status = last(pulses.collect());
    assert!((status.slope - 0.05).abs() < 1e-9);
    assert_eq!(status.critical_in, Some(3));
    assert!(status.is_healthy());
    assert_eq!(status.recommendations(), ["prepare a compaction"]);
}

#[test]
fn pulses_of_one_moment_say_nothing_of_the_rhythm() {
    let together = (0..12).map(|number| pulse(0, &format!("kind k{number}")));
    let apart = (1..7).map(|number| pulse(number * 40, &format!("kind l{number}")));
    let mut all: Vec<Pulse> = together.chain(apart).collect();
    assert_eq!(last(all.clone()).rhythm, Rhythm::Unknown);
    all.extend((7..10).map(|number| pulse(number * 40, &format!("kind m{number}"))));
    assert_eq!(last(all).rhythm, Rhythm::Regular);
}

#[test]
fn of_a_long_text_head_tail_and_length_count() {
    let line = "a line like any other ".repeat(400);
    let text = |head: &str, middle: &str, tail: &str| {
        pulse(0, &format!("{head} {line} {middle} {line} {tail}"))
    };
    let one = text("head", "middle", "tail");
    assert_eq!(one.hash, text("head", "fiddle", "tail").hash);
    for other in [
        text("heat", "middle", "tail"),
        text("head", "middle", "tale"),
        text("head", "middles", "tail"),
    ] {
        assert_ne!(one.hash, other.hash);
    }
    let answer = |text: &str| pulse(0, "x").with_answer(text, Outcome::Succeeded).answer;
    let long = "ä".repeat(9_000);
    assert_eq!(answer(&long), answer(&long));
    assert_ne!(answer(&long), answer(&format!("{long}ä")));
}

#[test]
fn the_newest_pulses_are_the_last_of_all() {
    let turns: Vec<Turn> = (0..9)
        .map(|number| {
            let role = [Role::User, Role::Assistant][number % 2];
            let said = TurnDraft::text(role, format!("kind k{number}"));
            said.after(TurnId::ROOT, &Heuristic)
        })
        .collect();
    let all = pulses("a", &turns, Tokens::new(1_000));
    let newest = newest_pulses("a", &turns, 3, at(0));
    let hashes = |pulses: &[Pulse]| -> Vec<(ContentHash, Phase)> {
        pulses.iter().map(|it| (it.hash, it.phase)).collect()
    };
    assert_eq!(hashes(&newest), hashes(&all[1..]));
    assert!(newest_pulses("a", &turns, 0, at(0)).is_empty());
}

#[test]
fn silence_is_measured_on_the_agents_own_rhythm() {
    let mut analyzer = VitalityAnalyzer::default();
    for number in 0..10 {
        analyzer.ingest(pulse(number * 30, &format!("kind k{number}")));
    }
    let after = |seconds: i64| at(270) + SignedDuration::from_secs(seconds);
    assert!(analyzer.silent(after(100)).is_empty());
    let silent = analyzer.silent(after(121));
    assert_eq!(silent.len(), 1);
    assert_eq!(silent[0].1.expected, SignedDuration::from_secs(120));
    analyzer.ingest(Pulse {
        phase: Phase::Yielding,
        ..pulse(300, "done")
    });
    assert!(analyzer.silent(after(99_999)).is_empty());
}

#[test]
fn hashes_have_the_length_that_was_asked_for() {
    assert_eq!(ContentHash::with_digits("x", 16).to_string().len(), 16);
    assert_eq!(ContentHash::with_digits("x", 0).to_string().len(), 1);
    assert_eq!(ContentHash::parse("00ff").unwrap().to_string(), "00ff");
    assert_eq!(ContentHash::parse(""), None);
    assert_eq!(ContentHash::parse("0123456789abcdef0"), None);
}

#[test]
fn the_least_recent_agent_makes_room() {
    let mut analyzer = VitalityAnalyzer::new(Options {
        max_agents: 2,
        ..Options::default()
    });
    for (number, agent) in ["a", "b", "c"].into_iter().enumerate() {
        analyzer.ingest(Pulse {
            agent: agent.into(),
            ..pulse(number as i64, "x")
        });
    }
    assert_eq!(analyzer.status("a"), None);
    assert!(analyzer.status("c").is_some());
}
