//! The user's own words, kept verbatim beside a summary.
//!
//! A person's words are cheap: a few hundred tokens in sixty thousand. So no summariser touches them. They stay
//! verbatim and in order, up to a share of the window, in front of every summary. Their author and their size
//! decide what stays; single words only raise a line, in any of the languages they are known in.
//!
//! Where the words do not fit, whole units leave: lines of pasted matter first, then what was asked long
//! ago; rules, facts and decisions last. A unit is a line, a sentence of a long line, or a list with the line
//! that opens it, and stands whole or not at all, so that no negation and no condition is cut off.

mod block;
mod choose;
mod message;
mod unit;

pub(crate) use block::is_block;
pub(crate) use message::{newest_summary, numbers, replaced};

use std::collections::HashSet;

use crate::counter::TokenCounter;
use crate::turn::Turn;
use crate::units::Tokens;

/// The share of the window that the user's words may have.
pub const SHARE: f64 = 0.05;
/// The least room for the user's words, in tokens.
const LEAST: Tokens = Tokens::new(2_000);
/// The most of a small window that the least room may take.
const MOST: f64 = 0.15;

/// The room for the user's words in a window: `share` of it, at least 2,000 tokens, and at most 15 % of the
/// window.
#[must_use]
pub fn room(window: Tokens, share: f64) -> Tokens {
    window.scaled(share).max(LEAST).min(window.scaled(MOST))
}

/// The words of a user in the turns that a summary stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserWords {
    said: Vec<Said>,
    left_out: Vec<LeftOut>,
}

/// The words of one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The number of the turn, from 0.
    pub turn: usize,
    /// The words; `[…]` stands where units are left out.
    pub text: String,
}

/// Words of one turn that found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of the turn, from 0.
    pub turn: usize,
    /// The number of lines and sentences.
    pub units: usize,
    /// Their size, estimated.
    pub tokens: Tokens,
}

/// A text part of a turn: the index of the turn, and that of the part.
pub type PartOf = (usize, usize);

/// Text parts that a client put into the conversation.
#[derive(Clone, Debug, Default)]
pub struct Apart {
    /// Those that stand elsewhere in full.
    pub elsewhere: HashSet<PartOf>,
    /// Those that found no room there. Lines of them count as pasted, unless they stand beside tags.
    pub pasted: HashSet<PartOf>,
}

impl UserWords {
    /// The words of the user in `old`, within `room` tokens as rendered. Parts that stand elsewhere are left out.
    /// The words in an earlier summary among the turns are carried on.
    #[must_use]
    pub fn of(old: &[Turn], apart: &Apart, room: Tokens, counter: &dyn TokenCounter) -> Self {
        Self::with_messages(old, apart, room, counter).0
    }

    /// Like [`Self::of`], with every message whether it fits or not, oldest first: what was typed, without what was
    /// pasted.
    pub(crate) fn and_typed(
        old: &[Turn],
        apart: &Apart,
        room: Tokens,
        counter: &dyn TokenCounter,
    ) -> (Self, Vec<Said>) {
        let (words, messages) = Self::with_messages(old, apart, room, counter);
        let typed = messages.iter().map(message::Message::typed);
        (words, typed.collect())
    }

    fn with_messages(
        old: &[Turn],
        apart: &Apart,
        room: Tokens,
        counter: &dyn TokenCounter,
    ) -> (Self, Vec<message::Message>) {
        let messages = message::messages(old, apart);
        let missing = message::left_out_before(old);
        (Self::fitted(&messages, &missing, room, counter), messages)
    }

    /// The words of messages within `room`. `missing` was left out earlier.
    fn fitted(
        messages: &[message::Message],
        missing: &[LeftOut],
        room: Tokens,
        counter: &dyn TokenCounter,
    ) -> Self {
        let whole = Self {
            said: messages.iter().map(message::Message::whole).collect(),
            left_out: missing.to_vec(),
        };
        if whole.tokens(counter) <= room {
            return whole;
        }
        choose::within(messages, missing, room, counter)
    }

    /// These words and those of `later` turns, within `room`. `turns` stand before the later ones.
    #[must_use]
    pub fn then(
        &self,
        later: &Self,
        turns: usize,
        (room, counter): (Tokens, &dyn TokenCounter),
    ) -> Self {
        let missing = later.left_out.iter().map(|it| LeftOut {
            turn: it.turn + turns,
            ..*it
        });
        let later = later.said.iter().map(|said| Said {
            turn: said.turn + turns,
            text: said.text.clone(),
        });
        let all = Self {
            said: self.said.iter().cloned().chain(later).collect(),
            left_out: self.left_out.iter().copied().chain(missing).collect(),
        };
        let messages: Vec<message::Message> = message::carried(&all).collect();
        Self::fitted(&messages, &all.left_out, room, counter)
    }

    /// The words, turn by turn.
    #[must_use]
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// The words that found no room, turn by turn.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Returns true if there is nothing to show.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.said.is_empty() && self.left_out.is_empty()
    }

    /// The size as rendered.
    #[must_use]
    pub fn tokens(&self, counter: &dyn TokenCounter) -> Tokens {
        if self.is_empty() {
            return Tokens::ZERO;
        }
        counter.count(&self.render())
    }
}

#[cfg(test)]
mod tests;
