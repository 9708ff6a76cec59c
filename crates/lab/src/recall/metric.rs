//! Identifiers that are needed later, and those of them that a text still holds.

use std::collections::{HashMap, HashSet};

use context::identifiers::{self, Kind};
use context::{Part, Role, Tokens, Turn};

/// The reach of context to each side of an identifier, in characters.
const REACH: usize = 80;
/// The number of the original words that must stand beside an identifier.
const WORDS: usize = 3;

/// A session cut where a compaction falls: `old | tail | future`.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    /// The turns that are compacted.
    pub old: &'a [Turn],
    /// The turns that stay verbatim.
    pub tail: &'a [Turn],
    /// The turns that follow.
    pub future: &'a [Turn],
}

impl<'a> Cut<'a> {
    /// Cuts before turn `at`, with the newest turns of at most `tail` tokens as the tail. A cut after
    /// the end is one at the end.
    ///
    /// This cut is no rule of [`context::cut`]: it divides a recording to ask what was needed later, and nothing is
    /// sent of it. It falls where a product compacted, also within a step, and methods are compared at equal
    /// sizes, so the tail never exceeds its size, as [`context::split`] lets it.
    #[must_use]
    pub fn before(turns: &'a [Turn], at: usize, tail: Tokens) -> Self {
        let (past, future) = turns.split_at_checked(at).unwrap_or((turns, &[]));
        let mut kept = Tokens::ZERO;
        let size = past
            .iter()
            .rev()
            .take_while(|turn| {
                kept += turn.tokens();
                kept <= tail
            })
            .count();
        let (old, tail) = past
            .split_at_checked(past.len() - size)
            .unwrap_or((past, &[]));
        Self { old, tail, future }
    }

    /// Cuts where the conversation first holds `tokens`. `None` for a conversation that never does.
    #[must_use]
    pub fn at_tokens(turns: &'a [Turn], tokens: Tokens, tail: Tokens) -> Option<Self> {
        let mut held = Tokens::ZERO;
        let last = turns.iter().position(|turn| {
            held += turn.tokens();
            held >= tokens
        })?;
        Some(Self::before(turns, last + 1, tail))
    }
}

/// The choices that the definition leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The number of messages after the cut that count, from any author.
    pub next: usize,
    /// The definition of a word.
    pub words: Words,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            next: 40,
            words: Words::Plain { shortest: 3 },
        }
    }
}

/// The words that count as context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Runs of letters and digits of at least `shortest` characters, without the pieces of the
    /// identifier itself.
    Plain {
        /// The fewest characters of a word.
        shortest: usize,
    },
    /// Runs of letters, digits and underscores of at least `shortest` characters, so that a name
    /// beside the identifier is one word; without the pieces of the identifier itself.
    Whole {
        /// The fewest characters of a word.
        shortest: usize,
    },
}

/// An identifier that is needed later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The identifier as the assistant writes it.
    pub text: String,
    /// The kind of identifier.
    pub kind: Kind,
    /// The words around it, for each place in the original.
    pub places: Vec<HashSet<String>>,
}

/// The number of identifiers that were needed, and the number of them that a text holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Needed later.
    pub needed: usize,
    /// Of these, named.
    pub named: usize,
    /// Of these, in context.
    pub in_context: usize,
}

impl std::ops::AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.needed += other.needed;
        self.named += other.named;
        self.in_context += other.in_context;
    }
}

impl Score {
    /// The share that is named, 0 to 1; `None` where nothing was needed.
    #[must_use]
    pub fn named_share(&self) -> Option<f64> {
        share(self.named, self.needed)
    }

    /// The share that stands in context, 0 to 1; `None` where nothing was needed.
    #[must_use]
    pub fn context_share(&self) -> Option<f64> {
        share(self.in_context, self.needed)
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    let float = |count: usize| u32::try_from(count).map_or(f64::INFINITY, f64::from);
    (whole > 0).then(|| float(part) / float(whole))
}

/// The readable text of turns, for looking things up: parts joined by line feeds, the escapes in
/// arguments undone.
fn text_of<'a>(turns: impl IntoIterator<Item = &'a Turn>) -> String {
    let mut out = String::new();
    for part in turns.into_iter().flat_map(Turn::parts) {
        push_part(part, &mut out);
    }
    out
}

fn push_part(part: &Part, out: &mut String) {
    match part {
        Part::Call(call) => {
            out.push_str(&call.name);
            out.push(' ');
            out.push_str(&identifiers::unescaped(&call.arguments));
        }
        other => other.readable().for_each(|text| out.push_str(text)),
    }
    out.push('\n');
}

/// The words that an assistant turn writes: its text and the arguments of its calls. The name of
/// the tool does not count: the model has it from the tool's definition.
fn written(turn: &Turn) -> String {
    let mut out = String::new();
    for part in turn.parts() {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Call(call) => out.push_str(&identifiers::unescaped(&call.arguments)),
            _ => {}
        }
        out.push('\n');
    }
    out
}

/// The shortest identifier that counts. Shorter ones are numbers such as `380`, at which a file is read.
const SHORTEST: usize = 4;

/// The text of the turns from the first on, read once for all cuts of a session. Looking an identifier up in a long
/// text takes long, above all where it is not there, so the words are listed.
#[derive(Debug)]
pub struct Reading {
    text: String,
    /// The end of each turn in the text.
    ends: Vec<usize>,
    /// The first turn with each word.
    first: HashMap<Box<str>, usize>,
}

