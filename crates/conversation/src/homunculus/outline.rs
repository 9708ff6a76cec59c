//! A conversation without its words: sizes, roles, and where it may be cut.

use std::fmt;

use context::cut::{Cuts, Rule};
use context::pin::Pins;
use context::standing::Standing;
use context::{Heuristic, Part, Role, TokenCounter, Tokens, Turn, TurnId};

/// The sizes and cuts of a conversation that the machine needs: some 40 bytes a turn, no text. All
/// sizes are prefix sums, so every question about a range takes constant time.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    ids: Vec<TurnId>,
    /// Sums before each turn but the first, and before the end.
    sums: Vec<Sums>,
    /// The turns that are shown shortened, and the tokens that they lack.
    shortened: Vec<(u32, u32)>,
    cuts: Cuts,
    standing: Standing,
}

/// Sums of everything before a turn. A conversation has fewer than 2^32 tokens; larger sums
/// saturate.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    tokens: u32,
    system: u32,
    clearable: u32,
    results: u32,
    guessed: u32,
}

/// The tokens that the placeholder for a cleared tool result takes, frame included.
pub(crate) const PLACEHOLDER: Tokens = Tokens::new(12);

impl Outline {
    /// The outline of a conversation. Takes time linear in its parts.
    #[must_use]
    pub fn of(turns: &[Turn]) -> Self {
        let mut outline = Self::default();
        for turn in turns {
            outline.push(turn, turn.tokens());
        }
        outline
    }

    /// Takes the next turn, which is shown with so many `tokens`: fewer than its own where it is sent
    /// shortened. Takes time linear in its parts.
    pub fn push(&mut self, turn: &Turn, tokens: Tokens) {
        self.cuts.push(turn);
        self.standing.push(turn);
        self.count(turn, tokens);
        self.ids.push(turn.id());
    }

    /// The turns from `first` on, all of them, are shown with other tokens than they were taken with.
    pub fn resize<'t>(&mut self, first: usize, turns: impl Iterator<Item = (&'t Turn, Tokens)>) {
        self.sums.truncate(first);
        self.shortened.retain(|&(turn, _)| turn < small(first));
        for (turn, tokens) in turns.take(self.ids.len().saturating_sub(first)) {
            self.count(turn, tokens);
        }
    }

    fn count(&mut self, turn: &Turn, tokens: Tokens) {
        let lacking = turn.tokens().saturating_sub(tokens);
        if lacking > Tokens::ZERO {
            let place = small(self.sums.len());
            self.shortened.push((place, few(lacking)));
        }
        self.sums.push(self.total().and(turn, tokens));
    }

    /// Without turns, with this room for standing matter.
    #[must_use]
    pub fn within(room: Tokens) -> Self {
        Self {
            standing: Standing::within(room),
            ..Self::default()
        }
    }

    /// The matter that the client itself put into the conversation.
    #[must_use]
    pub const fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Sets the room for standing matter.
    pub const fn set_room(&mut self, room: Tokens) {
        self.standing.set_room(room);
    }

    /// The number of turns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if there are no turns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The ids of the turns.
    #[must_use]
    pub fn ids(&self) -> &[TurnId] {
        &self.ids
    }

    /// Gives back memory that is held for turns to come.
    pub fn shrink_to_fit(&mut self) {
        self.ids.shrink_to_fit();
        self.sums.shrink_to_fit();
        self.shortened.shrink_to_fit();
        self.cuts.shrink_to_fit();
        self.standing.shrink_to_fit();
    }

    /// The bytes it holds on the heap, apart from unanswered calls.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.ids.capacity() * size_of::<TurnId>()
            + self.sums.capacity() * size_of::<Sums>()
            + self.shortened.capacity() * size_of::<(u32, u32)>()
            + self.cuts.bytes()
            + self.standing.bytes()
    }

    fn sum(&self, before: usize) -> Sums {
        match before.min(self.sums.len()).checked_sub(1) {
            Some(last) => self.sums.get(last).copied().unwrap_or_default(),
            None => Sums::default(),
        }
    }

    fn total(&self) -> Sums {
        self.sum(self.sums.len())
    }

    /// The number of sums before turns `0..=len` that satisfy `holds`, which must hold for a prefix
    /// of them.
    fn sums_where(&self, holds: impl Fn(&Sums) -> bool) -> usize {
        if holds(&Sums::default()) {
            1 + self.sums.partition_point(holds)
        } else {
            0
        }
    }
}

impl Sums {
    fn and(self, turn: &Turn, tokens: Tokens) -> Self {
        let system = if turn.role() == Role::System {
            tokens
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
            tokens.saturating_sub(placeholders)
        };
        Self {
            tokens: self.tokens.saturating_add(few(tokens)),
            system: self.system.saturating_add(few(system)),
            clearable: self.clearable.saturating_add(few(clearable)),
            results: self.results.saturating_add(small(results)),
            guessed: self.guessed.saturating_add(few(guessed(turn).min(tokens))),
        }
    }

    fn tokens(self) -> Tokens {
        Tokens::new(u64::from(self.tokens))
    }

    fn system(self) -> Tokens {
        Tokens::new(u64::from(self.system))
    }

    fn clearable(self) -> Tokens {
        Tokens::new(u64::from(self.clearable))
    }

    fn guessed(self) -> Tokens {
        Tokens::new(u64::from(self.guessed))
    }
}

