//! Identifiers that are needed later, and those of them that a text still holds.

use std::collections::HashSet;

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

/// The identifiers that are needed after `cut`, in the order of their first use.
#[must_use]
pub fn needed_later(cut: &Cut<'_>, rules: Rules) -> Vec<Needed> {
    let original = text_of(cut.old);
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
                && identifiers::mentions(&original, found.text)
                && !identifiers::mentions(&learnt, found.text)
            {
                needed.push(Needed {
                    text: found.text.to_owned(),
                    kind: found.kind,
                    places: places(&original, found.text, rules.words),
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
