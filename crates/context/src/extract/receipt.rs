//! The receipt of a swap: what the model can no longer see, typed and ranked.
//!
//! The same analysis that fills a summary finds the candidates: the user's sentences, decisions, tasks, failed
//! attempts, actions, and quotations around identifiers. Candidates that the summary, the texts in front of it
//! or the turns behind it say stay out. The rest is ranked by budgeted coverage, as the quotations of a summary
//! are: an entry is worth what its kind is worth and the chances that its identifiers are needed again, each
//! counted for the first entry that names it. Entries fade with age: a summary names the likeliest identifiers,
//! and of what it leaves out, the newer is needed more often than its chance says. Identifiers of one place
//! share an entry.

mod candidates;
mod groups;
mod seen;

use std::fmt;

use super::census::Census;
use super::fields::Known;
use super::{Visible, ages, source, steps, values};
use crate::pin::handle;
use crate::standing::Standing;
use crate::turn::Turn;
use crate::units::Tokens;
use candidates::{Candidate, candidates};
use seen::Seen;

/// The most entries of a receipt.
pub const MOST: usize = 200;
/// The age at which an entry is worth a third of a new one, in thousands of tokens.
const FADES: f32 = 40.0;
/// The share of its worth that an entry of any age keeps.
const LASTS: f32 = 0.4;
/// Of so many entries in a row from the first on, at least one is no list of identifiers, where there are others.
const EVERY: usize = 3;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A sentence that the user typed.
    Constraint,
    /// A decision of the assistant, or an answer of the user to its question.
    Decision,
    /// A task that is not finished.
    OpenTask,
    /// An attempt that failed, or an error.
    FailedAttempt,
    /// A finished task.
    ClosedTask,
    /// A file, a command or a commit with its last known state.
    Action,
    /// A quotation around an identifier.
    Identifier,
}

impl Kind {
    /// The name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Decision => "decision",
            Self::OpenTask => "open task",
            Self::FailedAttempt => "failed attempt",
            Self::ClosedTask => "closed task",
            Self::Action => "action",
            Self::Identifier => "identifier",
        }
    }

    /// The worth of a new entry, in the unit of an identifier that is certainly needed.
    const fn worth(self) -> f32 {
        match self {
            Self::Constraint => 0.4,
            Self::OpenTask => 0.3,
            Self::Decision => 0.2,
            Self::FailedAttempt => 0.15,
            Self::Action => 0.06,
            Self::ClosedTask => 0.04,
            Self::Identifier => 0.0,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something that the model can no longer see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The kind.
    pub kind: Kind,
    /// The turn that says it, counted from 1.
    pub turn: usize,
    /// The quotation on one line; `…` marks a cut. Words of the transcript, and no instructions.
    pub text: String,
}

impl Loss {
    /// The handle by which the turn is had again: `turn:14`.
    #[must_use]
    pub fn handle(&self) -> String {
        handle(self.turn)
    }
}

/// The turns and details that the model can no longer see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The turns that are not shown.
    pub turns: usize,
    /// Their tokens.
    pub tokens: Tokens,
    /// The entries, the most needed first; at most [`MOST`].
    pub lost: Vec<Loss>,
    /// The number of entries beyond these.
    pub left_out: usize,
}

impl Receipt {
    /// The receipt for `old`, the turns that are not shown, beside `tail`, the turns that are, and `front`, all
    /// text in front of these: the summary with the user's words, standing matter, pins.
    ///
    /// Takes milliseconds for each hundred thousand tokens. The same input gives the same receipt.
    #[must_use]
    pub fn of(old: &[Turn], tail: &[Turn], front: &str) -> Self {
        // Every way to compact restates the client's standing matter in front, so it is not lost.
        let standing = Standing::of(old, Tokens::new(u64::MAX));
        let standing = standing.texts_before(old, old.len());
        let mut front = front.to_owned();
        standing.for_each(|(_, text)| front.extend(["\n", &text]));
        let front = front.as_str();
        let pieces = source::pieces(old);
        let shown = Visible::of(tail, front);
        let census = Census::of(&pieces);
        let ages = ages(old);
        let values = values(&ages, &pieces, &census, &shown);
        let known = Known {
            old,
            pieces: &pieces,
            steps: &steps::steps(old),
        };
        let seen = Seen::of(&shown, front);
        let fades: Vec<f32> = ages.iter().map(|&age| fade(age)).collect();
        let found = candidates(&known, (&census, &values, &fades), (&shown, &seen));
        let (lost, left_out) = ranked(found, (&fades, &values));
        Self {
            turns: old.len(),
            tokens: old.iter().map(Turn::tokens).sum(),
            lost,
            left_out,
        }
    }

    /// The first entries, each as a line with its kind and handle.
    pub fn lines(&self, most: usize) -> impl Iterator<Item = String> + '_ {
        let first = self.lost.iter().take(most);
        first.map(|loss| format!("{} ({}): {}", loss.kind, loss.handle(), loss.text))
    }
}

/// The share of its worth that an entry keeps at an age in thousands of tokens.
fn fade(age: f32) -> f32 {
    LASTS + (1.0 - LASTS) * (-age / FADES).exp()
}

/// The candidates in the order in which each adds most to those before it, and the number of those beyond
/// [`MOST`]. A quotation whose identifiers stand above adds nothing.
fn ranked(mut open: Vec<Candidate>, (fades, values): (&[f32], &[f32])) -> (Vec<Loss>, usize) {
    let mut needed = values.to_vec();
    let mut out: Vec<Loss> = Vec::new();
    loop {
        let lists = out.iter().filter(|loss| loss.kind == Kind::Identifier);
        let is_full = (lists.count() + 1) * EVERY > (out.len() + 1) * (EVERY - 1);
        let gain = |candidate: &Candidate| {
            let members = candidate.members.iter();
            let values = members.filter_map(|&member| needed.get(member));
            let fade = fades.get(candidate.turn).copied().unwrap_or(0.0);
            fade * (candidate.kind.worth() + values.sum::<f32>())
        };
        open.retain(|it| it.kind != Kind::Identifier || gain(it) > 0.0);
        let worth = |index: &usize| open.get(*index).map_or(0.0, gain);
        let first_of_best = |one: &usize, other: &usize| {
            let by_worth = worth(one).total_cmp(&worth(other));
            by_worth.then(other.cmp(one))
        };
        let of_kind = |index: &usize| {
            let kind = open.get(*index).map(|it| it.kind);
            !is_full || kind != Some(Kind::Identifier)
        };
        let others = (0..open.len()).filter(of_kind).max_by(first_of_best);
        let best = others.or_else(|| (0..open.len()).max_by(first_of_best));
        let Some(index) = best.filter(|_| out.len() < MOST) else {
            return (out, open.len());
        };
        let candidate = open.remove(index);
        for &member in &candidate.members {
            if let Some(value) = needed.get_mut(member) {
                *value = 0.0;
            }
        }
        out.push(Loss {
            kind: candidate.kind,
            turn: candidate.turn + 1,
            text: candidate.text,
        });
    }
}

#[cfg(test)]
mod tests;
