//! MDL: the quality of a compression.

use context::coded::Coded;
use context::quality::{
    Gate, GateError, Quality, Rejection, Verdict, reconstruction_error, summary_error,
};
use context::{Heuristic, Tokens};

const SOURCE: &str = "The parser in src/parse.rs reads tokens from the lexer. It fails with E0308 when \
    the buffer is empty, because next() returns None. The user wants no new dependency. We tried a \
    lookahead of two tokens, which made the benchmark slower by 40 percent, and went back.";
const SUMMARY: &str = "src/parse.rs fails with E0308 on an empty buffer: next() returns None. No new \
    dependency. Lookahead of two tokens tried, slower.";

fn quality(spec: u64, artifact: u64, error: f64) -> Quality {
    Quality::new(Tokens::new(spec), Tokens::new(artifact), error)
}

fn source() -> String {
    SOURCE.repeat(3)
}

#[test]
fn mdl_1_an_empty_spec_is_worth_nothing() {
    let quality = quality(0, 100, 0.0);
    assert_eq!((quality.ratio(), quality.score()), (0.0, 0.0));
    assert!(!quality.is_valid());
    let verdict = Gate::default().judge(&source(), "", &Heuristic);
    assert_eq!(verdict.rejection(), Some(Rejection::Degenerate));
}

#[test]
fn mdl_2_a_short_faithful_spec_is_high_quality() {
    let quality = quality(100, 400, 0.05);
    assert!(quality.ratio() > 3.0 && quality.score() > 3.0);
    assert!(quality.is_valid() && quality.is_high());
    // A few words do not win by being few: the fixed cost of a model is charged.
    assert!(self::quality(4, 11, 0.05).score() < 1.0);
}

#[test]
fn mdl_3_a_lossy_spec_is_worth_little() {
    let quality = quality(100, 400, 0.9);
    assert!(quality.score() < 0.5);
    assert!(!quality.is_valid());
}

#[test]
fn mdl_4_a_quality_does_not_change() {
    let quality = quality(100, 400, 0.2);
    let copy = quality;
    assert_eq!(copy, quality);
}

#[test]
fn mdl_5_everything_is_in_range_by_construction() {
    for error in [-1.0, 1.5, f64::NAN, f64::INFINITY] {
        for (spec, artifact) in [(0, 0), (1, 0), (0, 1), (1, u64::MAX), (u64::MAX, 1)] {
            let quality = quality(spec, artifact, error);
            assert!((0.0..=1.0).contains(&quality.error()));
            assert!((0.0..=Quality::MAX_RATIO).contains(&quality.score()));
        }
    }
    assert_eq!(quality(1, 100, f64::NAN).score(), 0.0);
}

#[test]
fn mdl_6_its_parts_can_be_had() {
    let quality = quality(84, 400, 0.25);
    assert_eq!(
        (quality.ratio(), quality.error(), quality.score()),
        (4.0, 0.25, 3.0)
    );
}

#[test]
fn mdl_7_a_rejection_says_what_and_how_much() {
    let reason = Rejection::TooLossy {
        error: 0.9,
        most: 0.5,
    };
    assert_eq!(
        reason.to_string(),
        "reconstruction error 0.90 is too high (at most 0.50)"
    );
}

#[test]
fn mdl_8_perfect_regeneration_has_no_error() {
    assert_eq!(reconstruction_error(SOURCE, SOURCE), 0.0);
    assert!(quality(10, 100, 0.0).score() > 0.0);
}

#[test]
fn mdl_9_wrong_regeneration_has_a_large_error() {
    let error = reconstruction_error(SOURCE, "Something else entirely was written here.");
    assert!(error > 0.9, "{error}");
}

#[test]
fn mdl_10_the_error_measure_can_be_replaced() {
    let verdict = Gate::default().judge_with(&source(), SUMMARY, &Heuristic, |_, _| 0.25);
    assert_eq!(verdict.quality().error(), 0.25);
}

#[test]
fn mdl_11_similar_texts_have_a_small_error() {
    let error = reconstruction_error("the cat sat on the mat today", "the cat sat on a mat today");
    assert!(error > 0.0 && error < 0.5, "{error}");
}

#[test]
fn mdl_12_identical_texts_have_none() {
    for text in ["", "x", "日本語", "..."] {
        assert_eq!(reconstruction_error(text, text), 0.0);
    }
}

