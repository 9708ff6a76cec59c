//! Finds a text in another, ignoring case.

use std::ops::Range;

/// The longest text that is searched for, in characters.
const LONGEST: usize = 200;

/// A text to search for. Letters are compared in lower case, as far as that has as many bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle(String);

impl Needle {
    /// The text to search for; `None` if there is nothing to search for.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let text: String = text.trim().chars().take(LONGEST).collect();
        (!text.is_empty()).then(|| Self(lower(&text)))
    }

    /// The places in a text, from left to right. They do not overlap.
    #[must_use]
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        let lower = lower(text);
        let found = lower.match_indices(self.0.as_str());
        found.map(|(at, it)| at..at + it.len()).collect()
    }

    /// The number of places in a text.
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        lower(text).matches(self.0.as_str()).count()
    }
}

/// The text in lower case, with every character at its place: one whose lower case has another length stays.
fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let before = out.len();
        out.extend(character.to_lowercase());
        if out.len() - before != character.len_utf8() {
            out.truncate(before);
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Needle;

    #[track_caller]
    fn check(find: &str, text: &str, expected: &[&str]) {
        let needle = Needle::of(find).expect("something to find");
        let places = needle.places(text);
        let found = places.into_iter().map(|place| text.get(place));
        let found: Vec<&str> = found.map(Option::unwrap_or_default).collect();
        assert_eq!(found, expected);
        assert_eq!(needle.count(text), expected.len());
    }

    #[test]
    fn case_is_ignored_and_places_are_those_of_the_text() {
        check(
            "parser",
            "The PARSER, a parser: Parsers.",
            &["PARSER", "parser", "Parser"],
        );
        check("ÄRGER", "großer Ärger", &["Ärger"]);
        // These grow or shrink in lower case.
        check("x", "İ X K x", &["X", "x"]);
        check("aa", "aAaA", &["aA", "aA"]);
        check(" <b> ", "a <B> c", &["<B>"]);
        check("שלום", "x שלום y", &["שלום"]);
    }

    #[test]
    fn nothing_is_no_needle_and_a_long_one_is_cut() {
        assert_eq!(Needle::of(" \n"), None);
        let long = Needle::of(&"a".repeat(10_000)).expect("something");
        assert_eq!(long.count(&"a".repeat(400)), 2);
    }
}
