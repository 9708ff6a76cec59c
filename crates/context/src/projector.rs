//! Compress and expand: the two halves of a Galois connection.
//!
//! Windows are ordered by what they say: the turns that are shown, and those whose content
//! a summary carries. With one target, for every window `w` and every compressed window `c`:
//!
//! * `w ≤ expand(compress(w))`: nothing is lost for good, the archive has it;
//! * `compress(expand(c)) ≤ c`: showing everything again and compressing says no more than before;
//! * `compress(compress(w)) = compress(w)`.
//!
//! Droppable steps go first, the oldest first, as many as needed and no more. Only when all of them are gone are
//! required steps summed up, the oldest first. Preserved turns, and a step whose call is in
//! flight, are never touched. A window that was compressed before is first expanded, so that every
//! summary is made from the original turns and never from another summary.

mod plan;

use std::collections::HashSet;
use std::fmt;

use crate::archive::{Archive, ArchiveError, Place};
use crate::coded::{self, CodeEntry, Coded, ErrorCode};
use crate::counter::TokenCounter;
use crate::linearity::ResourceClass;
use crate::summary::{self, Replaced};
use crate::text::Text;
use crate::turn::{Part, Provenance, Role, Turn, TurnDraft, TurnId};
use crate::units::Tokens;
use crate::window::{ContextWindow, Replacement};

use plan::{Plan, Reserve};

/// Sums up turns. The shipped one, which needs no model, is in [`extract`](mod@crate::extract).
pub trait Summarizer {
    /// A summary of `old`, for a reader who also sees `tail`, of about `budget` tokens at most.
    ///
    /// # Errors
    /// Where no summary can be made. The turns then stay as they are.
    fn summarize(
        &self,
        old: &[Turn],
        tail: &[Turn],
        budget: Tokens,
        counter: &dyn TokenCounter,
    ) -> Result<Text, SummarizerError>;
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the summariser failed: {reason}")]
pub struct SummarizerError {
    /// The summarizer's message.
    pub reason: String,
}

impl SummarizerError {
    /// Its code.
    pub const CODE: ErrorCode = ErrorCode::new("E0407");
}

impl Coded for SummarizerError {
    fn code(&self) -> ErrorCode {
        Self::CODE
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// The errors of this module.
pub const CODES: &[CodeEntry] = &[CodeEntry {
    code: SummarizerError::CODE,
    meaning: "no summary could be made",
    remedy: "Nothing was lost; try again, or summarise without a model.",
}];

/// The fate of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryOutcome {
    /// None was needed.
    NotNeeded,
    /// The summary stands in the window.
    Written,
    /// The summary would not make the window smaller, so the turns stay.
    NoGain,
    /// The summarizer failed, so the turns stay.
    Failed(SummarizerError),
}

/// A compressed window, and what was done to get it.
#[derive(Clone, Debug)]
pub struct Compression {
    /// The window.
    pub window: ContextWindow,
    /// The turns that are gone without a word, in order, those of earlier compressions included.
    pub dropped: Vec<TurnId>,
    /// The turns that a summary stands for, in order, those of earlier compressions included.
    pub summarised: Vec<TurnId>,
    /// The number of preserved turns. All of them are in the window, verbatim and in order.
    pub preserved: usize,
    /// The size of the window as it was given.
    pub before: Tokens,
    /// The size of the window as it is.
    pub after: Tokens,
    /// The result: reached or not.
    pub outcome: TargetOutcome,
    /// The fate of the summary.
    pub summary: SummaryOutcome,
}

/// The result of aiming at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetOutcome {
    /// The window was small enough and is as it was given.
    Unchanged,
    /// The window is small enough now.
    Reached,
    /// All was done that may be done, and the window is still larger than the target.
    Unreachable,
}

impl Compression {
    /// Size now ÷ size before; 1 for an empty window.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        match self.before {
            Tokens::ZERO => 1.0,
            before => self.after.share_of(before),
        }
    }
}

/// Compresses windows.
pub struct ContextProjector<'a> {
    summarizer: &'a dyn Summarizer,
    counter: &'a dyn TokenCounter,
    keep_recent: Tokens,
    summary_share: f64,
}

impl fmt::Debug for ContextProjector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextProjector")
            .field("keep_recent", &self.keep_recent)
            .field("summary_share", &self.summary_share)
            .finish_non_exhaustive()
    }
}

impl<'a> ContextProjector<'a> {
    /// A projector that lets a summary have a quarter of the target, and protects nothing for being
    /// recent.
    #[must_use]
    pub fn new(summarizer: &'a dyn Summarizer, counter: &'a dyn TokenCounter) -> Self {
        Self {
            summarizer,
            counter,
            keep_recent: Tokens::ZERO,
            summary_share: 0.25,
        }
    }

    /// The same projector that leaves the newest steps alone: as many as fit into `tokens`, at least
    /// one. Zero protects none.
    #[must_use]
    pub const fn keep_recent(mut self, tokens: Tokens) -> Self {
        self.keep_recent = tokens;
        self
    }

    /// Makes a window smaller until it has `target` tokens or nothing more may be done. A window that
    /// is small enough comes back as it is, and none ever gets larger.
    ///
    /// The turns that are not shown any more are in the archive before this returns.
    ///
    /// # Errors
    /// Where the archive cannot give back what an earlier compression put there, or cannot keep what
    /// this one takes out. The window is then as it was.
    pub fn compress(
        &self,
        window: &ContextWindow,
        target: Tokens,
        archive: &mut dyn Archive,
    ) -> Result<Compression, ArchiveError> {
        if window.tokens() <= target {
            return Ok(unchanged(
                window,
                TargetOutcome::Unchanged,
                SummaryOutcome::NotNeeded,
            ));
        }
        let full = window.expand(archive)?;
        let plan = Plan::reaching(
            &full,
            target,
            self.keep_recent,
            &Reserve {
                stand_in: self.reserve(),
                summary: target.scaled(self.summary_share),
            },
        );
        let mut compression = self.carry_out(window, &full, plan, archive)?;
        if compression.after > target {
            compression.outcome = TargetOutcome::Unreachable;
        }
        Ok(compression)
    }

