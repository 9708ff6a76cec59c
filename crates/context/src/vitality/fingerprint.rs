//! Fingerprints: what two pulses are compared by. Text goes in, and only hashes are kept.

use std::fmt;

use crate::quality::is_unspaced;

/// The first hexadecimal digits of a hash over a text: equal texts, equal hashes. 8 digits (32 bits)
/// are enough to tell the few dozen pulses of a window apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash {
    bits: u64,
    digits: u8,
}

impl ContentHash {
    /// The hash of a text, 8 digits long.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self::with_digits(text, 8)
    }

    /// The hash of a text, `digits` long; clamped to `1..=16`.
    #[must_use]
    pub fn with_digits(text: &str, digits: u8) -> Self {
        let digits = digits.clamp(1, 16);
        Self {
            bits: hash64(text.as_bytes()) >> (64 - 4 * u32::from(digits)),
            digits,
        }
    }

    /// Reads 1 to 16 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = u8::try_from(text.len())
            .ok()
            .filter(|digits| (1..=16).contains(digits))?;
        Some(Self {
            bits: hexadecimal(text)?,
            digits,
        })
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:0width$x}",
            self.bits,
            width = usize::from(self.digits)
        )
    }
}

/// The shape of a text without its numbers: two texts that differ in a counter, a time or a
/// word or two have shapes that are [near](Self::is_near) each other.
///
/// The words of a text fall into three groups. Numbers, times and hexadecimal ids are noise and do
/// not count. Names (paths, identifiers, anything with a digit or punctuation inside) have to be the
/// same: one command over fifty files is work, not repetition. All other words go into a simhash
/// (Charikar 2002), where a text of which a few words differ is a few bits away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    names: u32,
    words: u64,
}

impl Shape {
    /// Two texts of the same names are near when their simhashes differ in at most this many of 64
    /// bits. One word of eight changed makes about 10 bits; unrelated texts differ in 32 ± 4.
    pub const NEAR: u32 = 15;

    /// The shape of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut names = 0_u32;
        let mut votes = [0_i32; 64];
        for token in tokens(text) {
            match kind(token) {
                Kind::Noise => {}
                Kind::Name => {
                    let [a, b, c, d, ..] = hash64(token.as_bytes()).to_be_bytes();
                    // A sum, so that the order of the names does not count.
                    names = names.wrapping_add(u32::from_be_bytes([a, b, c, d]));
                }
                // Short words are mostly grammar.
                Kind::Word if token.len() <= 3 => cast(&mut votes, &token.to_lowercase(), 1),
                Kind::Word => cast(&mut votes, &token.to_lowercase(), 3),
                Kind::Unspaced => {
                    let letters = || token.chars().filter(|character| !character.is_numeric());
                    for (one, next) in letters().zip(letters().skip(1)) {
                        cast(&mut votes, &format!("{one}{next}"), 2);
                    }
                }
            }
        }
        let words = votes
            .iter()
            .enumerate()
            .filter(|(_, vote)| **vote > 0)
            .fold(0, |words, (bit, _)| words | 1 << bit);
        Self { names, words }
    }

    /// Returns true if two texts are the same but for numbers and a word or two.
    #[must_use]
    pub const fn is_near(self, other: Self) -> bool {
        self.names == other.names && (self.words ^ other.words).count_ones() <= Self::NEAR
    }

    /// Reads 24 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (names, words) = (text.len() == 24).then(|| text.split_at_checked(8))??;
        Some(Self {
            names: u32::try_from(hexadecimal(names)?).ok()?,
            words: hexadecimal(words)?,
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}{:016x}", self.names, self.words)
    }
}

enum Kind {
    Noise,
    Name,
    Word,
    /// A run of a script without spaces, whose words are taken as pairs of characters.
    Unspaced,
}

/// Lets a feature vote on every bit.
fn cast(votes: &mut [i32; 64], feature: &str, weight: i32) {
    let hash = hash64(feature.as_bytes());
    for (bit, vote) in votes.iter_mut().enumerate() {
        *vote += if hash >> bit & 1 == 1 {
            weight
        } else {
            -weight
        };
    }
}

fn kind(token: &str) -> Kind {
    let hex = |character: char| character.is_ascii_hexdigit() || character == '-';
    let stamp = |character: char| {
        !character.is_alphabetic() || matches!(character, 'T' | 'Z' | 's' | 'm' | 'h')
    };
    let has_digit = token.contains(|character: char| character.is_numeric());
    let starts_with_digit = token.starts_with(|character: char| character.is_numeric());
    if token.contains(is_unspaced) {
        Kind::Unspaced
    } else if (starts_with_digit && token.chars().all(stamp))
        || (has_digit && token.len() >= 7 && token.chars().all(hex))
    {
        Kind::Noise
    } else if has_digit || token.contains(['/', '\\', '_', '.', '@', ':']) {
        Kind::Name
    } else {
        Kind::Word
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let inner = |character: char| matches!(character, '/' | '\\' | '_' | '.' | '@' | ':' | '-');
    text.split(move |character: char| !character.is_alphanumeric() && !inner(character))
        .map(|token| token.trim_matches(['.', ':', '-', '/', '\\', '@']))
        .filter(|token| !token.is_empty())
}

fn hash64(bytes: &[u8]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(bytes).as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// `from_str_radix` would also take a sign.
fn hexadecimal(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u64::from_str_radix(text, 16).ok())?
}
