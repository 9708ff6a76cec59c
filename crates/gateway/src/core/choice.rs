//! The strategy and the guards that a configuration asks for, for one model.

use context::Tokens;
use history::Route;
use homunculus::strategies::{ClearToolResults, KeepLast, Prepared, StopTheWorld, Truncate};
use homunculus::{Limits, Prices, Strategy};
use jiff::SignedDuration;
use tokens::{Capability, Model};
use wire::api::Dialect;

use crate::config::{Mode, Policy, RouteChoice, StrategyChoice};

/// A strategy of any kind, on any thread.
pub(super) type AnyStrategy = Box<dyn Strategy + Send>;

/// How long a strategy that waits for its summary waits for it at most, where nothing is set.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(5);

/// A strategy and the guards it runs under.
pub(super) struct Choice {
    /// The strategy.
    pub strategy: AnyStrategy,
    /// The guards.
    pub limits: Limits,
    /// The share of the window at which it begins to act.
    pub soft: f64,
}

/// What a policy asks for with this model.
pub(super) fn choice(policy: &Policy, route: Route, model: &Model) -> Choice {
    let limits = limits(policy, model);
    // What products do that wait or drop has no guards of its own.
    let unguarded = Limits {
        patience: if policy.patience > SignedDuration::ZERO {
            policy.patience
        } else {
            LONGEST_WAIT
        },
        ..limits.unguarded()
    };
    // These strategies cut where they like; the provider's own summary stands for a whole request.
    let written = match route {
        Route::Native => Route::Readable,
        Route::Readable | Route::Extractive => route,
    };
    let (strategy, limits, soft): (AnyStrategy, Limits, f64) = match policy.strategy {
        StrategyChoice::Prepared => {
            let default = Prepared::default();
            let prepared = Prepared {
                soft: policy.soft.unwrap_or(default.soft),
                route,
                ..default
            };
            (Box::new(prepared), limits, prepared.soft)
        }
        StrategyChoice::StopTheWorld => {
            let stop = StopTheWorld {
                route: written,
                ..StopTheWorld::default()
            };
            (Box::new(stop), unguarded, limits.hard)
        }
        StrategyChoice::Truncate => (Box::new(Truncate), unguarded, limits.hard),
        StrategyChoice::ClearToolResults => {
            let default = ClearToolResults::default();
            let clear = ClearToolResults {
                trigger: policy.soft.unwrap_or(default.trigger),
                ..default
            };
            (Box::new(clear), unguarded, clear.trigger)
        }
        StrategyChoice::KeepLast => {
            let keep = KeepLast {
                route: written,
                ..KeepLast::default()
            };
            (Box::new(keep), unguarded, limits.hard)
        }
    };
    Choice {
        strategy,
        limits,
        soft,
    }
}

fn limits(policy: &Policy, model: &Model) -> Limits {
    let window = policy.window.unwrap_or(model.window).max(Tokens::new(1));
    let mut limits = Limits::for_window(window, Prices::from(model));
    if let Some(hard) = policy.hard {
        limits.hard = hard;
    }
    limits.patience = policy.patience;
    limits
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
