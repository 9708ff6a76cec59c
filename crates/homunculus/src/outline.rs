//! A conversation without its words: sizes, roles, and where it may be cut.

use context::split::{Cut, Rule, cuts};
use context::{Role, Tokens, Turn, TurnId};

/// What the machine needs to know of a conversation: some 50 bytes a turn, no text. All sizes are
/// prefix sums, so every question about a range takes constant time.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    ids: Vec<TurnId>,
    sums: Vec<Sums>,
    cuts: Vec<usize>,
}

/// What lies before a turn.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    tokens: Tokens,
    system: Tokens,
    clearable: Tokens,
    results: usize,
}

/// The tokens that the placeholder for a cleared tool result takes, frame included.
pub(crate) const PLACEHOLDER: Tokens = Tokens::new(12);

impl Outline {
    /// The outline of a conversation. Takes time linear in its parts.
    #[must_use]
    pub fn of(turns: &[Turn]) -> Self {
        let mut sums = Vec::with_capacity(turns.len() + 1);
        let mut sum = Sums::default();
        sums.push(sum);
        for turn in turns {
            sum = sum.and(turn);
            sums.push(sum);
        }
        // Cut 0 keeps everything: there a summary would stand for nothing.
        let cuts = cuts(turns, Rule::Provider)
            .into_iter()
            .map(Cut::index)
            .filter(|&cut| cut > 0)
            .collect();
        Self {
            ids: turns.iter().map(Turn::id).collect(),
            sums,
            cuts,
        }
    }

    /// How many turns there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn sum(&self, before: usize) -> Sums {
        let last = self.sums.len().saturating_sub(1);
        self.sums.get(before.min(last)).copied().unwrap_or_default()
    }
}

impl Sums {
    fn and(self, turn: &Turn) -> Self {
        let system = if turn.role() == Role::System {
            turn.tokens()
        } else {
            Tokens::ZERO
        };
        let results = if turn.role() == Role::Tool {
            turn.results().count()
        } else {
            0
        };
        let placeholders = Tokens::new(PLACEHOLDER.get() * results as u64);
        let clearable = if results == 0 {
            Tokens::ZERO
        } else {
            turn.tokens().saturating_sub(placeholders)
        };
        Self {
            tokens: self.tokens + turn.tokens(),
            system: self.system + system,
            clearable: self.clearable + clearable,
            results: self.results + results,
        }
    }
}

/// A pin's place and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedAt {
    /// The index of the turn that says it; it is restated only while that turn is not shown.
    /// `None`: no turn says it.
    pub turn: Option<usize>,
    /// Its size.
    pub tokens: Tokens,
}

/// The tokens of the heading and the frame around restated pins.
const PINS_FRAME: Tokens = Tokens::new(16);

/// The beginning of a conversation up to one request: what the client has sent.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    outline: &'a Outline,
    len: usize,
    pins: &'a [PinnedAt],
}

impl<'a> Path<'a> {
    /// The first `len` turns of an outline, with the pins in force.
    ///
    /// A cut that only a later turn makes illegal (a late tool result) is treated as illegal
    /// throughout, which is the safe side.
    #[must_use]
    pub fn new(outline: &'a Outline, len: usize, pins: &'a [PinnedAt]) -> Self {
        Self {
            outline,
            len: len.min(outline.len()),
            pins,
        }
    }

    /// How many turns there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The last turn before a cut.
    #[must_use]
    pub fn node_before(&self, cut: usize) -> Option<TurnId> {
        let index = cut.checked_sub(1)?;
        if index >= self.len {
            return None;
        }
        self.outline.ids.get(index).copied()
    }

    /// The newest turn.
    #[must_use]
    pub fn head(&self) -> TurnId {
        self.node_before(self.len).unwrap_or(TurnId::ROOT)
    }

    /// The tokens of the turns from `cut` on.
    #[must_use]
    pub fn tail(&self, cut: usize) -> Tokens {
        let (end, start) = (self.outline.sum(self.len), self.outline.sum(cut));
        end.tokens.saturating_sub(start.tokens)
    }

    /// The tokens of the turns before `cut`.
    #[must_use]
    pub fn covered(&self, cut: usize) -> Tokens {
        self.outline.sum(cut.min(self.len)).tokens
    }

    /// What stands in front of the turns from `cut` on besides a summary: system turns, and pins that
    /// must be restated.
    #[must_use]
    pub fn front(&self, cut: usize) -> Tokens {
        let restated: Vec<Tokens> = self
            .pins
            .iter()
            .filter(|pin| pin.turn.is_none_or(|turn| turn < cut))
            .map(|pin| pin.tokens)
            .collect();
        let frame = if restated.is_empty() {
            Tokens::ZERO
        } else {
            PINS_FRAME
        };
        self.outline.sum(cut.min(self.len)).system + frame + restated.into_iter().sum()
    }

    /// What clearing the tool results of the turns `from..upto` would free.
    #[must_use]
    pub fn clearable(&self, from: usize, upto: usize) -> Tokens {
        let (start, end) = (from.min(self.len), upto.min(self.len));
        let freed = self.outline.sum(end).clearable;
        freed.saturating_sub(self.outline.sum(start).clearable)
    }

    /// Whether a summary may stand for everything before this cut.
    #[must_use]
    pub fn is_cut(&self, cut: usize) -> bool {
        cut < self.len && self.outline.cuts.binary_search(&cut).is_ok()
    }

    /// The last cut at or before `index`.
    #[must_use]
    pub fn cut_at_most(&self, index: usize) -> Option<usize> {
        let index = index.min(self.len.checked_sub(1)?);
        let after = self.outline.cuts.partition_point(|&cut| cut <= index);
        self.outline.cuts.get(after.checked_sub(1)?).copied()
    }

    /// The first cut at or after `index`.
    #[must_use]
    pub fn cut_at_least(&self, index: usize) -> Option<usize> {
        let at = self.outline.cuts.partition_point(|&cut| cut < index);
        let cut = self.outline.cuts.get(at).copied()?;
        (cut < self.len).then_some(cut)
    }

    /// The newest cut: what stands behind it can not be divided.
    #[must_use]
    pub fn last_cut(&self) -> Option<usize> {
        self.cut_at_most(self.len)
    }

    /// The first cut behind which at most `keep` tokens remain; the newest cut where even that
    /// leaves more.
    #[must_use]
    pub fn cut_keeping(&self, keep: Tokens) -> Option<usize> {
        let end = self.outline.sum(self.len).tokens;
        let at = self
            .outline
            .sums
            .partition_point(|sum| end.saturating_sub(sum.tokens) > keep);
        self.cut_at_least(at).or_else(|| self.last_cut())
    }

    /// The index before which all tool results but the newest `keep` lie.
    #[must_use]
    pub fn before_newest_results(&self, keep: usize) -> usize {
        let old = self.outline.sum(self.len).results.saturating_sub(keep);
        let upto = self
            .outline
            .sums
            .partition_point(|sum| sum.results <= old)
            .saturating_sub(1);
        upto.min(self.len)
    }
}

#[cfg(test)]
mod tests;
