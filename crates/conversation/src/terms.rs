//! The terms of a conversation: what was set for it, and the guards that follow for one model.

use std::sync::Arc;

use context::pin::PinLimits;
use context::threshold::AdaptiveThreshold;
use context::{Tokens, user_words};
use history::Route;
use jiff::SignedDuration;
use tokens::{Capability, Model};
use wire::api::Dialect;

use crate::homunculus::hosted::{Guards, HostSettings, Hosted, PinKeeping, StrategyProgram};
use crate::homunculus::{Limits, Prices};

/// The longest wait for a summary under a strategy that waits for one, unless patience is set.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(5);

/// Permission to change requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The strategy acts.
    #[default]
    On,
    /// Changes nothing; the answer says what the gateway would have done.
    Observe,
}

/// The way summaries are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteChoice {
    /// Native where the model has it, else readable.
    #[default]
    Auto,
    /// The provider's own signed block.
    Native,
    /// Our template, written by a model.
    Readable,
    /// Without a model.
    Extractive,
}

/// The settings of a conversation. The conversations of one process usually share them.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Permission to change requests.
    pub mode: Mode,
    /// The way summaries are made.
    pub route: RouteChoice,
    /// The strategy.
    pub program: Arc<StrategyProgram>,
    /// The window of every model. `None`: the model's own.
    pub window: Option<Tokens>,
    /// The share of the window at which a preparation starts. `None`: the strategy's own.
    pub soft: Option<f64>,
    /// True if the soft threshold follows what the agent does: its task list, failed results, loops.
    pub adaptive: bool,
    /// The share of the window at which a summary is swapped in. `None`: [`Limits::HARD`].
    pub hard: Option<f64>,
    /// The longest time that a request may be held for a summary.
    pub patience: SignedDuration,
    /// True if the agent is told the state of its memory.
    pub notes: bool,
    /// The largest tool result that is first sent whole. `None`: no limit.
    pub shrink: Option<Tokens>,
    /// The share of the window that the user's own words may have in front of a summary.
    pub user_words: f64,
    /// True if cache breakpoints are placed where the client sets none.
    pub breakpoints: bool,
    /// True if the provider is asked why its cache was missed.
    pub diagnose: bool,
    /// True if the client's own compaction is answered from a prepared summary.
    pub answer_compaction: bool,
    /// Decides if pins are restated once the turns that say them are hidden. Only replays that
    /// stand for other products ignore them.
    pub pins: PinKeeping,
    /// The largest body that the provider takes, in bytes: near it, nothing is added.
    pub longest_body: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            mode: Mode::On,
            route: RouteChoice::Auto,
            program: StrategyProgram::default_one(),
            window: None,
            soft: None,
            adaptive: false,
            hard: None,
            patience: SignedDuration::ZERO,
            notes: true,
            shrink: Some(Tokens::new(16_000)),
            user_words: user_words::SHARE,
            breakpoints: true,
            diagnose: false,
            answer_compaction: true,
            pins: PinKeeping::Restated,
            longest_body: 32 << 20,
        }
    }
}

impl Terms {
    /// Returns true if requests may be changed.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.mode == Mode::On
    }

    /// The window of a model.
    #[must_use]
    pub fn window(&self, model: &Model) -> Tokens {
        self.window.unwrap_or(model.window).max(Tokens::new(1))
    }

    /// The limits of pinning for a model with its own window, or the one set.
    #[must_use]
    pub fn pin_limits(&self, model: &Model) -> PinLimits {
        PinLimits::of_window(self.window(model))
    }

    /// The guards for a model with its own window, or the one set.
    #[must_use]
    pub fn limits(&self, model: &Model) -> Limits {
        self.limits_in(self.window(model), model)
    }

    /// The guards for a model whose window is this one.
    #[must_use]
    pub fn limits_in(&self, window: Tokens, model: &Model) -> Limits {
        let mut limits = Limits::for_window(window, Prices::from(model));
        limits.hard = self.hard.unwrap_or(limits.hard);
        limits.words = user_words::room(window, self.user_words);
        self.guards(limits)
    }

    /// These limits as far as the strategy runs under guards.
    #[must_use]
    pub fn guards(&self, mut limits: Limits) -> Limits {
        limits.patience = self.patience;
        match self.program.terms().guards {
            Guards::On => limits,
            // Strategies that stand for what other products do wait or drop without guards.
            Guards::Off => Limits {
                patience: if self.patience > SignedDuration::ZERO {
                    self.patience
                } else {
                    LONGEST_WAIT
                },
                ..limits.unguarded()
            },
        }
    }

    /// The share of the window at which the strategy begins to act.
    #[must_use]
    pub fn acts_from(&self) -> f64 {
        let hard = self.hard.unwrap_or(Limits::HARD);
        self.program.acts_from(hard, self.soft).unwrap_or(hard)
    }

    /// Returns true if the strategy begins where it is told to.
    pub(crate) fn follows_soft(&self) -> bool {
        let hard = self.hard.unwrap_or(Limits::HARD);
        let from = |soft| self.program.acts_from(hard, Some(soft));
        from(AdaptiveThreshold::MIN) != from(hard)
    }

    /// The way summaries are made with a model. Observing must cost nothing, so it asks no model.
    #[must_use]
    pub fn route_for(&self, model: &Model, dialect: Dialect) -> Route {
        let native = model.can(Capability::NativeCompaction) && dialect.facts().compaction.native;
        match (self.mode, self.route) {
            (Mode::Observe, _) | (_, RouteChoice::Extractive) => Route::Extractive,
            (_, RouteChoice::Auto | RouteChoice::Native) if native => Route::Native,
            (_, RouteChoice::Auto | RouteChoice::Native | RouteChoice::Readable) => Route::Readable,
        }
    }

    /// A run of the strategy, from its stored state where the program is still the same.
    pub(crate) fn host(&self, stored: Option<&str>, route: Route) -> Hosted {
        let settings = HostSettings {
            route,
            soft: self.soft,
            is_moved: false,
        };
        let program = Arc::clone(&self.program);
        match stored.and_then(|text| serde_json::from_str(text).ok()) {
            Some(stored) => Hosted::resume(program, settings, stored),
            None => Hosted::new(program, settings),
        }
    }
}
