//! The codes of refused commands and of a stop, which a person who gives commands meets.

use context::coded::{self, CodeEntry, Coded, ErrorCode};

use crate::homunculus::event::{Refusal, StopReason};
use crate::homunculus::hosted::StrategyError;

/// The error codes of this crate.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: ErrorCode::new("E0601"),
        meaning: "a command was refused because compaction has stopped",
        remedy: "Make what is kept smaller (fewer pins, a shorter tail), then give `resume`.",
    },
    CodeEntry {
        code: ErrorCode::new("E0602"),
        meaning: "a preparation is under way already",
        remedy: "Wait until it has ended, or abandon it first.",
    },
    CodeEntry {
        code: ErrorCode::new("E0603"),
        meaning: "the last preparations failed, and the next may not start yet",
        remedy: "Wait until the time that is named, or prepare an extractive summary, which needs no model.",
    },
    CodeEntry {
        code: ErrorCode::new("E0604"),
        meaning: "the conversation may not be cut at this place",
        remedy: "Choose a place between two steps where the speaker changes, with turns on both sides.",
    },
    CodeEntry {
        code: ErrorCode::new("E0605"),
        meaning: "the cut is not after the current mark",
        remedy: "Choose a later place, or wait for more turns.",
    },
    CodeEntry {
        code: ErrorCode::new("E0606"),
        meaning: "no summary is ready",
        remedy: "Prepare one first.",
    },
    CodeEntry {
        code: ErrorCode::new("E0607"),
        meaning: "the prepared summary is too old",
        remedy: "Prepare again, from a later place.",
    },
    CodeEntry {
        code: ErrorCode::new("E0608"),
        meaning: "the conversation has grown too much since the summary was prepared",
        remedy: "Prepare again, from a later place.",
    },
    CodeEntry {
        code: ErrorCode::new("E0609"),
        meaning: "the swap would free too little",
        remedy: "Wait for more turns, or cut later.",
    },
    CodeEntry {
        code: ErrorCode::new("E0610"),
        meaning: "a swap would not pay for itself soon enough",
        remedy: "Wait for the hard threshold or until the provider's cache has expired.",
    },
    CodeEntry {
        code: ErrorCode::new("E0611"),
        meaning: "the request can not be held",
        remedy: "Prepare something to wait for, or raise the patience.",
    },
    CodeEntry {
        code: ErrorCode::new("E0612"),
        meaning: "compaction has stopped: swap after swap freed almost nothing",
        remedy: "What is kept fills the window: take out pins, shorten the tail, or use a larger window.",
    },
    CodeEntry {
        code: ErrorCode::new("E0613"),
        meaning: "a strategy has errors",
        remedy: "Fix the errors shown; `ebbtide plumb check` shows them again.",
    },
    CodeEntry {
        code: ErrorCode::new("E0614"),
        meaning: "a program is not a strategy",
        remedy: "Give it a process `main : (!CtrlResp, !json) -> !CtrlCmd`; docs/strategies.md shows one.",
    },
    CodeEntry {
        code: ErrorCode::new("E0615"),
        meaning: "a strategy uses something that strategies cannot have",
        remedy: "Remove tools, time limits and agents; only `Mem.compressor` is available.",
    },
    CodeEntry {
        code: ErrorCode::new("E0616"),
        meaning: "the process `terms` of a strategy does not declare its terms",
        remedy: "Write `let terms : () -> !Terms = once({ guards: false })`, or rename the process.",
    },
    CodeEntry {
        code: ErrorCode::new("E0617"),
        meaning: "a strategy declares a compressor with settings of its own",
        remedy: "Use `Mem.compressor` (`use mem`); set its model with `summariser.model`. In a program for `ebbtide plumb run`, a compressor can have its own prompt and model.",
    },
    CodeEntry {
        code: ErrorCode::new("E0618"),
        meaning: "there is no swap to take back, or none was taken back",
        remedy: "`undo` takes back the summary in view; `redo` shows it again.",
    },
    CodeEntry {
        code: ErrorCode::new("E0619"),
        meaning: "the whole conversation does not fit, and there is no room for a larger summary",
        remedy: "Read what you miss with `lost` and `expand`, or use a larger window.",
    },
    CodeEntry {
        code: ErrorCode::new("E0620"),
        meaning: "a swap was taken back, and the whole conversation still fits",
        remedy: "The next swap comes when the window is nearly full; `redo` brings the old one back.",
    },
    CodeEntry {
        code: ErrorCode::new("E0621"),
        meaning: "what would leave the view is not droppable",
        remedy: "Summarize instead (`extract`), or declare `guards: false` in the strategy's terms.",
    },
    CodeEntry {
        code: ErrorCode::new("E0622"),
        meaning: "an order for a gateway that only observes",
        remedy: "Start the gateway with `--mode on`; in mode observe, requests go out as they came.",
    },
];

impl Coded for Refusal {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::NotPinned { code, .. } => return *code,
            Self::Stopped => "E0601",
            Self::AlreadyPreparing => "E0602",
            Self::BackingOff(_) => "E0603",
            Self::IllegalCut => "E0604",
            Self::NoProgress => "E0605",
            Self::NothingReady => "E0606",
            Self::Stale => "E0607",
            Self::TailTooLong(_) => "E0608",
            Self::TooLittleGain(_) => "E0609",
            Self::LosesMoney(_) => "E0610",
            Self::CanNotHold => "E0611",
            Self::NothingDone => "E0618",
            Self::DoesNotFit(_) => "E0619",
            Self::TakenBack => "E0620",
            Self::NotDroppable => "E0621",
            Self::Observing => "E0622",
        })
    }

    fn hint(&self) -> Option<String> {
        let tables = [CODES, context::pin::CODES];
        tables
            .iter()
            .find_map(|table| coded::remedy(table, self.code()))
    }
}

impl Coded for StopReason {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Thrashing(_) => ErrorCode::new("E0612"),
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

impl Coded for StrategyError {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::Unsound { .. } => "E0613",
            Self::NoMain(_) | Self::Graph { .. } => "E0614",
            Self::Outside { .. } => "E0615",
            Self::Terms(_) => "E0616",
            Self::OwnCompressor { .. } => "E0617",
        })
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

#[cfg(test)]
mod tests {
    use context::coded::Coded;

    use super::CODES;
    use crate::homunculus::event::{Refusal, StopReason};
    use crate::homunculus::hosted::StrategyError;

    #[test]
    fn every_refusal_has_a_hint_from_the_table() {
        assert!(CODES.is_sorted_by(|one, two| one.code < two.code));
        assert!(Refusal::Stopped.hint().is_some());
        assert!(StopReason::Thrashing(3).hint().is_some());
        let hint = StrategyError::NoMain("mine".to_owned()).hint();
        assert!(hint.is_some_and(|hint| hint.contains("main : (!CtrlResp")));
    }
}
