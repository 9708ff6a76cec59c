//! Which strategy a name stands for, and which guards it runs under.

use homunculus::strategies::{ClearToolResults, KeepLast, Prepared, StopTheWorld, Truncate};
use homunculus::{Limits, Strategy};

use crate::compare::Thresholds;
use crate::options::StrategyName;

/// A strategy, ready to run.
pub struct Built {
    /// The policy.
    pub strategy: Box<dyn Strategy>,
    /// The guards.
    pub limits: Limits,
    /// The pressures at which it acts.
    pub thresholds: Thresholds,
    /// Whether it restates pins.
    pub pins: PinKeeping,
}

/// Whether a strategy restates pins in front of its summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinKeeping {
    /// It does.
    Restated,
    /// A pin is shown only as long as the turn that says it.
    Ignored,
}

/// Builds a strategy. `prepared` runs under the default guards; the others are what products do,
/// which have none, so theirs are off.
#[must_use]
pub fn build(name: StrategyName, limits: Limits) -> Built {
    let hard = Some(limits.hard);
    let on_their_own = |strategy: Box<dyn Strategy>| Built {
        strategy,
        limits: limits.unguarded(),
        thresholds: Thresholds { soft: None, hard },
        pins: PinKeeping::Ignored,
    };
    match name {
        StrategyName::Prepared => {
            let prepared = Prepared::default();
            Built {
                strategy: Box::new(prepared),
                limits,
                thresholds: Thresholds {
                    soft: Some(prepared.soft),
                    hard,
                },
                pins: PinKeeping::Restated,
            }
        }
        StrategyName::StopTheWorld => Built {
            pins: PinKeeping::Restated,
            ..on_their_own(Box::<StopTheWorld>::default())
        },
        StrategyName::Truncate => on_their_own(Box::new(Truncate)),
        StrategyName::ClearToolResults => {
            let clearing = ClearToolResults::default();
            Built {
                thresholds: Thresholds {
                    soft: Some(clearing.trigger),
                    hard,
                },
                ..on_their_own(Box::new(clearing))
            }
        }
        StrategyName::KeepLast20 => on_their_own(Box::<KeepLast>::default()),
    }
}
