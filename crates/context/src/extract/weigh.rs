//! The chance that an identifier is needed again.

use std::collections::{HashMap, HashSet};

use super::census::{Census, Entry};
use crate::identifiers::Kind;

/// The number of features of an identifier.
pub(super) const FEATURES: usize = 19;

/// The weights of [`features`], in their order: a logistic regression of "is needed later" over the
/// identifiers of recorded coding sessions, each cut every 10,000 tokens, 156,000 examples. Fitted on
/// one half of the sessions they rank the other half's within two points as well as their own. Three
/// were set by hand. Of what summaries named, one path of eight was needed again, one name of eighty,
/// and hardly a flag, so paths count for more and flags for less than fitted. Two words with a dot are
/// written as often as names, and are needed less.
pub(super) const WEIGHTS: [f32; FEATURES] = [
    -3.34, 0.83, 0.3, -0.29, -0.04, -0.94, 0.0, 0.0, 0.28, -1.19, 0.82, -1.0, 1.0, -0.1, -0.25,
    -0.13, 0.4, 0.07, -0.9,
];

/// The sub-words that the agent is busy with now, and how rare each is in the session.
#[derive(Debug)]
pub(super) struct Focus {
    /// For each sub-word, how many identifiers in focus have it.
    busy: HashMap<String, u32>,
    /// For each sub-word, how many identifiers of the session have it.
    spread: HashMap<String, u32>,
    identifiers: f32,
}

impl Focus {
    /// The focus on `now`, the identifiers of the newest text, among those of a session.
    pub fn on<'t>(now: impl Iterator<Item = &'t str>, census: &Census<'_>) -> Self {
        let unique: HashSet<&str> = now.collect();
        let all = census.entries.iter().map(|entry| entry.text);
        Self {
            busy: spread(unique.into_iter()),
            spread: spread(all),
            identifiers: census.entries.len() as f32,
        }
    }

    /// The share of an identifier's sub-words that the focus has too, rare sub-words counting more:
    /// 0 to 1.
    pub fn overlap(&self, identifier: &str) -> f32 {
        let (mut shared, mut whole) = (0.0, 0.0);
        for word in sub_words(identifier) {
            let spread = self.spread.get(&word).copied().unwrap_or(1) as f32;
            let rarity = (self.identifiers / spread).max(1.0).ln();
            whole += rarity;
            shared += rarity * (self.busy.get(&word).copied().unwrap_or(0) as f32 / 3.0).min(1.0);
        }
        if whole > 0.0 { shared / whole } else { 0.0 }
    }
}

fn spread<'t>(identifiers: impl Iterator<Item = &'t str>) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for identifier in identifiers {
        let mut words: Vec<String> = sub_words(identifier).collect();
        words.sort_unstable();
        words.dedup();
        for word in words {
            *counts.entry(word).or_insert(0) += 1;
        }
    }
    counts
}

/// The words that an identifier is put together from, of three letters and more, in lower case.
fn sub_words(identifier: &str) -> impl Iterator<Item = String> {
    let mut before = ' ';
    identifier
        .split(move |letter: char| {
            let hump = before.is_lowercase() && letter.is_uppercase();
            before = letter;
            hump || !letter.is_alphanumeric()
        })
        .filter(|word| word.len() >= 3)
        .map(str::to_lowercase)
}

/// The features of an identifier. `age` gives the thousands of tokens between the end of a turn and
/// the end of the compacted part.
pub(super) fn features(
    entry: &Entry<'_>,
    focus: &Focus,
    age: impl Fn(usize) -> f32,
) -> [f32; FEATURES] {
    let log_age = |turn: usize| (1.0 + age(turn)).ln();
    let log = |count: u32| (count as f32).ln_1p();
    let is = |kind: Kind| f32::from(u8::from(entry.kind == kind));
    [
        1.0,
        log(entry.turns),
        log(entry.mentions),
        log_age(entry.last),
        entry.last_written.map_or(0.0, log_age),
        f32::from(u8::from(entry.last_written.is_none())),
        log(entry.by.user),
        log(entry.by.assistant),
        log(entry.by.call),
        log(entry.by.tool),
        is(Kind::Path),
        is(Kind::Url),
        is(Kind::Email),
        is(Kind::Flag),
        is(Kind::Hex),
        is(Kind::Number),
        focus.overlap(entry.text),
        (entry.text.len() as f32).ln(),
        is(Kind::Member),
    ]
}

/// The chance that an identifier is needed again, 0 to 1.
pub(super) fn chance(features: &[f32; FEATURES]) -> f32 {
    let sum: f32 = features
        .iter()
        .zip(WEIGHTS)
        .map(|(feature, weight)| feature * weight)
        .sum();
    1.0 / (1.0 + (-sum).exp())
}
