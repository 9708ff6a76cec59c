//! Learning how far an estimate is off from what providers report.
//!
//! A provider reports the tokens of a whole request: system prompt, tool definitions and frames
//! included, which an observer of the messages alone does not see. They are the same in each request
//! of a conversation, so [`Growth`] takes the difference between two requests, and [`Calibration`]
//! learns from differences only.

use std::collections::{BTreeMap, VecDeque};

use context::{Part, TokenCounter, Tokens};

use crate::content::ContentKind;
use crate::model_counter::ModelCounter;

/// Learned factors stay within these bounds: a reading outside of them says that something other
/// than the message text was counted.
pub const FACTOR_BOUNDS: (f64, f64) = (0.6, 1.8);

/// The readings that a factor rests on; older ones are forgotten.
const WINDOW: usize = 96;

/// The most models, each with each kind of text, that are learned about: names come from clients.
const MOST: usize = 1_024;

/// Differences below this many tokens are not learned from: frames outweigh text there.
const SMALLEST: Tokens = Tokens::new(64);

/// The weight of the prior belief, a factor of 1, in tokens of readings.
const PRIOR_WEIGHT: f64 = 2_000.0;

/// Takes the growth between the requests of one conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    last: Option<(Tokens, Tokens)>,
}

/// By how much a request is larger than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// By our own estimate.
    pub estimated: Tokens,
    /// By the provider's report.
    pub reported: Tokens,
    /// The kind of all, or nearly all, of the added text, where it is known.
    pub kind: Option<ContentKind>,
}

impl Growth {
    /// Takes the next request's size, estimated and reported. Gives nothing for the first request, and
    /// none where either size did not grow: then the conversation was cut or compacted.
    pub fn next(&mut self, estimated: Tokens, reported: Tokens) -> Option<Reading> {
        let (before_estimated, before_reported) = self.last.replace((estimated, reported))?;
        let estimated = estimated.saturating_sub(before_estimated);
        let reported = reported.saturating_sub(before_reported);
        (estimated > Tokens::ZERO && reported > Tokens::ZERO).then_some(Reading {
            estimated,
            reported,
            kind: None,
        })
    }
}

/// The factors learned for each model.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    learned: BTreeMap<(String, Option<ContentKind>), Learned>,
}

/// The fit of the estimate for a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The readings it rests on.
    pub readings: usize,
    /// The factor for estimates.
    pub factor: f64,
    /// The median of |estimate − report| ÷ report of the readings, uncorrected.
    pub error_before: f64,
    /// The same, each reading predicted with the factor known before it came.
    pub error_after: f64,
}

impl Calibration {
    /// Nothing learned: every factor is 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns from one reading. Readings that are too small to say anything are ignored, and so are
    /// those of new models where a thousand factors are learned already.
    pub fn observe(&mut self, model: &str, reading: Reading) {
        if reading.estimated < SMALLEST || reading.reported == Tokens::ZERO {
            return;
        }
        let mut learn = |kind| {
            let key = (model.to_owned(), kind);
            if self.learned.len() < MOST || self.learned.contains_key(&key) {
                self.learned.entry(key).or_default().observe(reading);
            }
        };
        learn(None);
        if reading.kind.is_some() {
            learn(reading.kind);
        }
    }

    /// The factor for an estimate for a model: 1 where nothing was learned. With a kind,
    /// what was learned about that kind, where that is at least eight readings.
    #[must_use]
    pub fn factor(&self, model: &str, kind: Option<ContentKind>) -> f64 {
        let of = |kind| self.learned.get(&(model.to_owned(), kind));
        kind.and_then(|kind| of(Some(kind)))
            .filter(|learned| learned.readings.len() >= 8)
            .or_else(|| of(None))
            .map_or(1.0, |learned| learned.factor)
    }

    /// The fit of the estimate for a model; `None` where nothing was learned.
    #[must_use]
    pub fn fit(&self, model: &str) -> Option<Fit> {
        self.learned
            .get(&(model.to_owned(), None))
            .map(Learned::fit)
    }

