//! The place where a memory is cut: before whole exchanges.

use context::cut::{Cuts, Rule};
use context::{Role, Tokens, Turn};

/// The part of a memory that stays verbatim when the rest is summarized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stays {
    /// Nothing.
    Nothing,
    /// At most this many of the last turns.
    Turns(usize),
    /// The last turns up to this many tokens, estimated.
    Tokens(Tokens),
}

impl Stays {
    /// The number of turns before those that stay.
    ///
    /// [`context::split`] moves a cut towards the start, so that at least what was asked for stays. A program
    /// names the most that may stay here, so the cut moves towards the end.
    pub fn cut(self, turns: &[Turn]) -> usize {
        match self {
            Self::Nothing => turns.len(),
            Self::Turns(most) => exchange(turns, turns.len().saturating_sub(most)),
            Self::Tokens(most) => newest(turns, most),
        }
    }
}

/// The number of turns before the newest whole exchanges that have at most so many tokens.
pub(super) fn newest(turns: &[Turn], most: Tokens) -> usize {
    let sizes = turns.iter().rev().scan(Tokens::ZERO, |sum, turn| {
        *sum += turn.tokens();
        Some(*sum)
    });
    let stay = sizes.take_while(|sum| *sum <= most).count();
    exchange(turns, turns.len().saturating_sub(stay))
}

/// The first place at or after `least` where an exchange begins: a cut between two steps, before a message to
/// the agent. The end, if there is none.
fn exchange(turns: &[Turn], least: usize) -> usize {
    let begins = |at: usize| {
        let first = turns.get(at);
        first.is_some_and(|turn| turn.role() == Role::User)
    };
    if least == 0 && begins(0) {
        return 0;
    }
    let cuts = Cuts::of(turns);
    let mut places = (least..turns.len()).filter(|at| cuts.is_cut(*at, Rule::Steps));
    places.find(|at| begins(*at)).unwrap_or(turns.len())
}