    fn carry_out(
        &self,
        given: &ContextWindow,
        full: &ContextWindow,
        plan: Plan,
        archive: &mut dyn Archive,
    ) -> Result<Compression, ArchiveError> {
        let turns = full.to_vec();
        let (summary, written) = self.summary(&turns, &plan);
        let summarised = match summary {
            Some(_) => plan.summarised,
            None => Vec::new(),
        };
        let Some(last) = last_of(&turns, &plan.dropped, &summarised) else {
            return Ok(unchanged(given, TargetOutcome::Unchanged, written));
        };
        let mark = Place::after(turns.get(last).map_or(TurnId::ROOT, Turn::id));
        let replaced = replaced(&turns, &plan.dropped, &summarised);
        let text = stand_in(&replaced, plan.dropped.len(), mark, summary.as_deref());
        let replacement = Replacement {
            summarised,
            dropped: plan.dropped,
            stand_in: draft(&text).after(mark.turn(), self.counter),
        };
        let smaller = full
            .replace(&replacement)
            .filter(|window| window.tokens() < given.tokens());
        let Some(window) = smaller else {
            return Ok(unchanged(
                given,
                TargetOutcome::Unchanged,
                SummaryOutcome::NoGain,
            ));
        };
        archive.put(mark, turns.get(..=last).unwrap_or(&turns))?;
        Ok(Compression {
            dropped: replacement.dropped,
            summarised: replacement.summarised,
            preserved: window.linearity().counts().of(ResourceClass::Preserved),
            before: given.tokens(),
            after: window.tokens(),
            outcome: TargetOutcome::Reached,
            summary: written,
            window,
        })
    }

    /// The summary of what the plan wants summed up, where it can be made and makes the window
    /// smaller.
    fn summary(&self, turns: &[Turn], plan: &Plan) -> (Option<Text>, SummaryOutcome) {
        let wanted = plan.summarised_in(turns);
        if wanted.is_empty() {
            return (None, SummaryOutcome::NotNeeded);
        }
        let source: Tokens = wanted.iter().map(Turn::tokens).sum();
        let tail = plan.after_summarised(turns);
        let summary = self
            .summarizer
            .summarize(&wanted, tail, plan.summary_budget, self.counter);
        match summary {
            Ok(text) if text.trim().is_empty() => {
                let reason = String::from("the summary is empty");
                (None, SummaryOutcome::Failed(SummarizerError { reason }))
            }
            Ok(text) if self.counter.count(&text) >= source => (None, SummaryOutcome::NoGain),
            Ok(text) => (Some(text), SummaryOutcome::Written),
            Err(error) => (None, SummaryOutcome::Failed(error)),
        }
    }

    /// More tokens than a stand-in without a summary ever has. It must not depend on what is dropped:
    /// then a larger window never has fewer turns dropped than a smaller one.
    fn reserve(&self) -> Tokens {
        let hexadecimal_digits_and_counts = Tokens::new(32 + 24);
        let replaced = Replaced::default();
        let frame = draft(&stand_in(&replaced, 1, Place::after(TurnId::ROOT), None));
        self.counter.count_parts(&frame.parts) + hexadecimal_digits_and_counts
    }
}

fn unchanged(
    window: &ContextWindow,
    outcome: TargetOutcome,
    summary: SummaryOutcome,
) -> Compression {
    let behind = window.compacted();
    Compression {
        dropped: behind.map_or(Vec::new(), |behind| behind.dropped().to_vec()),
        summarised: behind.map_or(Vec::new(), |behind| behind.summarised().to_vec()),
        preserved: window.linearity().counts().of(ResourceClass::Preserved),
        before: window.tokens(),
        after: window.tokens(),
        outcome,
        summary,
        window: window.clone(),
    }
}

/// The index of the last turn that is taken out.
fn last_of(turns: &[Turn], dropped: &[TurnId], summarised: &[TurnId]) -> Option<usize> {
    let last = |ids: &[TurnId]| {
        let id = *ids.last()?;
        turns.iter().rposition(|turn| turn.id() == id)
    };
    last(dropped).max(last(summarised))
}

/// The turns that are taken out.
fn replaced(turns: &[Turn], dropped: &[TurnId], summarised: &[TurnId]) -> Replaced {
    let gone: HashSet<TurnId> = dropped.iter().chain(summarised).copied().collect();
    let gone = || turns.iter().filter(|turn| gone.contains(&turn.id()));
    Replaced {
        turns: gone().count(),
        tokens: gone().map(Turn::tokens).sum(),
    }
}

/// The text that stands for the turns that the model does not see: one marker, whether the
/// summariser wrote one of its own or not.
fn stand_in(replaced: &Replaced, dropped: usize, mark: Place, summary: Option<&str>) -> String {
    let marker = summary::marker(replaced, dropped, Some(mark));
    match summary {
        Some(summary) => {
            let (words, _) = summary::parted(summary);
            format!("{words}{marker}\n{}", summary::without_marker(summary))
        }
        None => marker,
    }
}

/// The stand-in as a turn: the user's role, which carries no authority of the operator and is not
/// taken for the model's own speech.
fn draft(text: &str) -> TurnDraft {
    TurnDraft::said(Role::User, vec![Part::Text(Text::from(text))])
        .from_provenance(Provenance::Summary)
}
