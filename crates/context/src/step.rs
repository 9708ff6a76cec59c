//! Steps: an assistant turn with tool calls and all their results, atomic.
//!
//! Providers refuse a call without its result and a result without its call. So a conversation may
//! only be cut between steps. [`steps`] divides a conversation into steps without gaps: a turn that
//! takes part in no call is a step of its own.
//!
//! How the odd cases that real sessions contain are read:
//!
//! | case | reading |
//! |---|---|
//! | parallel calls, results in several turns | one step, up to the last result |
//! | other turns between a call and its result | part of the step, so that nothing is cut apart |
//! | calls of two assistant turns that overlap | one step |
//! | a call without a result, with a later assistant turn or user text | aborted: the step ends there |
//! | a call without a result at the end | in flight: the step reaches to the end and must stay |
//! | a result without a call | a step of its own, [`StepKind::Stray`] |
//! | one id for two calls | a result belongs to the nearest earlier unanswered call of that id |

use std::collections::HashMap;
use std::ops::Range;

use crate::turn::{Role, Turn};

/// A run of turns that is kept or removed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    turns: Range<usize>,
    kind: StepKind,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// One turn without calls and results.
    Plain,
    /// Calls, each with its result.
    Complete,
    /// At least one call never got a result, and the conversation went on.
    Aborted,
    /// At least one call has no result yet, and nothing came after it. It must stay in view.
    InFlight,
    /// One turn with a result to which there is no call.
    Stray,
}

impl Step {
    pub(crate) const fn new(turns: Range<usize>, kind: StepKind) -> Self {
        Self { turns, kind }
    }

    /// The indices of its turns.
    #[must_use]
    pub fn turns(&self) -> Range<usize> {
        self.turns.clone()
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> StepKind {
        self.kind
    }

    /// The turns themselves, out of the conversation that the step was found in.
    #[must_use]
    pub fn of<'a>(&self, turns: &'a [Turn]) -> &'a [Turn] {
        turns.get(self.turns()).unwrap_or_default()
    }
}

/// Divides a conversation into steps: in order, without gaps or overlaps. Takes time linear in the
/// number of parts.
#[must_use]
pub fn steps(turns: &[Turn]) -> Vec<Step> {
    let answers = Answers::of(turns);
    let mut out: Vec<Step> = Vec::new();
    let mut next_speaker = turns.len();
    // Backwards, so that the next speaker after each turn is known when the turn is met.
    let mut spans: Vec<Option<Step>> = Vec::with_capacity(turns.len());
    for (index, turn) in turns.iter().enumerate().rev() {
        spans.push(answers.span(index, turn, next_speaker, turns.len()));
        if speaks(turn) {
            next_speaker = index;
        }
    }
    for (index, span) in spans.into_iter().rev().enumerate() {
        let inside = out.last_mut().filter(|open| index < open.turns.end);
        match (inside, span) {
            (Some(open), Some(span)) => open.absorb(&span),
            (Some(_), None) => {}
            (None, Some(span)) => out.push(span),
            (None, None) => out.push(Step {
                turns: index..index + 1,
                kind: answers.lone_kind(index),
            }),
        }
    }
    out
}

/// The places where a conversation may be cut without going through a step, ascending. Cut `i` lies
/// between the turns `i - 1` and `i`: the turns before `i` are old, the others are kept.
///
/// `0` (everything is kept) is always legal. `turns.len()` (nothing is kept) is legal unless a call
/// is in flight.
#[must_use]
pub fn legal_cuts(turns: &[Turn]) -> Vec<usize> {
    let steps = steps(turns);
    let mut cuts: Vec<usize> = steps.iter().map(|step| step.turns.start).collect();
    match steps.last() {
        None => cuts.push(0),
        Some(last) if last.kind != StepKind::InFlight => cuts.push(last.turns.end),
        Some(_) => {}
    }
    cuts
}

impl Step {
    fn absorb(&mut self, other: &Self) {
        self.turns.end = self.turns.end.max(other.turns.end);
        self.kind = match (self.kind, other.kind) {
            (StepKind::InFlight, _) | (_, StepKind::InFlight) => StepKind::InFlight,
            (StepKind::Aborted, _) | (_, StepKind::Aborted) => StepKind::Aborted,
            _ => StepKind::Complete,
        };
    }
}

/// Whether a call that is still unanswered when this turn begins was given up.
fn speaks(turn: &Turn) -> bool {
    match turn.role() {
        Role::Assistant => true,
        Role::User => turn.texts().next().is_some(),
        Role::System | Role::Tool | Role::Other => false,
    }
}

/// Which results answer which calls.
struct Answers {
    /// For each turn with calls: how many are unanswered, and the last turn that answers one.
    calls: HashMap<usize, CallState>,
    /// Turns with a result that answers nothing.
    stray: Vec<bool>,
}

#[derive(Clone, Copy)]
struct CallState {
    open: usize,
    last_answer: usize,
}

impl Answers {
    fn of(turns: &[Turn]) -> Self {
        let mut calls: HashMap<usize, CallState> = HashMap::new();
        let mut stray = vec![false; turns.len()];
        // For each call id, the turns with an unanswered call of that id, once per call.
        let mut waiting: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, (turn, stray)) in turns.iter().zip(&mut stray).enumerate() {
            for call in turn.calls() {
                waiting.entry(call.id.as_str()).or_default().push(index);
                let state = calls.entry(index).or_insert(CallState {
                    open: 0,
                    last_answer: index,
                });
                state.open += 1;
            }
            for result in turn.results() {
                let asked = waiting
                    .get_mut(result.call.as_str())
                    .and_then(Vec::pop)
                    .and_then(|asked| calls.get_mut(&asked));
                match asked {
                    Some(state) => {
                        state.open -= 1;
                        state.last_answer = state.last_answer.max(index);
                    }
                    None => *stray = true,
                }
            }
        }
        Self { calls, stray }
    }

    fn span(&self, index: usize, turn: &Turn, next_speaker: usize, len: usize) -> Option<Step> {
        turn.calls().next()?;
        let state = self.calls.get(&index)?;
        let answered = state.last_answer + 1;
        let (end, kind) = match state.open {
            0 => (answered, StepKind::Complete),
            _ if next_speaker < len => (answered.max(next_speaker), StepKind::Aborted),
            _ => (len, StepKind::InFlight),
        };
        Some(Step {
            turns: index..end,
            kind,
        })
    }

    fn lone_kind(&self, index: usize) -> StepKind {
        match self.stray.get(index) {
            Some(true) => StepKind::Stray,
            _ => StepKind::Plain,
        }
    }
}

#[cfg(test)]
mod tests;
