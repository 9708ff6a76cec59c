//! Under which guards a strategy is compared.

use std::sync::Arc;

use conversation::homunculus::Limits;
use conversation::homunculus::hosted::{Guards, HostSettings, Hosted, PinKeeping, StrategyProgram};

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

/// Builds a strategy, on the terms that its program says. Those that stand for what products do say that they
/// run without guards, which such products do not have.
#[must_use]
pub fn build(program: &Arc<StrategyProgram>, limits: Limits) -> Built {
    let from = program.acts_from(limits.hard, None);
    let terms = program.terms();
    Built {
        strategy: Hosted::new(Arc::clone(program), HostSettings::default()),
        limits: match terms.guards {
            Guards::On => limits,
            Guards::Off => limits.unguarded(),
        },
        thresholds: Thresholds {
            soft: from.filter(|&from| from < limits.hard),
            hard: Some(limits.hard),
        },
        pins: terms.pins,
    }
}
