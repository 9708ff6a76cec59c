//! Policy: when, and with what.

use context::extract::Room;
use context::regret::Regret;
use context::{Pressure, Tokens, Turn};
use history::{MarkId, Route};
use jiff::{SignedDuration, Timestamp};

use crate::homunculus::event::{Refusal, Reported, Telemetry, Wish};
use crate::homunculus::extent::Extent;
use crate::homunculus::gauge::Gauge;
use crate::homunculus::limits::{Limits, MINIMUM_SUMMARY};
use crate::homunculus::machine::Orders;
use crate::homunculus::outline::Path;
use crate::homunculus::price::CacheState;

/// The tokens around a summary's text, and by which its parts may count less than the whole.
const SUMMARY_FRAME: Tokens = Tokens::new(16);

/// The share of the room beside the user's words that a second summary takes. The first may have been shorter than
/// it was allowed to be, so the words are a little longer than they seem.
const SPARED: f64 = 0.9;

/// Decides what to do. It is asked at every request, again after a request was held, and when the
/// conversation is idle.
pub trait Strategy {
    /// Looks at the situation and gives commands, each of which is carried out or refused at once. Without
    /// any the request goes as it is.
    fn decide(&mut self, orders: &mut Orders<'_>);

    /// Somebody wants a text kept verbatim. Where nothing is ordered, it is.
    fn pinned(&mut self, wish: &Wish<'_>, orders: &mut Orders<'_>) {
        let _ = (wish, orders);
    }

    /// Something happened that is told for logs and metrics. It can act on it when it is asked next.
    fn hear(&mut self, telemetry: &Telemetry) {
        let _ = telemetry;
    }

    /// Turns were said. It can act on them when it is asked next.
    fn said(&mut self, when: When, turns: &[Turn], now: Timestamp) {
        let _ = (when, turns, now);
    }

    /// The agent showed that it missed something. It can act on it when it is asked next.
    fn regretted(&mut self, regret: Regret) {
        let _ = regret;
    }

    /// Frees memory that it can do without: no request has come for a while.
    fn rest(&mut self) {}
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn decide(&mut self, orders: &mut Orders<'_>) {
        (**self).decide(orders);
    }

    fn pinned(&mut self, wish: &Wish<'_>, orders: &mut Orders<'_>) {
        (**self).pinned(wish, orders);
    }

    fn hear(&mut self, telemetry: &Telemetry) {
        (**self).hear(telemetry);
    }

    fn said(&mut self, when: When, turns: &[Turn], now: Timestamp) {
        (**self).said(when, turns, now);
    }

    fn regretted(&mut self, regret: Regret) {
        (**self).regretted(regret);
    }

    fn rest(&mut self) {
        (**self).rest();
    }
}

/// The turns that a strategy is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// They are new.
    Now,
    /// All of them were said before, and nothing else was: the conversation came back from the store, or goes
    /// on from an earlier turn.
    Before,
}

/// The commands of a strategy. Indices count the turns of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Make a summary of everything before `cut`. While a better summary is made, the one that is
    /// ready stays ready. The extractive route takes no time to speak of and replaces a preparation
    /// that is under way.
    Prepare {
        /// The index of the first turn that the summary does not replace.
        cut: usize,
        /// The room for it, with the user's own words in front.
        room: Room,
        /// The route by which it is made.
        route: Route,
    },
    /// Show the summary that is ready in place of what it stands for.
    Swap,
    /// Do not show the turns before `cut`, and no summary of them.
    Drop {
        /// The first turn that is shown.
        cut: usize,
    },
    /// Replace the tool results before `upto` by a placeholder.
    Clear {
        /// The first turn whose results stay.
        upto: usize,
    },
    /// Hold this request until the preparation has ended.
    Pause,
    /// Throw away what is prepared or being prepared.
    Abandon,
    /// Compact again after a stop.
    Resume,
}

/// Why a strategy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A request is about to be sent.
    Request,
    /// A request was held for so long.
    Held(SignedDuration),
    /// Nothing has happened for a while.
    Idle,
}

/// The state of the next summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// There is none.
    None,
    /// A summary is being made.
    Preparing {
        /// The index of the first turn that it does not replace.
        cut: usize,
    },
    /// A summary is ready.
    Ready {
        /// The index of the first turn that it does not replace.
        cut: usize,
        /// The outcome of a [`Command::Swap`] at this moment: the tokens of the view, or a refusal.
        swap: Result<Tokens, Refusal>,
    },
}

