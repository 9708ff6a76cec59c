//! The text that the model still sees, for asking if it says a sentence.

use std::collections::{HashMap, HashSet};

use crate::extract::Visible;
use crate::summary::one_line;

/// The share of a sentence's words that one line must say.
const SAID: f32 = 0.8;
/// The fewest words of a sentence that can be said in other words.
const WORDS: usize = 4;
/// The shortest word that counts, in bytes.
const SHORTEST: usize = 4;

/// The lines that are shown.
pub(super) struct Seen {
    /// All lines, each ended by a line feed.
    text: String,
    /// The lines that say a word.
    index: HashMap<String, Vec<usize>>,
}

impl Seen {
    /// The lines of `front` and of the turns behind it.
    pub fn of(shown: &Visible<'_>, front: &str) -> Self {
        let tail = shown.tail.iter().map(|piece| &*piece.text);
        let texts = std::iter::once(front).chain(tail);
        let lines: Vec<String> = texts.flat_map(str::lines).map(one_line).collect();
        let mut index: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, line) in lines.iter().enumerate() {
            for word in words(line) {
                index.entry(word).or_default().push(number);
            }
        }
        let text = lines
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect();
        Self { text, index }
    }

    /// Returns true if one line says this: verbatim, or with most of its words.
    pub fn says(&self, text: &str) -> bool {
        let text = one_line(text);
        let words = words(&text);
        if words.len() < WORDS {
            return self.text.contains(&text);
        }
        let mut hits: HashMap<usize, usize> = HashMap::new();
        for line in words
            .iter()
            .filter_map(|word| self.index.get(word))
            .flatten()
        {
            *hits.entry(*line).or_default() += 1;
        }
        let most = hits.into_values().max().unwrap_or(0);
        most as f32 >= words.len() as f32 * SAID
    }
}

/// The words of a line, each once.
fn words(line: &str) -> HashSet<String> {
    line.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() >= SHORTEST)
        .map(str::to_lowercase)
        .collect()
}
