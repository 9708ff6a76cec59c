//! The error of a compaction: word-level distances.

use std::collections::{HashMap, HashSet};

use crate::extract::steps::file_name;
use crate::identifiers;

/// The share of `original` that is not in `regenerated`, or that is there in another order: the mean
/// of two multiset distances, one over words and one over pairs of neighbouring words (the ends of
/// the text count as neighbours). Each is `1 − shared ÷ the larger number`. Symmetric; 0 only where
/// both texts have the same words and the same pairs, so anagrams, swapped words and equal keys with
/// other values are not 0. White space and punctuation do not count.
#[must_use]
pub fn reconstruction_error(original: &str, regenerated: &str) -> f64 {
    let left: Vec<String> = words(original).collect();
    let right: Vec<String> = words(regenerated).collect();
    if left.is_empty() && right.is_empty() {
        // Nothing to compare: only equal texts, such as two empty ones, are without loss.
        return if original.trim() == regenerated.trim() {
            0.0
        } else {
            1.0
        };
    }
    let single = distance(
        left.iter().map(String::as_str),
        right.iter().map(String::as_str),
    );
    let pairs = distance(pairs(&left), pairs(&right));
    f64::midpoint(single, pairs)
}

fn pairs(words: &[String]) -> impl Iterator<Item = (&str, &str)> {
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    let after = words.iter().map(String::as_str).chain(std::iter::once(""));
    before.zip(after)
}

/// `1 − |shared| ÷ max(|left|, |right|)` over multisets.
fn distance<T: std::hash::Hash + Eq>(
    left: impl Iterator<Item = T>,
    right: impl Iterator<Item = T>,
) -> f64 {
    let mut counts: HashMap<T, u32> = HashMap::new();
    let mut left_size = 0_u32;
    for item in left {
        *counts.entry(item).or_default() += 1;
        left_size += 1;
    }
    let mut shared = 0_u32;
    let mut right_size = 0_u32;
    for item in right {
        right_size += 1;
        if let Some(count) = counts.get_mut(&item).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    match left_size.max(right_size) {
        0 => 0.0,
        larger => 1.0 - f64::from(shared) / f64::from(larger),
    }
}

/// The number of identifiers and of words that a summary is asked for: as many as 1,000 to 2,000 tokens can
/// name. A longer list would turn away every honest summary of a long conversation.
const ASKED: usize = 64;

/// The share of what matters in `source` that `summary` does not name, `0..=1`.
///
/// Counted are the 64 most frequent identifiers and the 64 most frequent content words of the source.
/// Each weighs the square root of its count, so that what is said a hundred times does not hide
/// everything else, and
///
/// `error = 1 − ½ · (weight of named identifiers ÷ of all) − ½ · (weight of named words ÷ of all)`;
///
/// where the source has no identifiers, or no words, the other half counts whole. An identifier is
/// named where it stands whole in the summary, a path also where its last component does; a word
/// where one with the same first 5 letters does. Content words have 4 letters and more and are not
/// function words; characters of scripts without spaces each count as a word. This is our own
/// formula: recall of salient units, as in ROUGE-1 recall (Lin 2004), with identifiers given half the
/// weight because they are what is asked for later.
#[must_use]
pub fn summary_error(source: &str, summary: &str) -> f64 {
    let mut found: HashMap<&str, u32> = HashMap::new();
    for identifier in identifiers::scan(source) {
        *found.entry(identifier.text).or_default() += 1;
    }
    let named: HashSet<&str> = identifiers::scan(summary)
        .flat_map(|identifier| [identifier.text, file_name(identifier.text)])
        .collect();
    let identifiers = recall(found, |identifier| {
        named.contains(identifier)
            || named.contains(file_name(identifier))
            || identifiers::mentions(summary, identifier)
    });
    let mut found: HashMap<String, u32> = HashMap::new();
    for stem in stems(source) {
        *found.entry(stem).or_default() += 1;
    }
    let said: HashSet<String> = stems(summary).collect();
    let words = recall(found, |stem| said.contains(stem));
    match (identifiers, words) {
        (Some(identifiers), Some(words)) => 1.0 - f64::midpoint(identifiers, words),
        (Some(recall), None) | (None, Some(recall)) => 1.0 - recall,
        (None, None) => 1.0,
    }
}

/// The weight of what is named among the most frequent ones, as a share; `None` where there are none.
fn recall<T: AsRef<str> + Ord>(
    found: HashMap<T, u32>,
    is_named: impl Fn(&str) -> bool,
) -> Option<f64> {
    let mut ranked: Vec<(u32, T)> = found
        .into_iter()
        .map(|(text, count)| (count, text))
        .collect();
    // By text where equal, so that the answer does not depend on the order of a hash table.
    ranked.sort_by(|(count, text), (other_count, other)| {
        other_count.cmp(count).then_with(|| text.cmp(other))
    });
    let (mut all, mut kept) = (0.0, 0.0);
    for (count, text) in ranked.iter().take(ASKED) {
        let weight = f64::from(*count).sqrt();
        all += weight;
        if is_named(text.as_ref()) {
            kept += weight;
        }
    }
    (all > 0.0).then(|| kept / all)
}

/// The beginnings of the content words of a text.
fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    words(text)
        .filter(|word| {
            word.chars().all(is_unspaced)
                || (word.chars().nth(3).is_some() && !FUNCTION_WORDS.contains(&word.as_str()))
        })
        .map(|word| word.chars().take(5).collect())
}

/// English words of four letters and more that say nothing about the subject.
const FUNCTION_WORDS: [&str; 56] = [
    "about", "after", "again", "also", "although", "because", "been", "before", "being", "between",
    "both", "could", "does", "doing", "done", "each", "even", "every", "from", "have", "having",
    "here", "into", "just", "like", "made", "make", "more", "most", "much", "need", "only",
    "other", "over", "same", "should", "some", "such", "than", "that", "their", "them", "then",
    "there", "these", "they", "this", "those", "very", "what", "when", "where", "which", "will",
    "with", "your",
];

/// The words of a text in lower case: runs of letters, digits and marks; a character of a script
/// that is written without spaces is a word of its own.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let mut word = String::new();
        while let Some(&(_, character)) = rest.peek() {
            if is_unspaced(character) {
                if word.is_empty() {
                    rest.next();
                    word.push(character);
                }
                return Some(word);
            }
            if character.is_alphanumeric() || (is_mark(character) && !word.is_empty()) {
                word.extend(character.to_lowercase());
                rest.next();
            } else if word.is_empty() {
                rest.next();
            } else {
                return Some(word);
            }
        }
        (!word.is_empty()).then_some(word)
    })
}

/// Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, ideographs.
pub(crate) const fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Marks that belong to the letter before them; `char::is_alphanumeric` leaves some of them out.
const fn is_mark(character: char) -> bool {
    matches!(character, '\u{0300}'..='\u{036f}' | '\u{0900}'..='\u{0dff}' | '\u{200c}' | '\u{200d}')
}