/// The part of a turn's estimate that is a guess: the provider counts the pages of documents and
/// the content of opaque blocks in its own way. An image has an upper bound, and counts as known.
fn guessed(turn: &Turn) -> Tokens {
    let is_guess = |part: &&Part| match part {
        Part::Attachment(attachment) => !attachment.kind.starts_with("image"),
        Part::Opaque(_) => true,
        Part::Text(_) | Part::Thinking(_) | Part::Call(_) | Part::Result(_) => false,
    };
    let guesses = turn.parts().iter().filter(is_guess);
    guesses.map(|part| Heuristic.count_part(part)).sum()
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn few(tokens: Tokens) -> u32 {
    u32::try_from(tokens.get()).unwrap_or(u32::MAX)
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

/// The words behind an outline. They are read only when a strategy asks for them, since reading all turns of a
/// request takes milliseconds.
pub trait Words: fmt::Debug {
    /// The turns, from the first on.
    fn turns(&self) -> &[Turn];
    /// The pins in force, with their limits.
    fn pins(&self) -> &Pins;
    /// The counter of the model.
    fn counter(&self) -> &dyn TokenCounter;
}

/// The tokens of the heading and the frame around restated pins.
const PINS_FRAME: Tokens = Tokens::new(16);

/// The beginning of a conversation up to one request: what the client has sent.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    outline: &'a Outline,
    len: usize,
    pins: &'a [PinnedAt],
    words: Option<&'a dyn Words>,
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
            words: None,
        }
    }

    /// With the words behind it, which are at hand while a request is.
    #[must_use]
    pub fn with_words(self, words: &'a dyn Words) -> Self {
        Self {
            words: Some(words),
            ..self
        }
    }

    /// The words behind it, where they are at hand.
    #[must_use]
    pub const fn words(&self) -> Option<&'a dyn Words> {
        self.words
    }

    /// The turns of the path; none where the words are not at hand.
    #[must_use]
    pub fn turns(&self) -> &'a [Turn] {
        let turns = self.words.map(|words| words.turns()).unwrap_or_default();
        turns.get(..self.len).unwrap_or(turns)
    }

    /// The number of turns.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no turns.
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
        end.tokens().saturating_sub(start.tokens())
    }

    /// The tokens of the turns before `cut`.
    #[must_use]
    pub fn covered(&self, cut: usize) -> Tokens {
        self.outline.sum(cut.min(self.len)).tokens()
    }

    /// The part of the turns from `cut` on that is a guess: documents and opaque blocks.
    #[must_use]
    pub fn guessed(&self, cut: usize) -> Tokens {
        let (end, start) = (self.outline.sum(self.len), self.outline.sum(cut));
        end.guessed().saturating_sub(start.guessed())
    }

    /// The tokens by which turns are shown shorter than they were said.
    #[must_use]
    pub fn spared(&self) -> Tokens {
        let shortened = self.outline.shortened.iter();
        let shown = shortened.filter(|&&(turn, _)| turn < small(self.len));
        let lacking = shown.map(|&(_, lacking)| u64::from(lacking));
        Tokens::new(lacking.sum())
    }

    /// The matter in front of the turns from `cut` on, beside a summary: system turns, standing matter, and
    /// pins that must be restated.
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
        let standing = self.outline.standing.tokens(cut.min(self.len));
        let system = self.outline.sum(cut.min(self.len)).system();
        system + standing + frame + restated.into_iter().sum()
    }

    /// The tokens that clearing the tool results of the turns `from..upto` would free.
    #[must_use]
    pub fn clearable(&self, from: usize, upto: usize) -> Tokens {
        let (start, end) = (from.min(self.len), upto.min(self.len));
        let freed = self.outline.sum(end).clearable();
        freed.saturating_sub(self.outline.sum(start).clearable())
    }

    /// The tokens of all pins.
    #[must_use]
    pub fn pinned(&self) -> Tokens {
        self.pins.iter().map(|pin| pin.tokens).sum()
    }

    /// Returns true if a summary may replace everything before this cut.
    #[must_use]
    pub fn is_cut(&self, cut: usize) -> bool {
        cut < self.len && self.outline.cuts.is_cut(cut, Rule::Provider)
    }

    /// Returns true if a summary may replace every turn, so that the coming answer is the first
    /// turn behind it: no call is open, and the last turn is not the model's.
    #[must_use]
    pub fn ends_whole(&self) -> bool {
        if self.len < self.outline.len() {
            return self.outline.cuts.is_cut(self.len, Rule::Provider);
        }
        self.outline.cuts.ends_whole()
    }

    /// The last cut at or before `index`.
    #[must_use]
    pub fn cut_at_most(&self, index: usize) -> Option<usize> {
        let index = index.min(self.len.checked_sub(1)?);
        self.outline.cuts.at_most(index, Rule::Provider)
    }

    /// The first cut at or after `index`.
    #[must_use]
    pub fn cut_at_least(&self, index: usize) -> Option<usize> {
        let cut = self.outline.cuts.at_least(index, Rule::Provider)?;
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
        let end = self.outline.sum(self.len).tokens();
        let at = self
            .outline
            .sums_where(|sum| end.saturating_sub(sum.tokens()) > keep);
        self.cut_at_least(at).or_else(|| self.last_cut())
    }

    /// The index before which all tool results but the newest `keep` lie.
    #[must_use]
    pub fn before_newest_results(&self, keep: usize) -> usize {
        let results = self.outline.sum(self.len).results;
        let old = results.saturating_sub(small(keep));
        let upto = self
            .outline
            .sums_where(|sum| sum.results <= old)
            .saturating_sub(1);
        upto.min(self.len)
    }
}

#[cfg(test)]
mod tests;