#[test]
fn mdl_13_different_texts_have_one() {
    for (one, other) in [
        ("abc abc", "cba cba"),
        ("one two three", "three two one"),
        (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#),
        (r#"{"a":1}"#, r#"{"a":7}"#),
        ("[1,2,3]", "[4,5,6]"),
        ("日本", "本日"),
        ("word", ""),
        ("...", "!!!"),
    ] {
        let error = reconstruction_error(one, other);
        assert!(error > 0.0 && error <= 1.0, "{one} / {other}: {error}");
        assert_eq!(error.to_bits(), reconstruction_error(other, one).to_bits());
    }
}

#[test]
fn mdl_14_the_defaults() {
    assert_eq!(Gate::default(), Gate::new(0.5, 0.5).unwrap());
}

#[test]
fn mdl_15_a_gate_of_ones_own() {
    let gate = Gate::new(2.0, 0.3).unwrap();
    let held = "Gate { min_quality: 2.0, max_error: 0.3 }";
    assert_eq!(format!("{gate:?}"), held);
}

#[test]
fn mdl_16_bad_thresholds_are_errors() {
    assert_eq!(Gate::new(-1.0, 0.5), Err(GateError::MinQuality(-1.0)));
    assert_eq!(Gate::new(0.5, 1.5), Err(GateError::MaxError(1.5)));
    for (quality, error, code) in [(f64::NAN, 0.5, "E0450"), (0.5, f64::NAN, "E0451")] {
        assert_eq!(Gate::new(quality, error).unwrap_err().code().as_str(), code);
    }
}

#[test]
fn mdl_17_a_good_summary_is_accepted() {
    let verdict = Gate::default().judge(&source(), SUMMARY, &Heuristic);
    assert!(matches!(verdict, Verdict::Accepted(_)), "{verdict:?}");
}

#[test]
fn mdl_18_a_low_quality_is_rejected() {
    let gate = Gate::new(2.0, 0.5).unwrap();
    let objection = gate.objection(&quality(100, 200, 0.1));
    assert!(matches!(objection, Some(Rejection::TooWeak { .. })));
}

#[test]
fn mdl_19_a_large_error_is_rejected() {
    let objection = Gate::default().objection(&quality(10, 1_000, 0.6));
    assert!(matches!(objection, Some(Rejection::TooLossy { .. })));
}

#[test]
fn mdl_20_the_error_is_the_reason() {
    let gate = Gate::new(0.5, 0.3).unwrap();
    let reason = gate
        .objection(&quality(10, 1_000, 0.5))
        .unwrap()
        .to_string();
    assert!(reason.contains("reconstruction error") && reason.contains("too high"));
}

#[test]
fn mdl_21_the_quality_is_the_reason() {
    let gate = Gate::new(5.0, 0.5).unwrap();
    let reason = gate.objection(&quality(100, 200, 0.1)).unwrap().to_string();
    assert!(reason.contains("quality") && reason.contains("too low"));
}

#[test]
fn mdl_22_no_reason_where_acceptable() {
    assert_eq!(Gate::default().objection(&quality(100, 400, 0.1)), None);
}

#[test]
fn mdl_23_judging_end_to_end() {
    let quality = Gate::default()
        .judge(&source(), SUMMARY, &Heuristic)
        .quality();
    assert!(
        quality.ratio() > 1.0 && quality.error() < 0.5,
        "{quality:?}"
    );
    assert_eq!(quality.error(), summary_error(&source(), SUMMARY));
}

#[test]
fn mdl_24_an_accepted_summary_comes_with_its_quality() {
    let Verdict::Accepted(quality) = Gate::default().judge(&source(), SUMMARY, &Heuristic) else {
        panic!("it is a good summary");
    };
    assert!(quality.is_valid());
}

#[test]
fn mdl_25_a_poor_summary_is_rejected_with_a_reason() {
    let junk = "lorem ".repeat(30);
    let other = "The weather was fine all week, and the garden needed no water at all.";
    for (summary, degenerate) in [
        ("x", true),
        (" ", true),
        (junk.as_str(), true),
        (other, false),
    ] {
        let verdict = Gate::default().judge(&source(), summary, &Heuristic);
        let reason = verdict
            .rejection()
            .expect("it says nothing about the source");
        assert_eq!(
            reason == Rejection::Degenerate,
            degenerate,
            "{summary:?}: {reason}"
        );
    }
    let verdict = Gate::default().judge(SOURCE, &SOURCE.repeat(2), &Heuristic);
    assert_eq!(verdict.rejection(), Some(Rejection::Grew));
}
