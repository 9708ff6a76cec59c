//! What is lost: word-level distances.

use std::collections::HashMap;

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

/// The share of what matters in `source` that `summary` does not name.
#[must_use]
pub fn summary_error(source: &str, summary: &str) -> f64 {
    let mut named: HashMap<String, u32> = HashMap::new();
    for word in words(summary) {
        *named.entry(word).or_default() += 1;
    }
    let mut weights: HashMap<String, u32> = HashMap::new();
    for word in words(source) {
        *weights.entry(word).or_default() += 1;
    }
    let all: f64 = weights.values().map(|count| f64::from(*count)).sum();
    let lost: f64 = weights
        .iter()
        .filter(|(word, _)| !named.contains_key(*word))
        .map(|(_, count)| f64::from(*count))
        .sum();
    if all > 0.0 { lost / all } else { 1.0 }
}

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
pub(super) const fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Marks that belong to the letter before them; `char::is_alphanumeric` leaves some of them out.
const fn is_mark(character: char) -> bool {
    matches!(character, '\u{0300}'..='\u{036f}' | '\u{0900}'..='\u{0dff}' | '\u{200c}' | '\u{200d}')
}
