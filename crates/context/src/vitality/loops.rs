//! Finding repetition in the newest pulses of one agent.

use crate::turn::Outcome;

use super::pulse::{Phase, Pulse};
use super::status::{Loop, LoopKind};

/// The longest cycle that is looked for.
const MAX_PERIOD: usize = 5;

/// In which way two steps are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sameness {
    Exact,
    Near,
}

/// The loop that the newest of `pulses` (oldest first) closes.
///
/// Waiting is left out: there repetition is the healthy thing. Of the rest,
///
/// 1. a *run*: the newest `threshold` steps in a row are the same; one more where they are only near;
/// 2. a *cycle*: the last `threshold × period` steps repeat with a period of 2 to 5;
/// 3. *scattered*: `2 × threshold` of the last `3 × threshold` steps are exactly the newest one.
///
/// Steps in a row whose distances grow by half on average are a retry with back-off and no run.
pub(super) fn find(pulses: &[&Pulse], threshold: usize) -> Option<Loop> {
    let steps: Vec<&Pulse> = pulses
        .iter()
        .copied()
        .filter(|pulse| pulse.phase != Phase::Waiting)
        .collect();
    // Nothing new is learnt about loops while the newest pulse waits.
    if pulses.last()?.phase == Phase::Waiting {
        return None;
    }
    match run(&steps, threshold) {
        Run::Loop(found) => Some(found),
        // The same step over and over would pass for a cycle of any period.
        Run::BackOff => None,
        Run::Short => cycle(&steps, threshold).or_else(|| scattered(&steps, threshold)),
    }
}

/// Returns true if two steps are the same: in what was done *and* in what came of it.
///
/// The same call with another answer is polling or progress. Near calls that both succeeded are
/// progress too (the next page, the next file): they only count where both failed, and failed alike.
/// Where no answers are known, what was done decides alone.
fn same(one: &Pulse, other: &Pulse) -> Option<Sameness> {
    if one.phase != other.phase {
        return None;
    }
    let exact = one.hash == other.hash;
    let near = exact
        || one
            .shape
            .zip(other.shape)
            .is_some_and(|(one, other)| one.is_near(other));
    match (one.answer, other.answer) {
        (Some(first), Some(second)) => {
            let both_failed = first.outcome == Outcome::Failed && second.outcome == Outcome::Failed;
            if exact && first.hash == second.hash {
                Some(Sameness::Exact)
            } else {
                (near && both_failed && first.shape.is_near(second.shape)).then_some(Sameness::Near)
            }
        }
        (None, None) if near && !exact => Some(Sameness::Near),
        _ => exact.then_some(Sameness::Exact),
    }
}

/// The newest steps in a row.
enum Run {
    Short,
    BackOff,
    Loop(Loop),
}

fn run(steps: &[&Pulse], threshold: usize) -> Run {
    let Some(newest) = steps.last() else {
        return Run::Short;
    };
    let kinds: Vec<Sameness> = steps
        .iter()
        .rev()
        .map_while(|step| same(step, newest))
        .collect();
    let exact = kinds
        .iter()
        .take_while(|kind| **kind == Sameness::Exact)
        .count();
    let (kind, count) = if kinds.len() > exact && kinds.len() > threshold {
        (LoopKind::Near, kinds.len())
    } else {
        // A run of exact repeats may end in older near ones.
        (LoopKind::Exact, exact)
    };
    let from = steps.len().saturating_sub(count);
    if count < threshold {
        Run::Short
    } else if backs_off(steps.get(from..).unwrap_or(&[])) {
        Run::BackOff
    } else {
        Run::Loop(Loop { kind, count })
    }
}

/// Returns true if the distances grow from one to the next, by half on average.
fn backs_off(run: &[&Pulse]) -> bool {
    let distances: Vec<f64> = run
        .iter()
        .zip(run.iter().skip(1))
        .map(|(one, next)| next.at.duration_since(one.at).as_secs_f64())
        .collect();
    let growing = distances
        .iter()
        .zip(distances.iter().skip(1))
        .all(|(one, next)| *one > 0.0 && *next >= one * 1.1);
    let (Some(first), Some(last), Ok(steps)) = (
        distances.first(),
        distances.last(),
        i32::try_from(distances.len()),
    ) else {
        return false;
    };
    steps >= 2 && growing && *last >= first * 1.5_f64.powi(steps - 1)
}

fn cycle(steps: &[&Pulse], threshold: usize) -> Option<Loop> {
    (2..=MAX_PERIOD).find_map(|period| {
        let matching = steps
            .iter()
            .rev()
            .zip(steps.iter().rev().skip(period))
            .take_while(|(step, before)| same(step, before).is_some())
            .count();
        // `matching` comparisons cover `matching + period` steps.
        let rounds = matching / period + 1;
        (rounds >= threshold).then_some(Loop {
            kind: LoopKind::Cycle { period },
            count: rounds,
        })
    })
}

fn scattered(steps: &[&Pulse], threshold: usize) -> Option<Loop> {
    let newest = steps.last()?;
    let count = steps
        .iter()
        .rev()
        .take(threshold.saturating_mul(3))
        .filter(|step| same(step, newest) == Some(Sameness::Exact))
        .count();
    (count >= threshold.saturating_mul(2)).then_some(Loop {
        kind: LoopKind::Exact,
        count,
    })
}
