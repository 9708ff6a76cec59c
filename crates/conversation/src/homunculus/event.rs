//! Events that the machine takes, and actions that it asks for.

use std::fmt;

use context::coded::{Coded, ErrorCode};
use context::pin::{Pin, PinError};
use context::regret::Regret;
use context::{Pressure, Tokens, Turn, TurnId};
use history::{MarkId, Route};
use jiff::Timestamp;

use crate::homunculus::extent::Extent;
use crate::homunculus::outline::Path;
use crate::homunculus::strategy::{Command, When};

/// Names one preparation of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub(crate) u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}", self.0)
    }
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The client's request is about to be sent. Ask again with the same path after a
    /// [`Action::Hold`].
    Request(Path<'a>),
    /// The provider reported how large the last sent view was, cached parts included. That counts,
    /// whether it is more or less than our estimate.
    Usage {
        /// Its input tokens.
        input: Tokens,
        /// Other figures that the provider reported.
        reported: Reported,
    },
    /// The estimated size of everything beside the turns: instructions and tools.
    Overhead {
        /// Its tokens.
        tokens: Tokens,
    },
    /// The provider refused the last sent view as too long. The window that this tells of is set before
    /// ([`Homunculus::set_limits`](crate::homunculus::Homunculus::set_limits)).
    Overflowed {
        /// Its input tokens, where the provider says.
        input: Option<Tokens>,
    },
    /// A preparation has ended well; its mark is in the history.
    Prepared {
        /// The preparation's job.
        job: JobId,
        /// The mark that was made.
        mark: MarkId,
        /// The size of its summary as shown.
        tokens: Tokens,
    },
    /// A preparation has failed.
    Failed {
        /// The preparation's job.
        job: JobId,
    },
    /// A command from outside the strategy: a person, the dashboard, the control interface.
    Command(Command, Path<'a>),
    /// Take the newest change of the view back: everything is shown again, where it fits, until the
    /// window is nearly full; otherwise a larger summary is made.
    Undo(Path<'a>),
    /// Show the view again that was taken back last.
    Redo(Path<'a>),
    /// The provider refused the last sent view as too long, and the strategy does not make it small enough:
    /// the machine does, with the summary that is ready or else with one without a model. Tell it again
    /// when that one is there.
    Rescue(Path<'a>),
    /// A text was pinned: does the strategy keep it?
    Pinned(Wish<'a>, Path<'a>),
    /// These turns were said: those that are new, before the request that brings them, or all that were
    /// said before. A strategy that is told how its agent is reads it off them; to others it is nothing.
    Said(When, &'a [Turn]),
    /// The agent showed that it missed something.
    Regretted(Regret),
    /// Nothing has happened for a while.
    Idle(Path<'a>),
}

/// Figures of an answer that the provider reported beside the size of the view. The machine decides
/// nothing by them; strategies are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// The tokens of the answer.
    pub output: Tokens,
    /// The part of the input that was read from a cache.
    pub cache_read: Tokens,
    /// The part of the input that was written to one.
    pub cache_write: Tokens,
}

/// A text that somebody wants kept verbatim. It is within the limits of pins, and among those of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish<'a> {
    /// The pin's id.
    pub id: &'a str,
    /// The origin of the pin: `user`, `agent` or `api`.
    pub by: &'a str,
    /// Its size.
    pub tokens: Tokens,
}

/// The actions that the driver carries out, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Make a summary in the background; report [`Event::Prepared`] or [`Event::Failed`].
    Prepare(Preparation),
    /// Stop that preparation; its result will not be used.
    Abandon(JobId),
    /// From now on the conversation is shown like this.
    Show(Extent),
    /// From now on all of the conversation is shown; what stood in front of it may be shown again.
    ShowAll,
    /// An order to take back or to show again is refused.
    Refuse(Refusal),
    /// Send the request, shown like this.
    Send(Extent),
    /// Do not send yet: ask again as soon as the preparation has ended, at `until` at the latest.
    Hold {
        /// `None`: wait for the preparation however long it takes.
        until: Option<Timestamp>,
    },
    /// Ask again once with the same path, then send: the view will be smaller.
    Retry,
    /// Give the provider's refusal to the client: nothing more can be done.
    PassThrough,
    /// The pin with this id is not kept.
    Unpin(String),
    /// The strategy pins a text, which is within the limits: all words of this turn of the user, where one is
    /// named.
    Pin(Pin, Option<TurnId>),
    /// The outcome of a command.
    Acknowledge(Acknowledged),
    /// For logs and metrics.
    Telemetry(Telemetry),
    /// Compaction has stopped. Requests are still sent, as they are shown now.
    Stop(StopReason),
}

/// An order to make a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// Its name.
    pub job: JobId,
    /// The index of the first turn that the summary does not replace.
    pub cut: usize,
    /// The last of these turns.
    pub node: TurnId,
    /// The newest turn known.
    pub made_from: TurnId,
    /// The route by which it is made.
    pub route: Route,
    /// The largest size that it may have, the user's own words not counted.
    pub budget: Tokens,
    /// The room for the user's own words.
    pub words: Tokens,
    /// The room for what the client itself put into the conversation.
    pub standing: Tokens,
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acknowledged {
    /// The command.
    pub command: Command,
    /// The verdict.
    pub verdict: Verdict,
}

/// The verdict on a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Carried out.
    Done,
    /// Refused; nothing changed.
    Refused(Refusal),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The machine has stopped.
    #[error("compaction has stopped")]
    Stopped,
    /// A preparation is under way.
    #[error("a preparation is under way")]
    AlreadyPreparing,
    /// The last preparations failed.
    #[error("preparations failed; the next may start at {0}")]
    BackingOff(Timestamp),
    /// The cut goes through a step, has the same role on both sides or has nothing behind it.
    #[error("the conversation may not be cut there")]
    IllegalCut,
    /// The cut is not behind the mark that stands.
    #[error("the cut is not after the current mark")]
    NoProgress,
    /// No summary is ready.
    #[error("no summary is ready")]
    NothingReady,
    /// The prepared summary is too old.
    #[error("the prepared summary is too old")]
    Stale,
    /// Too much was said since the prepared summary.
    #[error("{0} tokens were added since the summary was prepared")]
    TailTooLong(Tokens),
    /// The view would hardly get smaller.
    #[error("only {0} tokens would be freed")]
    TooLittleGain(Tokens),
    /// Loses money: it would not pay for itself soon enough.
    #[error("it would pay only after {0:.0} requests")]
    LosesMoney(f64),
    /// The view is whole already, or nothing was taken back.
    #[error("there is nothing to take back or to show again")]
    NothingDone,
    /// Everything that was said would take the view to the hard threshold.
    #[error("the whole conversation takes {0} tokens, which is too much for the window")]
    DoesNotFit(Tokens),
    /// A swap was taken back, and there is room.
    #[error("a swap was taken back; the next comes when the window is nearly full")]
    TakenBack,
    /// The next turns are not droppable, so they need a summary.
    #[error("what comes next may not leave without a summary")]
    NotDroppable,
    /// Orders of people are not carried out.
    #[error("the gateway only observes and changes no request")]
    Observing,
    /// There is nothing to wait for, or the request has been held long enough.
    #[error("the request can not be held")]
    CanNotHold,
    /// The pin cannot be set.
    #[error("the pin was refused: {word}")]
    NotPinned {
        /// The reason in a word.
        word: &'static str,
        /// Its code.
        code: ErrorCode,
    },
}

/// Why compaction stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// This many swaps in a row freed less than the minimum gain.
    #[error("{0} swaps in a row freed almost nothing; what is kept fills the window")]
    Thrashing(u32),
}

impl Refusal {
    /// A word for logs and for strategies.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::AlreadyPreparing => "preparing",
            Self::BackingOff(_) => "backing_off",
            Self::IllegalCut => "illegal_cut",
            Self::NoProgress => "no_progress",
            Self::NothingReady => "nothing_ready",
            Self::Stale => "stale",
            Self::TailTooLong(_) => "tail_too_long",
            Self::TooLittleGain(_) => "no_gain",
            Self::LosesMoney(_) => "loses_money",
            Self::NothingDone => "nothing_done",
            Self::DoesNotFit(_) => "does_not_fit",
            Self::TakenBack => "taken_back",
            Self::NotDroppable => "not_droppable",
            Self::Observing => "observing",
            Self::CanNotHold => "no_hold",
            Self::NotPinned { word, .. } => word,
        }
    }
}

