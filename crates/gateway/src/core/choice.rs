//! The strategy and the guards that a configuration asks for, for one model.

use context::Tokens;
use conversation::homunculus::hosted::{Guards, HostSettings, Hosted};
use conversation::homunculus::{Limits, Prices};
use history::Route;
use jiff::SignedDuration;
use tokens::{Capability, Model};
use wire::api::Dialect;

use super::Inner;
use crate::config::{Mode, Policy, RouteChoice};

/// How long a strategy that waits for its summary waits for it at most, where nothing is set.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(5);

/// A strategy and the guards it runs under.
pub(super) struct Choice {
    /// The strategy.
    pub strategy: Hosted,
    /// The guards.
    pub limits: Limits,
}

impl Inner {
    /// What is asked for with this model.
    pub(super) fn choice(&self, route: Route, model: &Model) -> Choice {
        self.choice_from(None, route, model)
    }

    /// The same, with a strategy that goes on from what was stored, if the program is still the same.
    pub(super) fn choice_from(&self, stored: Option<&str>, route: Route, model: &Model) -> Choice {
        let policy = &self.parts.config.policy;
        let settings = HostSettings {
            route,
            soft: policy.soft,
        };
        let program = policy.strategy.program();
        let stored = stored.and_then(|text| serde_json::from_str(text).ok());
        Choice {
            strategy: match stored {
                Some(stored) => Hosted::resume(program, settings, stored),
                None => Hosted::new(program, settings),
            },
            limits: limits(policy, model),
        }
    }
}

/// The guards that a policy asks for with this model.
pub(super) fn limits(policy: &Policy, model: &Model) -> Limits {
    let window = policy.window.unwrap_or(model.window).max(Tokens::new(1));
    let mut limits = Limits::for_window(window, Prices::from(model));
    if let Some(hard) = policy.hard {
        limits.hard = hard;
    }
    limits.patience = policy.patience;
    match policy.strategy.program().terms().guards {
        Guards::On => limits,
        // What products do that wait or drop has no guards of its own.
        Guards::Off => Limits {
            patience: if policy.patience > SignedDuration::ZERO {
                policy.patience
            } else {
                LONGEST_WAIT
            },
            ..limits.unguarded()
        },
    }
}

/// The share of the window at which the strategy of a policy begins to act.
pub(super) fn acts_from(policy: &Policy) -> f64 {
    let hard = policy.hard.unwrap_or(Limits::HARD);
    let from = policy.strategy.program().acts_from(hard, policy.soft);
    from.unwrap_or(hard)
}

/// How summaries are made with this model. Observing costs no money, so it makes them without one.
pub(super) fn route(mode: Mode, choice: RouteChoice, model: &Model, dialect: Dialect) -> Route {
    let native = model.can(Capability::NativeCompaction) && dialect != Dialect::Chat;
    match (mode, choice) {
        (Mode::Observe, _) | (_, RouteChoice::Extractive) => Route::Extractive,
        (_, RouteChoice::Auto | RouteChoice::Native) if native => Route::Native,
        (_, RouteChoice::Auto | RouteChoice::Native | RouteChoice::Readable) => Route::Readable,
    }
}
