//! What a replay is asked for, and what can be wrong with that.

use std::fmt;
use std::str::FromStr;

use context::Tokens;
use context::coded::{self, CodeEntry, Coded, ErrorCode};
use tokens::ModelTable;

/// The codes of this crate.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: WINDOW,
        meaning: "the window is too small to replay anything in",
        remedy: "Give a window of at least 1,000 tokens.",
    },
    CodeEntry {
        code: MODEL,
        meaning: "the model is not in the model table",
        remedy: "Name a model of the table, or add yours to it.",
    },
    CodeEntry {
        code: STRATEGY,
        meaning: "there is no strategy of that name",
        remedy: "Use prepared, stop_the_world, truncate, clear_tool_results or keep_last_20.",
    },
    CodeEntry {
        code: PIN,
        meaning: "a text can not be pinned",
        remedy: "Pin less: pins are restated in every view.",
    },
];

const WINDOW: ErrorCode = ErrorCode::new("E0301");
const MODEL: ErrorCode = ErrorCode::new("E0302");
const STRATEGY: ErrorCode = ErrorCode::new("E0303");
const PIN: ErrorCode = ErrorCode::new("E0304");

/// The smallest window that can be replayed in.
pub const SMALLEST_WINDOW: Tokens = Tokens::new(1_000);

/// What a replay is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The window. `None` takes the model's own.
    pub window: Option<Tokens>,
    /// The model whose prices and cache rules are used. `None` takes the one that the session
    /// names, and a documented default where the table does not know that one.
    pub model: Option<String>,
    /// The models that are known, with their windows, prices and cache rules.
    pub models: ModelTable,
    /// The strategies, in the order of the result.
    pub strategies: Vec<StrategyName>,
    /// Texts to pin, besides the `#pin` lines of the session's user turns.
    pub pins: Vec<String>,
    /// Whether needed-later recall is measured.
    pub recall: RecallMeasure,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            window: None,
            model: None,
            models: ModelTable::shipped().clone(),
            strategies: StrategyName::ALL.to_vec(),
            pins: Vec::new(),
            recall: RecallMeasure::Measured,
        }
    }
}

/// Whether needed-later recall is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallMeasure {
    /// At each compaction; this is most of the work of a replay.
    Measured,
    /// Not at all.
    Skipped,
}

/// A built-in strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StrategyName {
    /// Prepares in the background from a soft threshold on, swaps at the hard one.
    Prepared,
    /// At the hard threshold it stops and waits for the summary.
    StopTheWorld,
    /// Drops the oldest steps until the rest fits.
    Truncate,
    /// Replaces old tool results by a placeholder; truncates where that is not enough.
    ClearToolResults,
    /// Waits for a summary, then shows it and the last 20 messages, as LangChain's middleware does.
    KeepLast20,
}

impl StrategyName {
    /// All of them, the default order.
    pub const ALL: [Self; 5] = [
        Self::Prepared,
        Self::StopTheWorld,
        Self::Truncate,
        Self::ClearToolResults,
        Self::KeepLast20,
    ];

    /// The name as it is typed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::StopTheWorld => "stop_the_world",
            Self::Truncate => "truncate",
            Self::ClearToolResults => "clear_tool_results",
            Self::KeepLast20 => "keep_last_20",
        }
    }
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for StrategyName {
    type Err = ReplayError;

    fn from_str(name: &str) -> Result<Self, ReplayError> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.as_str() == name)
            .ok_or_else(|| ReplayError::UnknownStrategy(name.to_owned()))
    }
}

/// How far a replay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The strategy that is being replayed.
    pub strategy: StrategyName,
    /// Requests it has sent.
    pub done: usize,
    /// Requests it will send.
    pub of: usize,
}

/// Why a replay can not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The window is below [`SMALLEST_WINDOW`].
    #[error("a window of {0} tokens is too small")]
    WindowTooSmall(Tokens),
    /// The model that was asked for is not in the model table.
    #[error("no model `{0}` in the model table")]
    UnknownModel(String),
    /// There is no strategy of that name.
    #[error("no strategy `{0}`")]
    UnknownStrategy(String),
    /// A text can not be pinned.
    #[error("a pin is refused: {0}")]
    Pin(#[from] context::pin::PinError),
}

impl Coded for ReplayError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::WindowTooSmall(_) => WINDOW,
            Self::UnknownModel(_) => MODEL,
            Self::UnknownStrategy(_) => STRATEGY,
            Self::Pin(_) => PIN,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::{ReplayError, StrategyName};

    #[test]
    fn names_are_read_back() {
        for strategy in StrategyName::ALL {
            assert_eq!(strategy.as_str().parse(), Ok(strategy));
        }
        assert_eq!(
            "lru".parse::<StrategyName>(),
            Err(ReplayError::UnknownStrategy("lru".to_owned()))
        );
    }
}