impl From<&PinError> for Refusal {
    fn from(error: &PinError) -> Self {
        Self::NotPinned {
            word: error.word(),
            code: error.code(),
        }
    }
}

/// For logs and metrics. No text of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Telemetry {
    /// A request is sent with this pressure.
    Sent(Pressure),
    /// A summary was swapped in.
    Swapped {
        /// Tokens of the view before.
        before: Tokens,
        /// Tokens of the view after.
        after: Tokens,
        /// Tokens behind the mark.
        tail: Tokens,
    },
    /// The view was taken back to all that was said.
    TakenBack {
        /// Tokens of the view before.
        before: Tokens,
        /// Tokens of the view after.
        after: Tokens,
    },
    /// A larger summary that was ordered is not shown: the size that the view would have had.
    NotShown(Tokens),
    /// A preparation failed, the n-th in a row.
    PreparationFailed(u32),
    /// A result came for a preparation that is not awaited any more.
    LateResult(JobId),
    /// The conversation went on from an earlier turn; the mark does not stand on it.
    Branched,
    /// The provider refused a view as too long.
    Overflowed,
    /// The strategy's program gave a command: its name, and what became of it.
    Commanded(&'static str, Verdict),
    /// The summary that the strategy's program had asked its compressor for will not come.
    CameToNothing(Refusal),
    /// A pin of the strategy was refused, with the sizes in tokens.
    NotPinned(PinError),
    /// The strategy failed; the default takes its place in this conversation.
    StrategyFailed(crate::homunculus::hosted::StrategyFailure),
}
