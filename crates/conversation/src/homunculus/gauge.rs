//! The size of a view as the provider counts it: its last report, and our estimate of the turns
//! since then.

use context::{Tokens, TurnId};
use tokens::FACTOR_BOUNDS;

use crate::homunculus::extent::Extent;
use crate::homunculus::outline::Path;

/// Tells how large views are.
///
/// Of what was sent, the provider's report counts, above or below our estimate. Of what is new, our
/// estimate counts, but only of text: the size of a document or of a block that can not be read is a guess
/// until the provider has counted it, and nothing is decided on a guess. After a swap the view is another
/// one, and the estimate counts again, times what was learnt from the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauge {
    /// The estimated size of everything beside the turns.
    overhead: Tokens,
    last: Option<Last>,
}

/// The size of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The provider's count, and our estimate of the text that it has not counted yet.
    pub known: Tokens,
    /// Documents and blocks that can not be read, of which the provider has not told.
    pub guessed: Tokens,
}

impl Size {
    /// All of it.
    #[must_use]
    pub fn all(&self) -> Tokens {
        self.known + self.guessed
    }
}

/// The last view that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    shown: Extent,
    len: u32,
    head: TurnId,
    /// Our estimate of its turns.
    tokens: Tokens,
    /// The part of it that is a guess.
    guessed: Tokens,
    size: Size,
    /// The part of the size that is notes and that the provider has not reported.
    notes: Tokens,
    /// True if it does not go on from a view that was sent: no report tells its size.
    is_another: bool,
}

impl Last {
    fn is_before(&self, path: &Path<'_>) -> bool {
        path.node_before(self.len as usize) == Some(self.head)
    }
}

/// The correction of estimates.
struct Correction {
    text: f64,
    guessed: f64,
    besides: Tokens,
}

impl Gauge {
    /// The size of a view.
    #[must_use]
    pub fn size(&self, shown: &Extent, path: &Path<'_>) -> Size {
        let tokens = shown.tokens(path);
        let guessed = path.guessed(shown.from).min(tokens);
        let Some(last) = &self.last else {
            return Size {
                known: self.overhead + tokens.saturating_sub(guessed),
                guessed,
            };
        };
        let goes_on = last.is_before(path);
        if goes_on && last.shown == *shown {
            let new = guessed.saturating_sub(last.guessed);
            // Pins may have gone since.
            let all = last.size.known + tokens;
            return Size {
                known: all.saturating_sub(last.tokens + new),
                guessed: last.size.guessed + new,
            };
        }
        let new = match goes_on {
            true => path.guessed((last.len as usize).max(shown.from)) + last.size.guessed,
            false => guessed,
        };
        let new = new.min(guessed);
        let correction = self.correction(last);
        let text = tokens.saturating_sub(guessed).scaled(correction.text);
        let counted = guessed.saturating_sub(new).scaled(correction.guessed);
        Size {
            known: self.overhead + correction.besides + text + counted + self.notes(shown, path),
            guessed: new,
        }
    }

    /// The notes in a view that the provider has not reported. They stand evenly among the turns, so the turns
    /// that a swap keeps have their share of them.
    fn notes(&self, shown: &Extent, path: &Path<'_>) -> Tokens {
        let Some(last) = self.last.filter(|last| last.tokens > Tokens::ZERO) else {
            return Tokens::ZERO;
        };
        if last.is_before(path) && last.shown == *shown {
            return last.notes;
        }
        let kept = path.tail(shown.from).as_f64() / last.tokens.as_f64();
        last.notes.scaled(kept.min(1.0))
    }

