//! Goes on with a conversation that its client compacted by itself.
//!
//! The new conversation shares no turn with the old one, so by its turns it is new. It is recognized by
//! the answer to the client's compaction, which it holds: the provider's own block, or all words of the
//! summary in their order, in a text of the client. Answers are remembered per tenant, as hashes; those
//! of other tenants are never looked at, nor is what a tool returned.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use context::turn::Digest;
use context::{Part, Text, Turn};
use history::{ConversationId, HistoryError, Owner, Store, Tenant};
use jiff::{SignedDuration, Timestamp};

use crate::identity::Keyed;

/// For how long an answer is remembered: a session may be left over a holiday.
const LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The number of answers remembered for each tenant, newest first.
const ANSWERS: usize = 32;

/// The number of answers of one conversation that survive a restart.
const KEPT: u8 = 16;

/// The number of conversations, last seen first, whose answers are read after a restart.
const ASKED: usize = 64;

/// Answers of so many tenants are in memory. Those of others are read from the store when they are needed.
const TENANTS: usize = 4_096;

/// A summary of fewer words could stand in any text.
const FEWEST_WORDS: usize = 8;

/// At most this many words of a request's texts are compared.
const MOST_WORDS: usize = 200_000;

/// A summary stands among so many turns of the conversation that begins with it: Codex keeps the user's messages in
/// front.
const FRONT: usize = 256;

/// Around what is a summary within an answer.
const TAGS: [(&str, &str); 2] = [
    ("<summary>", "</summary>"),
    ("<state_snapshot>", "</state_snapshot>"),
];

/// The fingerprint of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Print {
    /// The provider's own block.
    Block(Digest),
    /// The number of words, and the sum of their hashes.
    Words { count: usize, sum: u64 },
}

/// The answer to a client's compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    print: Print,
    of: ConversationId,
    at: Timestamp,
}

/// The answers of one tenant, oldest first.
#[derive(Debug, Default)]
struct OfTenant {
    answers: VecDeque<Answer>,
    /// True once the answers in the store are among them.
    is_read: bool,
}

impl OfTenant {
    fn add(&mut self, answer: Answer) {
        self.answers
            .retain(|other| (other.print, other.of) != (answer.print, answer.of));
        // By age: answers from the store arrive after newer ones of this run.
        let at = self.answers.partition_point(|other| other.at <= answer.at);
        self.answers.insert(at, answer);
        if self.answers.len() > ANSWERS {
            self.answers.pop_front();
        }
    }
}

/// The answers to compactions that clients made by themselves.
#[derive(Debug, Default)]
pub struct Answers(Mutex<HashMap<Tenant, OfTenant>>);

impl Answers {
    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, OfTenant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers answers. `is_read`: those of the store are among them.
    pub fn add(&self, tenant: Tenant, answers: impl IntoIterator<Item = Answer>, is_read: bool) {
        let mut all = self.lock();
        if all.len() >= TENANTS
            && !all.contains_key(&tenant)
            && let Some(other) = all.keys().next().copied()
        {
            // Any tenant will do: its answers are read from the store again.
            all.remove(&other);
        }
        let own = all.entry(tenant).or_default();
        own.is_read |= is_read;
        answers.into_iter().for_each(|answer| own.add(answer));
    }

    /// The answers of a tenant that are not too old, newest first. `None`: read them from the store first.
    #[must_use]
    pub fn of(&self, tenant: Tenant, now: Timestamp) -> Option<Vec<Answer>> {
        let all = self.lock();
        let own = all.get(&tenant).filter(|own| own.is_read)?;
        let lives = |answer: &&Answer| now.duration_since(answer.at) <= LIFE;
        Some(own.answers.iter().rev().filter(lives).copied().collect())
    }
}

