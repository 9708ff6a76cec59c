//! The options of a replay, and their errors.

use std::sync::Arc;

use context::Tokens;
use context::coded::{self, CodeEntry, Coded, ErrorCode};
use conversation::RouteChoice;
use conversation::homunculus::hosted::{EXAMPLES, PinKeeping, SHIPPED, StrategyProgram};
use tokens::ModelTable;

use crate::latency::Latency;

/// The codes of this crate.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: WINDOW,
        meaning: "the window is too small for a replay",
        remedy: "Use a window of at least 1,000 tokens.",
    },
    CodeEntry {
        code: MODEL,
        meaning: "the model is not in the model table",
        remedy: "Name a model in the table, or add yours with --models.",
    },
    CodeEntry {
        code: STRATEGY,
        meaning: "there is no strategy with that name",
        remedy: "Name a shipped strategy (see docs/strategies.md) or a file that ends in `.plumb`.",
    },
    CodeEntry {
        code: PIN,
        meaning: "a text cannot be pinned",
        remedy: "Pin less text: every view repeats the pins.",
    },
];

const WINDOW: ErrorCode = ErrorCode::new("E0301");
const MODEL: ErrorCode = ErrorCode::new("E0302");
const STRATEGY: ErrorCode = ErrorCode::new("E0303");
const PIN: ErrorCode = ErrorCode::new("E0304");

/// The smallest window that can be replayed in.
pub const SMALLEST_WINDOW: Tokens = Tokens::new(1_000);

/// The options of a replay.
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
    pub strategies: Vec<Arc<StrategyProgram>>,
    /// Texts to pin, besides the `#pin` lines of the session's user turns.
    pub pins: Vec<String>,
    /// The measurement of needed-later recall.
    pub recall: RecallMeasure,
    /// The speed of models.
    pub latency: Latency,
    /// True if the agent is told the state of its memory, as a gateway does by default. Comparisons
    /// leave the notes out: no strategy decides about them.
    pub notes: bool,
    /// True if the soft threshold follows what the agent does.
    pub adaptive: bool,
    /// The route of summaries.
    pub route: RouteChoice,
    /// The treatment of pins. `None`: as each strategy's program says. A gateway always restates
    /// them.
    pub pin_keeping: Option<PinKeeping>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            window: None,
            model: None,
            models: ModelTable::shipped().clone(),
            strategies: StrategyProgram::all().collect(),
            pins: Vec::new(),
            recall: RecallMeasure::Measured,
            latency: Latency::default(),
            notes: false,
            adaptive: false,
            route: RouteChoice::Readable,
            pin_keeping: None,
        }
    }
}

/// The measurement of needed-later recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallMeasure {
    /// At each compaction; this is most of the work of a replay.
    Measured,
    /// Not at all.
    Skipped,
}

/// The progress of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The strategy that is being replayed.
    pub strategy: Arc<str>,
    /// Requests it has sent.
    pub done: usize,
    /// Requests it will send.
    pub of: usize,
}

/// Why a replay can not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    #[error("cannot pin a text: {0}")]
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
        let remedy = coded::remedy(CODES, self.code());
        let (meant, names): (_, Vec<&str>) = match self {
            Self::UnknownStrategy(name) => (
                name,
                SHIPPED.iter().chain(&EXAMPLES).map(|it| it.0).collect(),
            ),
            Self::UnknownModel(name) => {
                let models = ModelTable::shipped().models();
                (name, models.map(|model| model.name.as_str()).collect())
            }
            Self::WindowTooSmall(_) | Self::Pin(_) => return remedy,
        };
        let close = context::nearest(meant, names.iter().copied());
        let close = close.map(|name| format!("Did you mean `{name}`? "));
        Some(format!(
            "{}Known: {}. {}",
            close.unwrap_or_default(),
            names.join(", "),
            remedy.unwrap_or_default()
        ))
    }
}
