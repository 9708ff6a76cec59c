//! The choice of steps to drop and steps to summarize.

use std::collections::HashSet;
use std::ops::Range;

use crate::cut::Rule;
use crate::linearity::ResourceClass;
use crate::split::by_tokens;
use crate::step::{Step, StepKind, steps};
use crate::turn::{Turn, TurnId};
use crate::units::Tokens;
use crate::window::ContextWindow;

/// The turns to take out of a window, in order.
pub struct Plan {
    pub dropped: Vec<TurnId>,
    pub summarised: Vec<TurnId>,
    /// The most tokens of the summary.
    pub summary_budget: Tokens,
}

/// Room to leave for what comes in.
pub struct Reserve {
    /// For the stand-in without a summary.
    pub stand_in: Tokens,
    /// For the summary.
    pub summary: Tokens,
}

/// A summary shorter than this says nothing.
const SHORTEST_SUMMARY: Tokens = Tokens::new(64);

/// A step that may be taken out.
struct Candidate {
    turns: Range<usize>,
    tokens: Tokens,
    class: ResourceClass,
}

impl Plan {
    /// The least that brings a window down to a target: droppable steps from the oldest on, then
    /// required ones from the oldest on.
    pub fn reaching(
        window: &ContextWindow,
        target: Tokens,
        keep_recent: Tokens,
        reserve: &Reserve,
    ) -> Self {
        let turns = window.to_vec();
        let end = match keep_recent {
            Tokens::ZERO => turns.len(),
            tokens => by_tokens(&turns, tokens, Rule::Steps),
        };
        let candidates = candidates(window, &turns, |step| step.turns().end <= end);
        let room = |taken: Tokens| target.saturating_sub(window.tokens().saturating_sub(taken));

        let mut taken = Tokens::ZERO;
        let mut dropped = Vec::new();
        let mut summarised = Vec::new();
        for step in of_class(&candidates, ResourceClass::Droppable) {
            if room(taken) >= reserve.stand_in {
                break;
            }
            taken += step.tokens;
            dropped.push(step.turns.clone());
        }
        let summary = reserve.summary.max(SHORTEST_SUMMARY);
        if room(taken) < reserve.stand_in {
            for step in of_class(&candidates, ResourceClass::Required) {
                if room(taken) >= reserve.stand_in + summary {
                    break;
                }
                taken += step.tokens;
                summarised.push(step.turns.clone());
            }
        }
        let left = room(taken).saturating_sub(reserve.stand_in);
        Self {
            dropped: ids(&turns, &dropped),
            summarised: ids(&turns, &summarised),
            summary_budget: left.clamp(SHORTEST_SUMMARY, summary),
        }
    }

    /// The turns to sum up.
    pub fn summarised_in(&self, turns: &[Turn]) -> Vec<Turn> {
        let wanted: HashSet<TurnId> = self.summarised.iter().copied().collect();
        turns
            .iter()
            .filter(|turn| wanted.contains(&turn.id()))
            .cloned()
            .collect()
    }

    /// The turns after the last one that is summed up.
    pub fn after_summarised<'a>(&self, turns: &'a [Turn]) -> &'a [Turn] {
        let last = self.summarised.last();
        let place = turns.iter().rposition(|turn| Some(&turn.id()) == last);
        place
            .and_then(|place| turns.get(place + 1..))
            .unwrap_or_default()
    }
}

/// The steps that may be taken out, oldest first. The class of a step is the highest of its turns.
fn candidates(
    window: &ContextWindow,
    turns: &[Turn],
    may_go: impl Fn(&Step) -> bool,
) -> Vec<Candidate> {
    steps(turns)
        .iter()
        .filter(|step| step.kind() != StepKind::InFlight && may_go(step))
        .map(|step| {
            let classes = step.of(turns).iter().map(|turn| window.class_of(turn.id()));
            Candidate {
                turns: step.turns(),
                tokens: step.of(turns).iter().map(Turn::tokens).sum(),
                class: classes.max().flatten().unwrap_or(ResourceClass::Preserved),
            }
        })
        .collect()
}

fn of_class(candidates: &[Candidate], class: ResourceClass) -> impl Iterator<Item = &Candidate> {
    candidates
        .iter()
        .filter(move |candidate| candidate.class == class)
}

fn ids(turns: &[Turn], ranges: &[Range<usize>]) -> Vec<TurnId> {
    ranges
        .iter()
        .filter_map(|range| turns.get(range.clone()))
        .flatten()
        .map(Turn::id)
        .collect()
}
