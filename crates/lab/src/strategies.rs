//! Under which guards a strategy is compared.

use std::sync::Arc;

use homunculus::Limits;
use homunculus::hosted::{Guards, HostSettings, Hosted, StrategyProgram};

use crate::compare::Thresholds;

/// A strategy, ready to run.
pub struct Built {
    /// The policy.
    pub strategy: Hosted,
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

/// What products do that know no pins.
const WITHOUT_PINS: [&str; 3] = ["truncate", "clear_tool_results", "keep_last_n"];

/// Builds a strategy. Those that stand for what products do run without guards, which such products do not
/// have.
#[must_use]
pub fn build(program: &Arc<StrategyProgram>, limits: Limits) -> Built {
    let from = program.acts_from(limits.hard, None);
    let pins = match WITHOUT_PINS.contains(&&**program.name()) {
        true => PinKeeping::Ignored,
        false => PinKeeping::Restated,
    };
    Built {
        strategy: Hosted::new(Arc::clone(program), HostSettings::default()),
        limits: match program.guards() {
            Guards::On => limits,
            Guards::Off => limits.unguarded(),
        },
        thresholds: Thresholds {
            soft: from.filter(|&from| from < limits.hard),
            hard: Some(limits.hard),
        },
        pins,
    }
}