impl Reading {
    /// Reads turns.
    #[must_use]
    pub fn of(turns: &[Turn]) -> Self {
        let mut text = String::new();
        let mut ends = Vec::with_capacity(turns.len());
        let mut first = HashMap::new();
        for (index, turn) in turns.iter().enumerate() {
            let start = text.len();
            turn.parts()
                .iter()
                .for_each(|part| push_part(part, &mut text));
            ends.push(text.len());
            for word in identifiers::words(text.get(start..).unwrap_or_default()) {
                if !first.contains_key(word) {
                    first.insert(Box::from(word), index);
                }
            }
        }
        Self { text, ends, first }
    }

    /// The text of the first `turns`.
    fn up_to(&self, turns: usize) -> &str {
        let last = turns.checked_sub(1);
        let end = last.and_then(|last| self.ends.get(last));
        end.and_then(|end| self.text.get(..*end))
            .unwrap_or_default()
    }

    /// Returns true if `identifier` stands whole in the first `turns`.
    fn mentions(&self, turns: usize, identifier: &str) -> bool {
        let is_read = |word| self.first.get(word).is_some_and(|turn| *turn < turns);
        identifiers::words(identifier).all(is_read)
            && identifiers::mentions(self.up_to(turns), identifier)
    }
}

/// The identifiers that are needed after `cut`, in the order of their first use.
#[must_use]
pub fn needed_later(cut: &Cut<'_>, rules: Rules) -> Vec<Needed> {
    needed_in(&Reading::of(cut.old), cut, rules)
}

/// Like [`needed_later`], with a reading of turns that begin with those before the cut.
#[must_use]
pub fn needed_in(reading: &Reading, cut: &Cut<'_>, rules: Rules) -> Vec<Needed> {
    let original = reading.up_to(cut.old.len());
    let mut learnt = text_of(cut.tail);
    let mut seen = HashSet::new();
    let mut needed = Vec::new();
    for turn in cut.future.iter().take(rules.next) {
        if turn.role() != Role::Assistant {
            learnt.push_str(&text_of([turn]));
            continue;
        }
        let text = written(turn);
        for found in identifiers::scan(&text) {
            if found.text.len() >= SHORTEST
                && seen.insert(found.text.to_owned())
                && reading.mentions(cut.old.len(), found.text)
                && !identifiers::mentions(&learnt, found.text)
            {
                needed.push(Needed {
                    text: found.text.to_owned(),
                    kind: found.kind,
                    places: places(original, found.text, rules.words),
                });
            }
        }
    }
    needed
}

/// Scores `shown`, the text that the model would have seen instead of the compacted part.
#[must_use]
pub fn score(needed: &[Needed], shown: &str, rules: Rules) -> Score {
    let mut score = Score::default();
    for identifier in needed {
        let held = places(shown, &identifier.text, rules.words);
        let enough = |held: &HashSet<String>| {
            identifier
                .places
                .iter()
                .any(|place| place.intersection(held).take(WORDS).count() == WORDS)
        };
        score += Score {
            needed: 1,
            named: usize::from(!held.is_empty()),
            in_context: usize::from(held.iter().any(enough)),
        };
    }
    score
}

/// The words around every place where `identifier` stands whole in `text`.
fn places(text: &str, identifier: &str, words: Words) -> Vec<HashSet<String>> {
    let own: HashSet<String> = words.of(identifier).collect();
    identifiers::occurrences(text, identifier)
        .map(|start| {
            let (before, rest) = text.split_at_checked(start).unwrap_or((text, ""));
            let after = rest.get(identifier.len()..).unwrap_or_default();
            let from = before
                .char_indices()
                .rev()
                .nth(REACH - 1)
                .map_or(0, |(at, _)| at);
            let to = after
                .char_indices()
                .nth(REACH)
                .map_or(after.len(), |(at, _)| at);
            let before = before.get(from..).unwrap_or_default();
            let after = after.get(..to).unwrap_or_default();
            words
                .of(before)
                .chain(words.of(after))
                .filter(|word| !own.contains(word))
                .collect()
        })
        .collect()
}

impl Words {
    fn of(self, text: &str) -> impl Iterator<Item = String> {
        let (shortest, joined) = match self {
            Self::Plain { shortest } => (shortest, false),
            Self::Whole { shortest } => (shortest, true),
        };
        text.split(move |character: char| {
            !(character.is_alphanumeric() || (joined && character == '_'))
        })
        .filter(move |word| word.chars().count() >= shortest)
        .map(str::to_lowercase)
    }
}

#[cfg(test)]
mod tests {
    use context::{Heuristic, Role, Turn, TurnDraft, TurnId, identifiers};
    use proptest::prelude::*;

    use super::{Cut, Reading, Rules, needed_in, needed_later};

    proptest! {
        /// Words with letters of several bytes and signs of all sorts, in turns of both roles.
        #[test]
        fn a_reading_of_all_turns_finds_what_stands_before_a_cut(
            said in prop::collection::vec(("[ab_é4./ -]{0,12}", any::<bool>()), 2..12),
            at in any::<prop::sample::Index>(),
            looked_up in "[ab_é4./-]{1,5}",
        ) {
            let turns: Vec<Turn> = said.iter().map(|(text, is_user)| {
                let role = if *is_user { Role::User } else { Role::Assistant };
                TurnDraft::text(role, format!("{text} src/a_b.rs")).after(TurnId::ROOT, &Heuristic)
            }).collect();
            let (old, future) = turns.split_at(at.index(turns.len()));
            let cut = Cut { old, tail: &[], future };
            let reading = Reading::of(&turns);
            let rules = Rules::default();
            prop_assert_eq!(needed_in(&reading, &cut, rules), needed_later(&cut, rules));
            let text = super::text_of(old);
            prop_assert_eq!(reading.up_to(old.len()), &text);
            prop_assert_eq!(
                reading.mentions(old.len(), &looked_up),
                identifiers::mentions(&text, &looked_up)
            );
        }
    }
}