    /// The correction that follows from the last report. A count that was too high is taken from
    /// the guesses first. A count that was too low belongs to everything alike, as far as counters
    /// err, and the rest to the matter beside the turns.
    fn correction(&self, last: &Last) -> Correction {
        let (least, most) = FACTOR_BOUNDS;
        let guessed = last.guessed.saturating_sub(last.size.guessed).as_f64();
        let text = last.tokens.saturating_sub(last.guessed).as_f64();
        let beside = self.overhead + last.notes;
        let turns = last.size.known.saturating_sub(beside);
        let counted = turns.as_f64();
        let missed = counted - text - guessed;
        if missed >= 0.0 {
            let factor = match text + guessed > 0.0 {
                true => (counted / (text + guessed)).min(most),
                false => 1.0,
            };
            return Correction {
                text: factor,
                guessed: factor,
                besides: turns
                    .saturating_sub((last.tokens.saturating_sub(last.size.guessed)).scaled(factor)),
            };
        }
        let kept = (guessed + missed).max(0.0);
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 1.0 };
        Correction {
            text: share(counted - kept, text).clamp(least, 1.0),
            guessed: share(kept, guessed),
            besides: Tokens::ZERO,
        }
    }

    /// By how much text is counted too low, at least 1.
    #[must_use]
    pub fn factor(&self) -> f64 {
        let last = self.last.as_ref();
        last.map_or(1.0, |last| self.correction(last).text.max(1.0))
    }

    /// A view is sent.
    pub(crate) fn send(&mut self, shown: &Extent, path: &Path<'_>) {
        let (size, notes) = (self.size(shown, path), self.notes(shown, path));
        let goes_on = |last: &Last| last.is_before(path) && last.shown == *shown;
        let is_another = !self.last.as_ref().is_some_and(goes_on);
        let tokens = shown.tokens(path);
        self.last = Some(Last {
            shown: *shown,
            len: u32::try_from(path.len()).unwrap_or(u32::MAX),
            head: path.head(),
            tokens,
            guessed: path.guessed(shown.from).min(tokens),
            size,
            notes,
            is_another,
        });
    }

    /// Turns of the last view were shortened before it went out.
    pub(crate) fn shorten(&mut self, path: &Path<'_>) {
        if let Some(last) = &mut self.last {
            let tokens = last.shown.tokens(path);
            let saved = last.tokens.saturating_sub(tokens);
            last.size.known = last.size.known.saturating_sub(saved);
            last.tokens = tokens;
            last.guessed = last.guessed.min(tokens);
        }
    }

    /// Returns true if no report tells the size of the last view.
    pub(crate) fn is_estimate(&self) -> bool {
        self.last.is_some_and(|last| last.is_another)
    }

    /// The last view has this size, of which so much is notes.
    pub(crate) fn estimate(&mut self, size: Size, notes: Tokens) {
        if let Some(last) = &mut self.last {
            (last.size, last.notes) = (size, notes);
        }
    }

    /// The last view was sent with a note. It stays there, and counts until the provider reports.
    pub(crate) fn add_note(&mut self, tokens: Tokens) {
        if let Some(last) = &mut self.last {
            last.size.known += tokens;
            last.notes += tokens;
        }
    }

    /// The provider takes a note out that was in the view before the last one.
    pub(crate) fn clear_note(&mut self, tokens: Tokens) {
        if let Some(last) = &mut self.last {
            last.size.known = last.size.known.saturating_sub(tokens);
            last.notes = last.notes.saturating_sub(tokens);
        }
    }

    /// The provider counted so many tokens in the last sent view.
    pub(crate) const fn report(&mut self, input: Tokens) {
        if let Some(last) = &mut self.last {
            last.size = Size {
                known: input,
                guessed: Tokens::ZERO,
            };
            last.notes = Tokens::ZERO;
        }
    }

    /// The provider took this view before: as large as it counted, or, where that is not known, smaller
    /// than `below` whatever we count.
    pub(crate) fn accept(
        &mut self,
        (shown, path): (&Extent, &Path<'_>),
        counted: Option<Tokens>,
        below: Tokens,
    ) {
        self.send(shown, path);
        let size = self.last().all();
        let estimate = size.min(below.saturating_sub(Tokens::new(1)));
        self.report(counted.unwrap_or(estimate));
    }

    /// Something else is sent besides the turns.
    pub(crate) fn overhead(&mut self, tokens: Tokens) {
        if let Some(last) = &mut self.last {
            last.size.known = (last.size.known + tokens).saturating_sub(self.overhead);
        }
        self.overhead = tokens;
    }

    /// The newest turn that was sent.
    pub(crate) fn head(&self) -> Option<TurnId> {
        self.last.as_ref().map(|last| last.head)
    }

    /// The size of the last sent view.
    pub(crate) fn last(&self) -> Size {
        self.last.as_ref().map(|last| last.size).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use context::turn::{Attachment, Digest};
    use context::{Heuristic, Part, Role, Text, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
    use history::MarkId;

    use super::Gauge;
    use crate::homunculus::extent::Extent;
    use crate::homunculus::outline::{Outline, Path};

    fn document(bytes: usize) -> Part {
        Part::Attachment(Attachment {
            kind: Text::from("document"),
            bytes,
            digest: Digest::of(b"paper"),
        })
    }

    /// A conversation: the tokens of each turn's text, and the bytes of a document beside it.
    fn turns(said: &[(usize, usize)]) -> Vec<Turn> {
        let mut parent = TurnId::ROOT;
        said.iter()
            .enumerate()
            .map(|(index, &(tokens, bytes))| {
                let role = [Role::User, Role::Assistant][index % 2];
                let mut parts = vec![Part::Text("abcd".repeat(tokens - 4).into())];
                parts.extend((bytes > 0).then(|| document(bytes)));
                let turn = TurnDraft::said(role, parts).after(parent, &Heuristic);
                parent = turn.id();
                turn
            })
            .collect()
    }

    fn outline(said: &[(usize, usize)]) -> Outline {
        Outline::of(&turns(said))
    }

    const WHOLE: Extent = Extent {
        from: 0,
        cleared: 0,
        mark: None,
        summary: Tokens::ZERO,
    };

    fn known(gauge: &Gauge, shown: &Extent, outline: &Outline, len: usize) -> u64 {
        gauge.size(shown, &Path::new(outline, len, &[])).known.get()
    }

    /// The gauge after so many turns were sent and the provider reported this.
    fn reported(outline: &Outline, len: usize, overhead: u64, input: u64) -> Gauge {
        let mut gauge = Gauge::default();
        gauge.overhead(Tokens::new(overhead));
        gauge.send(&WHOLE, &Path::new(outline, len, &[]));
        gauge.report(Tokens::new(input));
        gauge
    }

    #[test]
    fn notes_count_until_the_provider_reports() {
        let outline = outline(&[(1_000, 0); 8]);
        let mut gauge = Gauge::default();
        for len in 1..=6 {
            gauge.send(&WHOLE, &Path::new(&outline, len, &[]));
            gauge.add_note(Tokens::new(80));
        }
        assert_eq!(known(&gauge, &WHOLE, &outline, 7), 7_000 + 6 * 80);
        gauge.report(Tokens::new(6_100));
        assert_eq!(known(&gauge, &WHOLE, &outline, 7), 7_100);
    }

    #[test]
    fn notes_that_a_swap_removes_count_no_longer() {
        let outline = outline(&[(83, 0); 1_500]);
        let (mut gauge, mut shown) = (Gauge::default(), WHOLE);
        for len in 1..=1_500 {
            if known(&gauge, &shown, &outline, len) > 12_000 {
                shown.from = len - 15;
            }
            gauge.send(&shown, &Path::new(&outline, len, &[]));
            gauge.add_note(Tokens::new(110));
            let real = (len - shown.from) as f64 * 193.0;
            let told = gauge.last().all().as_f64();
            assert!((told / real - 1.0).abs() < 0.1, "{len}: {told} of {real}");
        }
        assert!(shown.from > 1_400, "{shown:?}");
    }

    #[test]
    fn the_report_and_the_estimate_of_what_was_said_since() {
        let outline = outline(&[(1_000, 0); 8]);
        for input in [500, 3_000, 9_000] {
            let gauge = reported(&outline, 3, 200, input);
            assert_eq!(known(&gauge, &WHOLE, &outline, 3), input);
            assert_eq!(known(&gauge, &WHOLE, &outline, 5), input + 2_000);
        }
    }

    #[test]
    fn what_was_shortened_before_it_went_out_counts_once() {
        let turns = turns(&[(1_000, 0), (1_000, 0), (3_000, 0), (500, 0)]);
        let long = Outline::of(&turns);
        let mut gauge = reported(&long, 2, 200, 2_400);
        gauge.send(&WHOLE, &Path::new(&long, 3, &[]));
        assert_eq!(gauge.last().known.get(), 5_400);
        let mut short = long;
        let sizes = [
            (&turns[2], Tokens::new(1_000)),
            (&turns[3], Tokens::new(500)),
        ];
        short.resize(2, sizes.into_iter());
        gauge.shorten(&Path::new(&short, 3, &[]));
        assert_eq!(gauge.last().known.get(), 3_400);
        gauge.report(Tokens::new(3_500));
        assert_eq!(known(&gauge, &WHOLE, &short, 4), 4_000);
    }

    #[test]
    fn a_document_is_guessed_until_it_was_counted() {
        let outline = outline(&[(1_000, 900_000), (100, 0), (100, 900_000)]);
        let guess = Heuristic.count_part(&document(900_000));
        let path = Path::new(&outline, 1, &[]);
        let first = Gauge::default().size(&WHOLE, &path);
        assert_eq!((first.known.get(), first.guessed), (1_000, guess));
        let gauge = reported(&outline, 1, 0, 9_000);
        let next = gauge.size(&WHOLE, &Path::new(&outline, 3, &[]));
        assert_eq!((next.known.get(), next.guessed), (9_200, guess));
    }

    #[test]
    fn after_a_swap_an_estimate_is_corrected_by_what_was_learnt() {
        let outline = outline(&[(1_000, 0); 10]);
        let swapped = WHOLE.swapped(8, MarkId::from_bytes([1; 16]), Tokens::new(1_000));
        // Three thousand tokens of ten are left.
        for (overhead, input, after) in [
            (0, 10_000, 3_000),
            (500, 10_500, 3_500),
            (0, 15_000, 4_500),
            (0, 8_000, 2_400),
            // More than counters err: something else is sent besides.
            (0, 28_000, 10_000 + 5_400),
            (0, 1_000, 1_800),
        ] {
            let gauge = reported(&outline, 10, overhead, input);
            let size = known(&gauge, &swapped, &outline, 10);
            assert!(size.abs_diff(after) <= 2, "{input}: {size}, not {after}");
        }
    }

    #[test]
    fn what_was_counted_too_high_was_the_document() {
        let outline = outline(&[(1_000, 900_000), (1_000, 0), (1_000, 0), (1_000, 0)]);
        let gauge = reported(&outline, 4, 0, 4_300);
        let without = WHOLE.swapped(2, MarkId::from_bytes([1; 16]), Tokens::new(500));
        assert_eq!(known(&gauge, &without, &outline, 4), 2_500);
    }
}
