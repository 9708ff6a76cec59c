//! The conversation that a request belongs to.
//!
//! A conversation is known by the ids of its turns, which cover what was said and nothing else: a moved
//! cache breakpoint or another order of keys changes no id. To read every message again for that would
//! cost milliseconds, so a conversation also remembers a keyed hash of each message's raw bytes: where
//! they are the same as last time, so is the turn. Only messages that are new or whose bytes changed are
//! read.

use context::{Part, TokenCounter, Tokens, Turn, TurnId};
use wire::api::Request;

use crate::element::Element;

/// The keyed hash of one message's raw bytes. Two messages with one key in one place of a conversation
/// are taken for the same, which concerns how large they are and nothing else: what is sent is always
/// the client's own message. The secret is unknown outside, so such a pair cannot be searched for.
pub type Key = u64;

/// Makes keys: a chain of folded 128-bit products over 16 bytes at a time, as in wyhash. A megabyte takes
/// a tenth of a millisecond, where a cryptographic hash of a thousand short messages takes one.
#[derive(Clone, Copy, Debug)]
pub struct Keyed([u64; 3]);

impl Keyed {
    /// With a secret.
    pub fn new(secret: &[u8; 32]) -> Self {
        let mut bytes = [0; 24];
        blake3::Hasher::new_keyed(secret)
            .update(b"raw keys of messages")
            .finalize_xof()
            .fill(&mut bytes);
        let mut keys = [0; 3];
        let (words, _) = bytes.as_chunks::<8>();
        for (key, word) in keys.iter_mut().zip(words) {
            // Odd, so that none is zero.
            *key = u64::from_le_bytes(*word) | 1;
        }
        Self(keys)
    }

    /// The key of these bytes behind those of which `before` is the key.
    pub fn of(&self, before: Key, bytes: &[u8]) -> Key {
        let [first, second, third] = self.0;
        let mut sum = before ^ first;
        let mut take = |pair: [u8; 16]| {
            let (low, high) = halves(u128::from_le_bytes(pair));
            sum = folded(low ^ second, high ^ sum);
        };
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            take(*pair);
        }
        let mut last = [0; 16];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        take(last);
        folded(sum ^ third, bytes.len() as u64 ^ second)
    }
}

fn halves(number: u128) -> (u64, u64) {
    let half = |number: u128| u64::try_from(number & u128::from(u64::MAX)).unwrap_or(u64::MAX);
    (half(number), half(number >> 64))
}

/// The two halves of a product, laid over each other.
fn folded(one: u64, other: u64) -> u64 {
    let (low, high) = halves(u128::from(one) * u128::from(other));
    low ^ high
}

/// The number of places near a conversation's head by which it can be found.
pub const HINTS: usize = 8;

/// The number of messages, from the end of a request, that are compared by their bytes. A request
/// with more new messages is read whole.
const LOOK_BACK: usize = 32;

/// The messages of a request by their raw bytes.
#[derive(Debug)]
pub struct Keys {
    keys: Vec<Key>,
    /// At each message, a mix of the keys up to there. It only leads to candidates, which are then
    /// compared key by key.
    chain: Vec<u64>,
}

impl Keys {
    /// The keys of a request's messages, of what is known of its elements.
    pub fn of(keyed: Keyed, request: &Request<'_>, elements: &[Element]) -> Self {
        let mut keys = Vec::with_capacity(request.len());
        let mut chain = Vec::with_capacity(request.len());
        let mut link = request.dialect() as u64;
        for index in 0..request.len() {
            let elements = elements.get(request.elements_of(index));
            let key = match elements.unwrap_or_default() {
                [one] => one.key,
                several => several
                    .iter()
                    .fold(0, |key, next| keyed.of(key, &next.key.to_le_bytes())),
            };
            // An odd factor (2^64 divided by the golden ratio) spreads every bit.
            link = (link.rotate_left(23) ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            keys.push(key);
            chain.push(link);
        }
        Self { keys, chain }
    }

    /// The keys, one a message.
    pub fn as_slice(&self) -> &[Key] {
        &self.keys
    }

    /// The newest links, which lead to the conversation from now on.
    pub fn hints(&self) -> &[u64] {
        let from = self.chain.len().saturating_sub(HINTS);
        self.chain.get(from..).unwrap_or_default()
    }

    /// The links to look for, the newest first.
    pub fn links(&self) -> impl Iterator<Item = u64> {
        self.chain.iter().rev().take(LOOK_BACK).copied()
    }
}

/// The known messages of a conversation.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// The raw keys as they were last sent.
    pub keys: &'k [Key],
    /// The ids of the turns.
    pub ids: &'k [TurnId],
}

/// The comparison of a request's path with a known one.
#[derive(Debug)]
pub struct Compared {
    /// The number of leading turns that are the same.
    pub common: usize,
    /// The request's turns behind those.
    pub new: Vec<Turn>,
}

/// Compares a request with what is known of a conversation, reading as few messages as possible.
pub fn compare(
    request: &Request<'_>,
    keys: &Keys,
    known: Known<'_>,
    counter: &dyn TokenCounter,
) -> Compared {
    let mut common = 0;
    let mut parent = TurnId::ROOT;
    let mut there = known.ids.iter().zip(known.keys);
    for (message, key) in request.messages().zip(keys.as_slice()) {
        let Some((&id, known_key)) = there.next() else {
            break;
        };
        // The size of a known turn is known.
        if key != known_key && message.draft().after(parent, &Uncounted).id() != id {
            break;
        }
        parent = id;
        common += 1;
    }
    Compared {
        common,
        new: placed(request, common, parent, counter),
    }
}

/// The same for a request that was read whole already.
pub fn compare_read(turns: &[Turn], known: &[TurnId]) -> Compared {
    let pairs = turns.iter().zip(known);
    let common = pairs.take_while(|&(turn, id)| turn.id() == *id).count();
    Compared {
        common,
        new: turns.get(common..).unwrap_or_default().to_vec(),
    }
}

/// The turns of a request from `from` on, behind `parent`.
pub fn placed(
    request: &Request<'_>,
    from: usize,
    mut parent: TurnId,
    counter: &dyn TokenCounter,
) -> Vec<Turn> {
    (from..request.len())
        .filter_map(|index| request.message(index))
        .map(|message| {
            let turn = message.draft().after(parent, counter);
            parent = turn.id();
            turn
        })
        .collect()
}

/// Counts nothing, for turns whose size is known or does not matter.
pub struct Uncounted;

impl TokenCounter for Uncounted {
    fn count(&self, _text: &str) -> Tokens {
        Tokens::ZERO
    }

    fn count_parts(&self, _parts: &[Part]) -> Tokens {
        Tokens::ZERO
    }
}

#[cfg(test)]
mod tests;
