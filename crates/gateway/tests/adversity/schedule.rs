//! Fault schedules: what fails, and when.

use std::time::Duration;

use gateway::config::RouteChoice;
use sim::{Fault, When};

use crate::dice::Dice;

/// One conversation and its faults.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub seed: u64,
    pub route: RouteChoice,
    /// True if summaries come early.
    pub early: bool,
    pub steps: Vec<Step>,
}

/// One message of the user.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// The faults of its request and the retries, until one is answered.
    pub turn: Vec<Fault>,
    /// The faults of summaries from here on.
    pub summary: Vec<Fault>,
    /// True if the gateway is killed before this message.
    pub killed: bool,
    /// An order before this message: `undo`, `redo`, `prepare` or `swap`.
    pub order: Option<&'static str>,
    /// True if the answer is streamed.
    pub streamed: bool,
    /// The number of the user's words.
    pub words: usize,
    /// The number of words in the result of a tool, if the answer calls one.
    pub result: Option<usize>,
}

const STEPS: usize = 28;

impl Schedule {
    pub fn random(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let route = match dice.below(3) {
            0 => RouteChoice::Native,
            1 => RouteChoice::Readable,
            _ => RouteChoice::Extractive,
        };
        let (kills, early) = (dice.once_in(4), dice.once_in(2));
        let tools = dice.once_in(2);
        let steps = (0..STEPS)
            .map(|_| Step {
                turn: of_turns(&mut dice),
                summary: of_summaries(&mut dice),
                killed: kills && dice.once_in(8),
                streamed: dice.once_in(2),
                words: match early {
                    true => 60 + usize::try_from(dice.below(140)).unwrap(),
                    false => 60 + usize::try_from(dice.below(400)).unwrap(),
                },
                order: match dice.below(12) {
                    0 | 1 => Some("undo"),
                    2 => Some("redo"),
                    3 => Some("prepare"),
                    4 => Some("swap"),
                    _ => None,
                },
                result: (tools && dice.once_in(3))
                    .then(|| 40 + usize::try_from(dice.below(300)).unwrap()),
            })
            .collect();
        Self {
            seed,
            route,
            early,
            steps,
        }
    }
}

fn of_turns(dice: &mut Dice) -> Vec<Fault> {
    let mut faults = Vec::new();
    while dice.once_in(5) && faults.len() < 3 {
        faults.push(match dice.below(5) {
            0 => Fault::RateLimited(1),
            1 => Fault::Internal,
            2 => Fault::Overloaded,
            3 => Fault::Reset,
            _ => Fault::Cut(usize::try_from(dice.below(6)).unwrap()),
        });
    }
    faults
}

fn of_summaries(dice: &mut Dice) -> Vec<Fault> {
    if !dice.once_in(3) {
        return Vec::new();
    }
    vec![match dice.below(10) {
        0 => Fault::SummaryEmpty,
        1 => Fault::SummaryGarbage,
        2 => Fault::SummaryLate(Duration::from_millis(10 * dice.below(20))),
        3 => Fault::SummaryNever,
        4 => Fault::SummaryUnavailable,
        5 => Fault::Internal,
        6 => Fault::Overloaded,
        7 => Fault::Reset,
        8 => Fault::Cut(usize::try_from(dice.below(6)).unwrap()),
        _ => Fault::RateLimited(1),
    }]
}

/// The faults that a step injects into the provider.
pub fn inject(step: &Step, provider: &mut sim::Provider) {
    for fault in &step.summary {
        provider.inject(When::Summary, fault.clone());
    }
    for fault in &step.turn {
        provider.inject(When::Turn, fault.clone());
    }
}