    /// A counter with what is known now.
    #[must_use]
    pub fn counter(&self, model: &str, counter: ModelCounter) -> CalibratedCounter {
        let factors = ContentKind::ALL.map(|kind| (kind, self.factor(model, Some(kind))));
        CalibratedCounter { counter, factors }
    }
}

/// A counter whose estimates are corrected by what was learned.
#[derive(Clone, Debug)]
pub struct CalibratedCounter {
    counter: ModelCounter,
    factors: [(ContentKind, f64); ContentKind::ALL.len()],
}

impl TokenCounter for CalibratedCounter {
    fn count(&self, text: &str) -> Tokens {
        let tokens = self.counter.count(text);
        let kind = ContentKind::of(text);
        let factor = self.factors.iter().find(|(known, _)| *known == kind);
        factor.map_or(tokens, |&(_, factor)| tokens.scaled(factor))
    }

    fn count_part(&self, part: &Part) -> Tokens {
        match part {
            // Not text, so nothing was learned about it.
            Part::Attachment(_) | Part::Opaque(_) => self.counter.count_part(part),
            readable => readable.readable().map(|text| self.count(text)).sum(),
        }
    }
}

#[derive(Clone, Debug)]
struct Learned {
    readings: VecDeque<Judged>,
    factor: f64,
}

#[derive(Clone, Copy, Debug)]
struct Judged {
    /// Report ÷ estimate.
    ratio: f64,
    /// The estimate: how much the ratio weighs.
    weight: f64,
    /// The relative error of the uncorrected estimate.
    before: f64,
    /// The relative error with the factor that was known then.
    after: f64,
}

impl Default for Learned {
    fn default() -> Self {
        Self {
            readings: VecDeque::new(),
            factor: 1.0,
        }
    }
}

impl Learned {
    fn observe(&mut self, reading: Reading) {
        let (estimated, reported) = (reading.estimated.as_f64(), reading.reported.as_f64());
        let error = |predicted: f64| (predicted - reported).abs() / reported;
        self.readings.push_back(Judged {
            ratio: reported / estimated,
            weight: estimated,
            before: error(estimated),
            after: error(estimated * self.factor),
        });
        if self.readings.len() > WINDOW {
            self.readings.pop_front();
        }
        self.factor = self.learn();
    }

    /// The weighted median of the ratios, drawn towards 1 while there is little to go by, within
    /// [`FACTOR_BOUNDS`]. A median moves only when half of the tokens say so; single requests with an
    /// image or a changed system prompt do not count.
    fn learn(&self) -> f64 {
        let mut ratios: Vec<(f64, f64)> = self
            .readings
            .iter()
            .map(|reading| (reading.ratio, reading.weight))
            .collect();
        ratios.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = ratios.iter().map(|(_, weight)| weight).sum();
        let mut seen = 0.0;
        let median = ratios
            .iter()
            .find(|(_, weight)| {
                seen += weight;
                seen >= total / 2.0
            })
            .map_or(1.0, |(ratio, _)| *ratio);
        let (least, most) = FACTOR_BOUNDS;
        let drawn = (PRIOR_WEIGHT + total * median.clamp(least, most)) / (PRIOR_WEIGHT + total);
        drawn.clamp(least, most)
    }

