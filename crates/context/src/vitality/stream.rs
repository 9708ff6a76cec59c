//! The newest pulses of one agent, in the order of their times.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::fingerprint::ContentHash;
use super::pulse::{Phase, Pulse};
use super::status::{Rhythm, Silence};

/// The number of newest pulses that slope and rhythm cover.
const SLOPE_OVER: usize = 10;
const RHYTHM_OVER: usize = 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pulses: VecDeque<Pulse>,
}

impl Stream {
    /// Takes a pulse in at its time and lets the oldest go beyond `window`. Says whether it came
    /// after a later one.
    pub(super) fn insert(&mut self, pulse: Pulse, window: usize) -> bool {
        let after = self
            .pulses
            .iter()
            .rev()
            .take_while(|other| other.at > pulse.at)
            .count();
        let at = self.pulses.len() - after;
        self.pulses.insert(at, pulse);
        while self.pulses.len() > window {
            self.pulses.pop_front();
        }
        after > 0
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Pulse> + ExactSizeIterator {
        self.pulses.iter()
    }

    /// The bytes it holds on the heap, apart from names and what else was said of a pulse.
    pub(super) fn bytes(&self) -> usize {
        self.pulses.capacity() * size_of::<Pulse>()
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.pulses.shrink_to_fit();
    }

    pub(super) fn newest(&self) -> Option<&Pulse> {
        self.pulses.back()
    }

    /// The count of each hash in the window.
    pub(super) fn counts(&self) -> BTreeMap<ContentHash, usize> {
        let mut counts = BTreeMap::new();
        for pulse in &self.pulses {
            *counts.entry(pulse.hash).or_default() += 1;
        }
        counts
    }

    /// The seconds between neighbouring pulses, oldest first.
    pub(super) fn intervals(&self) -> Vec<f64> {
        self.pulses
            .iter()
            .zip(self.pulses.iter().skip(1))
            .map(|(one, next)| next.at.duration_since(one.at).as_secs_f64())
            .collect()
    }

    /// Growth of the pressure per pulse, by least squares.
    pub(super) fn slope(&self) -> f64 {
        let recent: Vec<f64> = self
            .pulses
            .iter()
            .rev()
            .take(SLOPE_OVER)
            .map(|pulse| pulse.pressure.get())
            .filter(|pressure| pressure.is_finite())
            .collect();
        if recent.len() < 3 {
            return 0.0;
        }
        // Newest first, so time counts down from 0.
        let points = || {
            (0_u32..)
                .map(|age| -f64::from(age))
                .zip(recent.iter().copied())
        };
        let number: f64 = points().map(|_| 1.0).sum();
        let middle: f64 = points().map(|(time, _)| time).sum::<f64>() / number;
        let spread: f64 = points().map(|(time, _)| (time - middle).powi(2)).sum();
        let together: f64 = points()
            .map(|(time, pressure)| (time - middle) * pressure)
            .sum();
        together / spread
    }

    /// Quartiles, because one long pause says nothing. Pulses of one moment were told together, which says
    /// nothing either.
    pub(super) fn rhythm(&self) -> Rhythm {
        let mut intervals = self.recent_intervals();
        intervals.retain(|interval| *interval > 0.0);
        if intervals.len() < 8 {
            return Rhythm::Unknown;
        }
        match (quantile(&intervals, 0.25), quantile(&intervals, 0.75)) {
            (Some(low), Some(high)) if high > 9.0 * low => Rhythm::Erratic,
            _ => Rhythm::Regular,
        }
    }

    /// Returns true if the agent should have been heard of by `now`: it has been silent for `factor` times its
    /// own 90th percentile of intervals, and for `floor` at least. One that has yielded owes nothing.
    pub(super) fn silence(
        &self,
        now: Timestamp,
        floor: SignedDuration,
        factor: f64,
    ) -> Option<Silence> {
        let newest = self.newest()?;
        if newest.phase == Phase::Yielding {
            return None;
        }
        let usual = quantile(&self.recent_intervals(), 0.9).unwrap_or(0.0) * factor;
        // A factor or a distance beyond what a duration holds means: never silent.
        let usual = SignedDuration::try_from_secs_f64(usual).unwrap_or(SignedDuration::MAX);
        let expected = usual.max(floor);
        let lasting = now.duration_since(newest.at);
        (lasting > expected).then_some(Silence {
            since: newest.at,
            lasting,
            expected,
        })
    }

    /// The last intervals, sorted by length.
    fn recent_intervals(&self) -> Vec<f64> {
        let all = self.intervals();
        let mut recent: Vec<f64> = all.into_iter().rev().take(RHYTHM_OVER).collect();
        recent.sort_by(f64::total_cmp);
        recent
    }
}

/// The nearest-rank quantile of sorted numbers.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank among at most 20 numbers"
    )]
    let rank = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
    sorted.get(rank).copied()
}
