//! The terms under which a strategy is compared.

use std::sync::Arc;

use conversation::homunculus::Limits;
use conversation::homunculus::hosted::{PinKeeping, StrategyProgram};
use conversation::{RouteChoice, Terms};

use crate::compare::Thresholds;

/// A strategy, ready to run.
pub struct Built {
    /// The settings of its conversation.
    pub terms: Terms,
    /// The guards.
    pub limits: Limits,
    /// The pressures at which it acts.
    pub thresholds: Thresholds,
}

impl Built {
    /// Returns true if pins are shown only as long as the turns that say them.
    #[must_use]
    pub fn ignores_pins(&self) -> bool {
        self.terms.pins == PinKeeping::Ignored
    }
}

/// Builds a strategy on the terms that its program states. Strategies that stand for other products run
/// without guards, and without pins unless `pins` says that all restate them, as a gateway does.
#[must_use]
pub fn build(
    program: &Arc<StrategyProgram>,
    limits: Limits,
    (route, pins): (RouteChoice, Option<PinKeeping>),
) -> Built {
    let from = program.acts_from(limits.hard, None);
    let terms = Terms {
        program: Arc::clone(program),
        route,
        window: Some(limits.window),
        pins: pins.unwrap_or(program.terms().pins),
        ..Terms::default()
    };
    Built {
        limits: terms.guards(limits),
        terms,
        thresholds: Thresholds {
            soft: from.filter(|&from| from < limits.hard),
            hard: Some(limits.hard),
        },
    }
}
