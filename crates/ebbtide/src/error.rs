//! The errors of the engine and their codes.

use context::coded::{self, Coded, ErrorCode};
use context::original::OriginalError;
use context::pin::PinError;
use conversation::homunculus::Refusal;
use conversation::homunculus::hosted::StrategyError;
use history::{ConversationId, HistoryError, MarkId};
use model::ModelError;
use wire::api::ApiError;

context::error_codes! {
    /// The codes of this crate.
    pub CODES:
    STRATEGY = "E1001", "a text is not a strategy",
        "Check it with `ebbtide plumb check`; docs/strategies.md shows how one is written.";
    NO_STRATEGY = "E1002", "no strategy of this name is built in",
        "docs/strategies.md lists the names; use `strategy_text` for a program of your own.";
    STORE = "E1003", "the engine's store failed",
        "Send your own body for this request; the next one stores everything again.";
    NO_CONVERSATION = "E1004", "the client has no such conversation",
        "`conversations` lists them; a purged one is gone.";
    NO_SUMMARY = "E1005", "the conversation has no such summary",
        "`explain` lists its summaries.";
    PIN_REFUSED = "E1006", "a text cannot be pinned",
        "Pin less, or remove another pin first.";
    PIN_UNWANTED = "E1007", "the strategy keeps no more pins",
        "Remove another pin first; the strategy's program sets the limit.";
    ORDER_REFUSED = "E1008", "the conversation cannot be compacted now",
        "Order it again after its next request; `explain` says how it stands.";
    AT_REST = "E1009", "a conversation that is not in memory was ordered to compact",
        "Order it again after its next request.";
    REJECTED = "E1010", "a summary was turned away, and one made without a model was used instead",
        "Ask the model again, with the prompt of the work, or use a larger one.";
    BUSY = "E1011", "a conversation with a request or a summary under way cannot be purged",
        "Observe the answer or finish the work, and purge it again.";
    NOT_A_REQUEST = "E1012", "a body is not a request of the client's dialect",
        "Check the body against the API that the client speaks.";
    NO_STORE = "E1013", "the engine's store cannot be opened",
        "Name a file that this program may write, or keep everything in memory.";
    SETTING = "E1014", "a setting of the engine, or of a call, is out of its range",
        "Use a value in the range, or leave the setting out.";
}

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The text of a strategy does not check.
    #[error("{}", first_fault(.0).unwrap_or_else(|| .0.to_string()))]
    Strategy(#[from] StrategyError),
    /// No strategy of this name is built in.
    #[error("no strategy `{0}` is built in")]
    NoStrategy(String),
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] HistoryError),
    /// A setting is out of its range.
    #[error("`{setting}` is {value}, which is not {range}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Its value.
        value: String,
        /// The values that it may have.
        range: &'static str,
    },
    /// The store cannot be opened.
    #[error("{0}")]
    NoStore(HistoryError),
    /// The client has no such conversation.
    #[error("no conversation {0}")]
    NoConversation(ConversationId),
    /// The conversation has no such summary.
    #[error("no summary {0}")]
    NoSummary(MarkId),
    /// The text cannot be pinned.
    #[error("the text was not pinned: {0}")]
    PinRefused(#[from] PinError),
    /// The strategy keeps no more pins.
    #[error("the strategy keeps no more pins")]
    PinUnwanted,
    /// An order was refused.
    #[error("the order was refused: {0}")]
    OrderRefused(Refusal),
    /// The conversation is not in memory.
    #[error("conversation {0} has had no request lately")]
    AtRest(ConversationId),
    /// A summary was turned away. One that was made without a model took its place.
    #[error("the summary was turned away: {0}")]
    Rejected(ModelError),
    /// A request or a summary of the conversation is under way.
    #[error("a request or a summary of conversation {0} is under way")]
    Busy(ConversationId),
    /// The body cannot be read.
    #[error("not a request: {0}")]
    NotARequest(#[from] ApiError),
    /// A handle or a section names nothing.
    #[error("{0}")]
    NoOriginal(#[from] OriginalError),
}

impl Coded for EngineError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Strategy(_) => STRATEGY,
            Self::NoStrategy(_) => NO_STRATEGY,
            Self::Store(_) => STORE,
            Self::NoStore(_) => NO_STORE,
            Self::Setting { .. } => SETTING,
            Self::NoConversation(_) => NO_CONVERSATION,
            Self::NoSummary(_) => NO_SUMMARY,
            Self::PinRefused(_) => PIN_REFUSED,
            Self::PinUnwanted => PIN_UNWANTED,
            Self::OrderRefused(_) => ORDER_REFUSED,
            Self::AtRest(_) => AT_REST,
            Self::Rejected(_) => REJECTED,
            Self::Busy(_) => BUSY,
            Self::NotARequest(_) => NOT_A_REQUEST,
            Self::NoOriginal(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        // The failed part knows best what to do.
        let own = match self {
            Self::Strategy(StrategyError::Unsound { diagnostics, .. }) => {
                diagnostics.first().and_then(|first| first.hint.clone())
            }
            Self::Strategy(error) => error.hint(),
            Self::NoStore(error) => error.hint(),
            Self::PinRefused(error) => error.hint(),
            Self::OrderRefused(refusal) => refusal.hint(),
            Self::NotARequest(error) => error.hint(),
            Self::NoOriginal(error) => error.hint(),
            _ => None,
        };
        own.or_else(|| coded::remedy(CODES, self.code()))
    }
}

/// A strategy's first error, with its place.
fn first_fault(error: &StrategyError) -> Option<String> {
    let StrategyError::Unsound {
        name,
        diagnostics,
        sources,
    } = error
    else {
        return None;
    };
    let first = diagnostics.first()?;
    let place = sources.locate(first.span).unwrap_or_else(|| name.clone());
    Some(format!("{place}: {} ({})", first.message, first.code))
}
