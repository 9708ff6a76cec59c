//! Builds an engine.

use std::fmt;
use std::sync::{Arc, Mutex};

use context::Tokens;
use conversation::directory::{Directory, Room};
use conversation::homunculus::hosted::StrategyProgram;
use conversation::{Mode, RouteChoice, Terms};
use history::{Limits, MemoryEngine};
use jiff::SignedDuration;
use plumb::modules::BuiltIn;

use crate::engine::Engine;
use crate::error::EngineError;

/// The maker of summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Summaries {
    /// Without a model, by the engine itself.
    #[default]
    Extractive,
    /// By the caller, who is given [`Work`](crate::Work).
    ByCaller,
}

/// The settings of an engine.
#[must_use]
pub struct Builder {
    terms: Terms,
    store: Option<Arc<dyn history::Engine>>,
    secret: [u8; 32],
    room: Room,
}

impl fmt::Debug for Builder {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("terms", &self.terms)
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            terms: Terms {
                route: RouteChoice::Extractive,
                ..Terms::default()
            },
            store: None,
            secret: [0; 32],
            room: Room {
                most: 10_000,
                idle: SignedDuration::from_mins(10),
            },
        }
    }
}

impl Builder {
    /// The built-in strategy of this name. Default: `prepared`.
    ///
    /// # Errors
    /// [`EngineError::NoStrategy`] where there is none.
    pub fn strategy(mut self, name: &str) -> Result<Self, EngineError> {
        let program = StrategyProgram::shipped(name);
        self.terms.program = program.ok_or_else(|| EngineError::NoStrategy(name.to_owned()))?;
        Ok(self)
    }

    /// A strategy of your own: the text of a plumb program, and its name in reports.
    ///
    /// # Errors
    /// [`EngineError::Strategy`] where it does not check.
    pub fn strategy_text(mut self, name: &str, text: &str) -> Result<Self, EngineError> {
        self.terms.program = StrategyProgram::new(name, text, &BuiltIn)?;
        Ok(self)
    }

    /// The window of every model, in tokens. Default: the model's own.
    pub fn window(mut self, tokens: u64) -> Self {
        self.terms.window = Some(Tokens::new(tokens));
        self
    }

    /// Changes requests, or only observes them. Default: [`Mode::On`].
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.terms.mode = mode;
        self
    }

    /// The maker of summaries. Default: [`Summaries::Extractive`].
    pub const fn summaries(mut self, summaries: Summaries) -> Self {
        self.terms.route = match summaries {
            Summaries::Extractive => RouteChoice::Extractive,
            Summaries::ByCaller => RouteChoice::Readable,
        };
        self
    }

    /// The longest that a request is held for a summary that is being made. Default: not at all, unless
    /// the strategy waits.
    pub const fn patience(mut self, patience: SignedDuration) -> Self {
        self.terms.patience = patience;
        self
    }

    /// Tells the model the state of its memory, in notes beside messages. Default: yes.
    pub const fn notes(mut self, notes: bool) -> Self {
        self.terms.notes = notes;
        self
    }

    /// The largest tool result that is first sent whole, in tokens; `None` shortens none. Default: 16,000.
    pub fn shrink(mut self, tokens: Option<u64>) -> Self {
        self.terms.shrink = tokens.map(Tokens::new);
        self
    }

    /// Conversations kept in memory, and the time after which an idle one leaves it. Default: 10,000 and
    /// ten minutes. A conversation that left memory comes back from the store.
    pub const fn room(mut self, most: usize, idle: SignedDuration) -> Self {
        self.room = Room { most, idle };
        self
    }

    /// The history, for example `history_sqlite::Sqlite`. Default: one in memory.
    pub fn store(mut self, store: Arc<dyn history::Engine>) -> Self {
        self.store = Some(store);
        self
    }

    /// The secret of a history in memory, which keys all hashes: set 32 random bytes where keys of clients
    /// are secret. A store that was handed in has its own.
    pub const fn secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = secret;
        self
    }

    /// Opens the engine.
    ///
    /// # Errors
    /// [`EngineError::Setting`] for a window of no tokens or a patience below zero, and [`EngineError::NoStore`]
    /// where the store fails.
    pub fn open(self) -> Result<Engine, EngineError> {
        if let Some(Tokens::ZERO) = self.terms.window {
            return Err(EngineError::Setting {
                setting: "window",
                value: "0".to_owned(),
                range: "1 token or more",
            });
        }
        if self.terms.patience.is_negative() {
            return Err(EngineError::Setting {
                setting: "patience",
                value: format!("{} s", self.terms.patience.as_secs_f64()),
                range: "0 s or more",
            });
        }
        let secret = self.secret;
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(MemoryEngine::new(secret, Limits::default())));
        let secret = store.secret().map_err(EngineError::NoStore)?;
        let directory = Directory::new(Arc::new(self.terms), secret, self.room);
        Ok(Engine {
            directory,
            store,
            rounds: Mutex::default(),
        })
    }
}