    fn fit(&self) -> Fit {
        let median = |error: fn(&Judged) -> f64| {
            let mut errors: Vec<f64> = self.readings.iter().map(error).collect();
            errors.sort_unstable_by(f64::total_cmp);
            errors.get(errors.len() / 2).copied().unwrap_or(0.0)
        };
        Fit {
            readings: self.readings.len(),
            factor: self.factor,
            error_before: median(|reading| reading.before),
            error_after: median(|reading| reading.after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Calibration, FACTOR_BOUNDS, Growth, Reading};
    use crate::content::ContentKind;
    use crate::model_counter::ModelCounter;
    use crate::tokenizer::Tokenizer;
    use context::{TokenCounter, Tokens};
    use proptest::prelude::*;

    fn reading(estimated: u64, reported: u64) -> Reading {
        Reading {
            estimated: Tokens::new(estimated),
            reported: Tokens::new(reported),
            kind: None,
        }
    }

    #[test]
    fn growth_leaves_out_what_every_request_has() {
        let mut growth = Growth::default();
        let next = |growth: &mut Growth, estimated, reported| {
            growth.next(Tokens::new(estimated), Tokens::new(reported))
        };
        assert_eq!(next(&mut growth, 100, 20_120), None);
        assert_eq!(next(&mut growth, 600, 20_720), Some(reading(500, 600)));
        assert_eq!(
            next(&mut growth, 50, 20_060),
            None,
            "the conversation was cut"
        );
        assert_eq!(next(&mut growth, 150, 20_180), Some(reading(100, 120)));
    }

    #[test]
    fn nothing_learned_changes_nothing() {
        let calibration = Calibration::new();
        assert_eq!(calibration.factor("m", Some(ContentKind::Code)), 1.0);
        assert_eq!(calibration.fit("m"), None);
        let counter = ModelCounter::new(Tokenizer::Claude3);
        let text = "The next step is to read the log again.";
        assert_eq!(
            calibration.counter("m", counter).count(text),
            counter.count(text)
        );
    }

    #[test]
    fn tiny_readings_are_ignored() {
        let mut calibration = Calibration::new();
        calibration.observe("m", reading(10, 400));
        assert_eq!(calibration.fit("m"), None);
    }

    #[test]
    fn a_kind_is_learned_apart_once_it_was_seen_often() {
        let mut calibration = Calibration::new();
        for _ in 0..30 {
            calibration.observe("m", reading(2_000, 2_000));
        }
        for seen in 0..20 {
            let code = calibration.factor("m", Some(ContentKind::Code));
            assert_eq!(code > 1.1, seen >= 8, "after {seen}");
            calibration.observe(
                "m",
                Reading {
                    kind: Some(ContentKind::Code),
                    ..reading(2_000, 2_400)
                },
            );
        }
        assert!((calibration.factor("m", None) - 1.0).abs() < 0.01);
        let counter = calibration.counter("m", ModelCounter::new(Tokenizer::O200k));
        let code = "if (a[i] != b[j]) { return f(x, y); }\n".repeat(20);
        let plain = ModelCounter::new(Tokenizer::O200k).count(&code);
        assert!(counter.count(&code) > plain);
    }

    proptest! {
        #[test]
        fn a_steady_factor_is_found(factor in 0.65_f64..1.7, sizes in prop::collection::vec(500_u64..20_000, 40..90)) {
            let mut calibration = Calibration::new();
            for &size in &sizes {
                calibration.observe("m", reading(size, Tokens::new(size).scaled(factor).get()));
            }
            let fit = calibration.fit("m").unwrap();
            prop_assert!((fit.factor - factor).abs() < 0.05, "{fit:?}");
            prop_assert!(fit.error_after <= fit.error_before + 1e-9);
        }

        #[test]
        fn a_fifth_of_nonsense_does_not_matter(
            factor in 0.8_f64..1.4,
            nonsense in prop::collection::vec((1_000_u64..1_010, 1_u64..1_000_000), 10),
        ) {
            let mut calibration = Calibration::new();
            for (at, &(estimated, reported)) in nonsense.iter().cycle().take(50).enumerate() {
                let honest = (estimated, Tokens::new(estimated).scaled(factor).get());
                let (estimated, reported) = if at % 5 == 0 { (estimated, reported) } else { honest };
                calibration.observe("m", reading(estimated, reported));
            }
            prop_assert!((calibration.factor("m", None) - factor).abs() < 0.03);
        }

        #[test]
        fn factors_stay_within_bounds(pairs in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 40), 0..120)) {
            let mut calibration = Calibration::new();
            for (estimated, reported) in pairs {
                calibration.observe("m", reading(estimated, reported));
                let factor = calibration.factor("m", None);
                prop_assert!((FACTOR_BOUNDS.0..=FACTOR_BOUNDS.1).contains(&factor));
            }
        }
    }
}