/// The situation that a strategy decides on.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Why it is asked.
    pub moment: Moment,
    /// The conversation.
    pub path: Path<'a>,
    /// The current view.
    pub shown: Extent,
    /// The tokens of the view, with what the provider counts besides and without what is only guessed.
    pub view: Tokens,
    /// Tells the sizes of other views.
    pub gauge: Gauge,
    /// The summary being made.
    pub stage: Stage,
    /// The summary that is ready while another is being made: what a swap would give now.
    pub standby: Option<Result<Tokens, Refusal>>,
    /// The state of the provider's cache.
    pub cache: CacheState,
    /// The number of summaries swapped in since the machine began.
    pub compactions: u32,
    /// The number of tokens, by our estimate and with a margin, that arrive while the model writes
    /// a summary; `None` while too little is known of this conversation.
    pub lead: Option<Tokens>,
    /// Figures that the provider reported of the last answer; empty before the first.
    pub reported: Reported,
    /// The guards' numbers.
    pub limits: &'a Limits,
}

impl Situation<'_> {
    /// The tokens of a view, counted like [`view`](Self::view).
    #[must_use]
    pub fn size(&self, shown: &Extent) -> Tokens {
        self.gauge.size(shown, &self.path).known
    }

    /// Tokens of the view ÷ window.
    #[must_use]
    pub fn pressure(&self) -> Pressure {
        Pressure::of(self.view, self.limits.window)
    }

    /// Returns true if the view fits the window, and leaves room for an answer.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.view <= self.limits.room()
    }

    /// The size of the view at which the model's summary has to be begun to be ready at the hard threshold;
    /// the hard threshold itself where nothing is known of how long it takes.
    ///
    /// A summary frees less the earlier it is begun, so this is no less than what leaves the view half way
    /// between the hard threshold and the least that a swap could leave of it.
    #[must_use]
    pub fn ahead(&self) -> Tokens {
        let hard = self.limits.hard_tokens();
        let Some(lead) = self.lead else { return hard };
        let bare = self.shown.swapped(
            self.path.len(),
            MarkId::from_bytes([0; 16]),
            self.limits.summary,
        );
        let least = self.size(&bare);
        let least = least + hard.saturating_sub(least).scaled(0.5);
        let lead = lead.scaled(self.gauge.factor());
        hard.saturating_sub(lead).max(least).min(hard)
    }

    /// Returns true if the view fits once the summary that is ready is shown.
    #[must_use]
    pub fn fits_with_ready(&self) -> bool {
        let swap = match self.stage {
            Stage::Ready { swap, .. } => Some(swap),
            Stage::None | Stage::Preparing { .. } => self.standby,
        };
        matches!(swap, Some(Ok(after)) if after <= self.limits.room())
    }

    /// The room for a summary at `cut` with which the view stays below the hard threshold, or below the window
    /// where that leaves none. The user's words stand in front of it, and their size is known only once a
    /// summary was made here: if the view does not fit with that one, the next is as much smaller as it must
    /// be. `None` where not even [`MINIMUM_SUMMARY`] fits; the words are not cut for it.
    #[must_use]
    pub fn room_at(&self, cut: usize) -> Option<Room> {
        let bare = self
            .shown
            .swapped(cut, MarkId::from_bytes([0; 16]), Tokens::ZERO);
        let rest = self.size(&bare) + SUMMARY_FRAME;
        let (limits, share) = (self.limits, self.gauge.factor().recip());
        let below = |limit: Tokens| {
            let room = limit.saturating_sub(rest).scaled(share);
            Some(room).filter(|&room| room >= MINIMUM_SUMMARY)
        };
        let most = below(limits.window)?;
        let roomy = below(limits.hard_tokens()).or_else(|| below(limits.room()));
        let summary = roomy.unwrap_or(most).min(limits.summary);
        let made = match self.stage {
            Stage::Ready {
                cut: at,
                swap: Ok(after),
            } if at == cut => after.saturating_sub(rest).scaled(share),
            _ => Tokens::ZERO,
        };
        let summary = match made > most {
            false => summary,
            true => {
                let words = made.saturating_sub(summary);
                let mut left = [limits.room(), limits.window]
                    .into_iter()
                    .filter_map(|limit| Some(below(limit)?.saturating_sub(words)));
                let left = left.find(|&left| left >= MINIMUM_SUMMARY)?;
                left.scaled(SPARED).max(MINIMUM_SUMMARY).min(summary)
            }
        };
        Some(Room {
            summary,
            ..limits.for_summary()
        })
    }
}