/// The answers that a compaction leaves: its block wherever it has one, its words where they are the
/// summary of `of`.
#[must_use]
pub fn answers(
    keyed: Keyed,
    (of, is_summary): (ConversationId, bool),
    said: &[Part],
    at: Timestamp,
) -> Vec<Answer> {
    let blocks = said.iter().filter_map(block).map(Print::Block);
    let mut prints: Vec<Print> = blocks.collect();
    if is_summary && prints.is_empty() {
        let texts = said.iter().filter_map(text_of);
        let text = texts.map(Text::as_str).collect::<Vec<_>>().join("\n");
        prints.extend(Words::of(keyed, summary_in(&text)).print());
    }
    let answer = |print| Answer { print, of, at };
    prints.into_iter().map(answer).collect()
}

/// The conversation whose compaction these turns go on from.
#[must_use]
pub fn continued(keyed: Keyed, turns: &[Turn], known: &[Answer]) -> Option<ConversationId> {
    if known.is_empty() {
        return None;
    }
    let found = Reader::new(keyed, turns).first(known)?;
    Some(found.of)
}

/// The index of the turn that holds the words of one of these answers. Words alone: a provider's own block cannot
/// be read.
#[must_use]
pub fn summary_turn(keyed: Keyed, turns: &[Turn], known: &[Answer]) -> Option<usize> {
    let has_words = |answer: &&Answer| matches!(answer.print, Print::Words { .. });
    let known: Vec<Answer> = known.iter().filter(has_words).copied().collect();
    let holds = |turn: &Turn| Reader::new(keyed, std::slice::from_ref(turn)).first(&known);
    let mut front = turns.iter().take(FRONT);
    front.position(|turn| !known.is_empty() && holds(turn).is_some())
}

fn block(part: &Part) -> Option<Digest> {
    match part {
        Part::Opaque(opaque) if opaque.kind.as_str() == "compaction" => Some(opaque.digest),
        _ => None,
    }
}

fn text_of(part: &Part) -> Option<&Text> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}

/// The summary within an answer: clients take it out of its tags.
#[must_use]
pub fn summary_in(answer: &str) -> &str {
    let inside = |&(open, close): &(&str, &str)| {
        let (_, rest) = answer.split_once(open)?;
        // The last closing tag: the summary itself may quote one.
        Some(rest.rsplit_once(close).map_or(rest, |(inside, _)| inside))
    };
    TAGS.iter().find_map(inside).unwrap_or(answer)
}

/// The words of a text, as numbers. White space and tags part them: clients change both.
struct Words {
    words: Vec<u64>,
    base: u64,
}

impl Words {
    fn of(keyed: Keyed, text: &str) -> Self {
        let parts = |character: char| character.is_whitespace() || matches!(character, '<' | '>');
        let words = text.split(parts).filter(|word| !word.is_empty());
        Self {
            words: words
                .take(MOST_WORDS)
                .map(|word| keyed.of(0, word.as_bytes()))
                .collect(),
            // Odd: modulo 2^64, the powers of an even base become 0, and the first words would not count.
            base: keyed.of(1, b"place of a word") | 1,
        }
    }

    fn print(&self) -> Option<Print> {
        let count = self.words.len();
        let sum = self
            .words
            .iter()
            .fold(0_u64, |sum, &word| self.moved(sum, word));
        (count >= FEWEST_WORDS).then_some(Print::Words { count, sum })
    }

    /// A sum with one more word behind it (Rabin and Karp 1987, modulo 2^64).
    fn moved(&self, sum: u64, word: u64) -> u64 {
        sum.wrapping_mul(self.base).wrapping_add(word)
    }

    /// Returns true if `count` consecutive words have this sum.
    fn hold(&self, count: usize, wanted: u64) -> bool {
        let Some(first) = self.words.get(..count) else {
            return false;
        };
        let mut sum = first.iter().fold(0_u64, |sum, &word| self.moved(sum, word));
        let top = (0..count).fold(1_u64, |power, _| power.wrapping_mul(self.base));
        let gone = self.words.iter();
        let come = self.words.iter().skip(count);
        sum == wanted
            || gone.zip(come).any(|(&gone, &come)| {
                sum = self.moved(sum, come).wrapping_sub(gone.wrapping_mul(top));
                sum == wanted
            })
    }
}

