//! The user's sentences, remembered so that one said again is recognised.
//!
//! A sentence is the set of its longer words, or of the pairs of characters in a script without spaces, as
//! fingerprints. It is said again where another has most of them, whatever the language.

use std::collections::VecDeque;

use super::deeds::print;
use super::{Sight, place};
use crate::quality::is_unspaced;
use crate::sentence::sentences;

/// The most sentences that are kept; of more, the newest.
const SENTENCES: usize = 32;
/// The most words of a sentence that count.
const WORDS: usize = 16;
/// The fewest words that two sentences must share.
const SHARED: usize = 4;
/// The share of the shorter sentence's words that the other must have.
const SAME: f64 = 0.6;
/// The shortest word that counts, in characters.
const SHORTEST: usize = 4;

/// Phrases with which people say that they said it before. One word in common with what they said is enough then.
const TOLD: [&str; 28] = [
    "i told you",
    "as i said",
    "i already said",
    "i already told",
    "wie gesagt",
    "hab ich gesagt",
    "habe ich gesagt",
    "habe ich doch gesagt",
    "ich doch schon gesagt",
    "je t'ai dit",
    "je vous ai dit",
    "déjà dit",
    "te dije",
    "ya dije",
    "te lo dije",
    "já disse",
    "te disse",
    "ti ho detto",
    "già detto",
    "zoals ik zei",
    "już mówi",
    "я же говорил",
    "я уже говорил",
    "söylemiştim",
    "我说过",
    "我說過",
    "言ったよね",
    "말했잖아",
];

/// A sentence.
#[derive(Clone, Debug)]
struct Sentence {
    place: u32,
    /// Sorted.
    words: Box<[u32]>,
}

/// The sentences of the user.
#[derive(Clone, Debug, Default)]
pub(super) struct Spoken {
    /// The newest last.
    sentences: VecDeque<Sentence>,
}

impl Spoken {
    /// Takes the lines of a message. Gives the place of a sentence that is said again and whose every earlier place
    /// is out of sight; nothing without a sight.
    pub fn take(&mut self, lines: &[&str], at: u32, sight: Option<&dyn Sight>) -> Option<u32> {
        let mut missed = None;
        let known = self.sentences.len();
        for (_, text) in lines.iter().flat_map(|line| sentences(line)) {
            let lower = text.to_lowercase();
            let words = words(&lower);
            if let Some(sight) = sight.filter(|_| missed.is_none()) {
                let is_told = TOLD.iter().any(|phrase| lower.contains(phrase));
                let before = self.before((&words, is_told), known);
                let hidden = place(sight.hidden().turns);
                missed = before.filter(|&before| before <= hidden && !is_told_in(sight, &words));
            }
            if !words.is_empty() {
                self.sentences.push_back(Sentence { place: at, words });
            }
        }
        while self.sentences.len() > SENTENCES {
            self.sentences.pop_front();
        }
        missed
    }

    /// The newest place of a sentence with these words, among the first `known`.
    fn before(&self, (words, is_told): (&[u32], bool), known: usize) -> Option<u32> {
        let mut earlier = self.sentences.iter().take(known).rev();
        let same = earlier.find(|sentence| {
            let shared = shared(words, &sentence.words);
            is_same(words, &sentence.words) || (is_told && shared > 0)
        });
        same.map(|sentence| sentence.place)
    }

    /// All of it was said in a conversation before.
    pub fn put_behind(&mut self) {
        self.sentences.iter_mut().for_each(|it| it.place = 0);
    }

    /// Forgets what was said in this conversation.
    pub fn go_back(&mut self) {
        self.sentences.retain(|sentence| sentence.place == 0);
    }

    /// Lets go of memory that is held for sentences to come.
    pub fn shrink_to_fit(&mut self) {
        self.sentences.shrink_to_fit();
    }

    /// The bytes it holds on the heap.
    pub fn bytes(&self) -> usize {
        let words = self.sentences.iter().map(|it| size_of_val(&*it.words));
        self.sentences.capacity() * size_of::<Sentence>() + words.sum::<usize>()
    }
}

/// The number of words that both have.
fn shared(one: &[u32], other: &[u32]) -> usize {
    let both = one.iter().filter(|word| other.binary_search(word).is_ok());
    both.count()
}

/// Returns true if one says what the other says.
fn is_same(one: &[u32], other: &[u32]) -> bool {
    let shared = shared(one, other);
    let shorter = one.len().min(other.len());
    shared >= SHARED && shared as f64 >= shorter as f64 * SAME
}

/// Returns true if a sentence in front of the turns says what these words say: the user's own words stand there.
fn is_told_in(sight: &dyn Sight, wanted: &[u32]) -> bool {
    let front = sight.front();
    let lines = front.iter().flat_map(|text| text.lines());
    let mut sentences = lines.flat_map(sentences);
    sentences.any(|(_, text)| is_same(wanted, &words(&text.to_lowercase())))
}

/// The words of a sentence in lower case, each once, sorted.
fn words(lower: &str) -> Box<[u32]> {
    let mut out = Vec::new();
    for word in lower.split(|letter: char| !letter.is_alphanumeric()) {
        if word.contains(is_unspaced) {
            let letters: Vec<char> = word.chars().collect();
            let pairs = letters
                .windows(2)
                .map(|pair| pair.iter().collect::<String>());
            out.extend(pairs.map(|pair| print(&[&pair])));
        } else if word.chars().count() >= SHORTEST {
            out.push(print(&[word]));
        }
        if out.len() >= WORDS {
            break;
        }
    }
    out.truncate(WORDS);
    out.sort_unstable();
    out.dedup();
    out.into()
}