/// The content of a request: blocks, and texts one by one.
struct Reader {
    blocks: Vec<Digest>,
    texts: Vec<Words>,
}

impl Reader {
    fn new(keyed: Keyed, turns: &[Turn]) -> Self {
        let parts = || turns.iter().flat_map(Turn::parts);
        let mut left = MOST_WORDS;
        let texts = parts().filter_map(text_of).map_while(|text| {
            let words = Words::of(keyed, text);
            left = left.checked_sub(words.words.len())?;
            Some(words)
        });
        Self {
            blocks: parts().filter_map(block).collect(),
            texts: texts.collect(),
        }
    }

    /// The first answer that is among it.
    fn first(&self, answers: &[Answer]) -> Option<Answer> {
        let holds = |answer: &&Answer| match answer.print {
            Print::Block(digest) => self.blocks.contains(&digest),
            Print::Words { count, sum } => self.texts.iter().any(|text| text.hold(count, sum)),
        };
        answers.iter().find(holds).copied()
    }
}

/// The name under which the nth answer of a conversation is kept.
fn key(of: ConversationId, nth: u8) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"answer to the client's own compaction");
    hasher.update(of.as_bytes());
    hasher.update(&[nth]);
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    key
}

/// The answers of the conversations that were last seen.
///
/// # Errors
/// Where the store fails.
pub fn stored_answers(store: &dyn Store, now: Timestamp) -> Result<Vec<Answer>, HistoryError> {
    // Clocks differ: a conversation may have been seen a little later than now.
    let later = now.checked_add(SignedDuration::from_hours(24));
    let mut found = Vec::new();
    for conversation in store.conversations(later.unwrap_or(Timestamp::MAX), ASKED)? {
        found.extend(answers_of(store, conversation.id)?);
    }
    Ok(found)
}

/// The stored answers to one conversation's compactions.
///
/// # Errors
/// Where the store fails.
pub fn answers_of(store: &dyn Store, of: ConversationId) -> Result<Vec<Answer>, HistoryError> {
    let mut found = Vec::new();
    for nth in 0..KEPT {
        let Some(text) = store.chunk(key(of, nth))? else {
            break;
        };
        found.extend(Answer::read(of, &text));
    }
    Ok(found)
}

impl Answer {
    /// Stores it behind those of the same conversation. After sixteen answers, a further one is remembered until the
    /// next restart only: a client that compacts goes on in another conversation, so more than one are rare.
    ///
    /// # Errors
    /// Where the store fails.
    pub fn store(&self, store: &mut dyn Store) -> Result<(), HistoryError> {
        let text = Text::from(self.written());
        for nth in 0..KEPT {
            match store.chunk(key(self.of, nth))? {
                Some(there) if there == text => return Ok(()),
                Some(_) => {}
                None => {
                    let owner = Owner::Conversation(self.of);
                    return store.keep_owned(owner, key(self.of, nth), &text);
                }
            }
        }
        Ok(())
    }

    fn written(&self) -> String {
        let at = self.at.as_millisecond();
        match self.print {
            Print::Block(digest) => {
                let digest = u128::from_be_bytes(*digest.as_bytes());
                format!("block {digest:032x} 0 {at}")
            }
            Print::Words { count, sum } => format!("words {sum:016x} {count} {at}"),
        }
    }

    fn read(of: ConversationId, text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (kind, sum, count, at) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let print = match kind {
            "block" => {
                let digest = u128::from_str_radix(sum, 16).ok()?;
                Print::Block(Digest::from_bytes(digest.to_be_bytes()))
            }
            "words" => Print::Words {
                count: count.parse().ok()?,
                sum: u64::from_str_radix(sum, 16).ok()?,
            },
            _ => return None,
        };
        let at = Timestamp::from_millisecond(at.parse().ok()?).ok()?;
        Some(Self { print, of, at })
    }
}

#[cfg(test)]
mod tests;
