//! Standing matter: what a client puts into the conversation by itself, and believes to be there from then on.
//!
//! Clients put instructions of a project, the environment, lists of tools and skills into messages. A summary
//! of them is no instruction, so they stay byte for byte in front of every view, a newer version in the place
//! of the older. They are recognised by their form and place, not by the names of tags:
//!
//! - before the first answer, every text that holds wrapped matter, and every text that is followed by another
//!   one of the user's: what the person asks comes last;
//! - later, every text that begins like one of those (a newer version);
//! - later, every text that is wrapped as a whole, while it is short: only the newest of those that begin alike;
//! - the texts behind a call of a skill, up to the next answer;
//! - results that load tools (`tool_reference`), with their calls.
//!
//! System messages between others stand too, the newest of those that begin alike, where the dialect does not keep
//! all of them in front anyway.

use std::collections::HashSet;

use crate::spoken::{self, Sort};
use crate::turn::{Part, Provenance, Role, Turn};
use crate::units::Tokens;
use crate::user_words::PartOf;

/// The kind of the block by which a result loads a tool.
const LOADS: &str = "tool_reference";
/// The longest text that stands because it is wrapped, where nothing like it stood in the beginning.
const LATE: Tokens = Tokens::new(1_000);
/// The room for all of those.
const LATE_ALL: Tokens = Tokens::new(4_000);
/// The words of a text by which two versions of it are known.
const WORDS: usize = 6;

/// The standing matter of a conversation, without its words: some 40 bytes an entry.
#[derive(Clone, Debug)]
pub struct Standing {
    entries: Vec<Entry>,
    /// The number of turns.
    turns: usize,
    /// True once the assistant has answered.
    is_answered: bool,
    /// The newest text before the first answer; standing once another one follows.
    asked: Option<Entry>,
    /// True while texts belong to a skill that was called.
    is_skill: bool,
    /// The room for all of it.
    room: Tokens,
}

/// One text or exchange that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The index of its turn.
    pub turn: usize,
    /// What of the turn it is.
    pub matter: Matter,
    /// Its size.
    pub tokens: Tokens,
    /// Identifies its versions.
    key: u64,
    /// True if nothing like it stood in the beginning.
    is_late: bool,
    /// The turn that holds the next version.
    replaced: Option<usize>,
}

/// A part of a turn that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// A text: its index among the texts of the turn, and among all its parts.
    Text {
        /// Among the texts.
        text: usize,
        /// Among the parts.
        part: usize,
    },
    /// The results that load tools, with their calls in the turn before.
    Loads,
    /// A system message between others. Its size counts as that of the operator's messages.
    System,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            turns: 0,
            is_answered: false,
            asked: None,
            is_skill: false,
            room: Tokens::new(u64::MAX),
        }
    }
}

impl Standing {
    /// The standing matter of `turns`.
    #[must_use]
    pub fn of(turns: &[Turn]) -> Self {
        let mut standing = Self::default();
        turns.iter().for_each(|turn| standing.push(turn));
        standing
    }

    /// Without turns, with this room.
    #[must_use]
    pub fn within(room: Tokens) -> Self {
        Self {
            room,
            ..Self::default()
        }
    }

    /// Takes the next turn.
    pub fn push(&mut self, turn: &Turn) {
        let index = self.turns;
        self.turns += 1;
        let said = turn.provenance() == Provenance::Said;
        match turn.role() {
            Role::Assistant => {
                self.is_answered = true;
                self.asked = None;
                self.is_skill = turn.calls().any(|call| {
                    let name = call.name.to_lowercase();
                    name.contains("skill") || call.arguments.contains("\"skill\"")
                });
            }
            Role::System if self.turns > 1 => {
                let key = key(&turn.readable());
                self.put(entry(index, Matter::System, Tokens::ZERO, key));
            }
            Role::User | Role::Tool if said => {
                if loads(turn) {
                    self.put(entry(
                        index,
                        Matter::Loads,
                        turn.tokens(),
                        key_of_loads(turn),
                    ));
                }
                self.texts(index, turn);
            }
            _ => {}
        }
    }

    fn texts(&mut self, index: usize, turn: &Turn) {
        let parts = turn.parts().iter().enumerate();
        let texts = parts.filter_map(|(part, it)| match it {
            Part::Text(text) => Some((part, text)),
            _ => None,
        });
        let all: usize = turn
            .parts()
            .iter()
            .flat_map(Part::readable)
            .map(str::len)
            .sum();
        for (number, (part, text)) in texts.enumerate() {
            let matter = Matter::Text { text: number, part };
            let size = turn.tokens().scaled(text.len() as f64 / all.max(1) as f64);
            let key = key(text);
            let (wraps, types) = form(text);
            if !self.is_answered {
                if let Some(before) = self.asked.take() {
                    self.put(before);
                }
                if wraps {
                    self.put(entry(index, matter, size, key));
                } else {
                    self.asked = Some(entry(index, matter, size, key));
                }
            } else if self.is_skill || self.entries.iter().any(|it| it.key == key && !it.is_late) {
                self.put(entry(index, matter, size, key));
            } else if wraps && !types && size <= LATE {
                self.put(Entry {
                    is_late: true,
                    ..entry(index, matter, size, key)
                });
            }
        }
    }

    fn put(&mut self, new: Entry) {
        let mut before = self.entries.iter_mut().rev();
        if let Some(older) = before.find(|it| it.key == new.key) {
            older.replaced = Some(new.turn);
        }
        self.entries.push(new);
    }

    /// The entries that stand in front of the turns from `cut` on, oldest first: of each the newest version before
    /// the cut, as far as there is room.
    pub fn before(&self, cut: usize) -> impl Iterator<Item = &Entry> {
        let (mut all, mut late) = (Tokens::ZERO, Tokens::ZERO);
        let stands =
            move |it: &&Entry| it.turn < cut && it.replaced.is_none_or(|replaced| replaced >= cut);
        self.entries.iter().filter(stands).filter(move |it| {
            if it.is_late {
                late += it.tokens;
            }
            let fits = all + it.tokens <= self.room && (!it.is_late || late <= LATE_ALL);
            if fits {
                all += it.tokens;
            }
            fits
        })
    }

    /// The size of the entries that stand in front of the turns from `cut` on.
    #[must_use]
    pub fn tokens(&self, cut: usize) -> Tokens {
        self.before(cut).map(|it| it.tokens).sum()
    }

    /// The parts of texts that stand, whatever the cut: they need no other place.
    #[must_use]
    pub fn parts(&self) -> HashSet<PartOf> {
        let part = |it: &Entry| match it.matter {
            Matter::Text { part, .. } => Some((it.turn, part)),
            Matter::Loads | Matter::System => None,
        };
        self.entries.iter().filter_map(part).collect()
    }

    /// The room for all of it.
    #[must_use]
    pub const fn room(&self) -> Tokens {
        self.room
    }

    /// Sets the room for all of it.
    pub const fn set_room(&mut self, room: Tokens) {
        self.room = room;
    }

    /// Gives back memory that is held for turns to come.
    pub fn shrink_to_fit(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}

const fn entry(turn: usize, matter: Matter, tokens: Tokens, key: u64) -> Entry {
    Entry {
        turn,
        matter,
        tokens,
        key,
        is_late: false,
        replaced: None,
    }
}

/// Returns true if a turn holds results that load tools.
fn loads(turn: &Turn) -> bool {
    turn.parts()
        .iter()
        .any(|part| matches!(part, Part::Opaque(block) if &*block.kind == LOADS))
}

/// Whether a text holds wrapped lines, and whether it holds typed ones.
fn form(text: &str) -> (bool, bool) {
    let lines = spoken::sorted(text);
    let wraps = lines.iter().any(|(_, sort)| *sort == Sort::Wrapped);
    let typed = |(line, sort): &(&str, Sort)| *sort != Sort::Wrapped && !line.trim().is_empty();
    (wraps, lines.iter().any(typed))
}

/// Identifies the versions of a text: its first words, without digits, and without paths, which change.
fn key(text: &str) -> u64 {
    let words = text.split(|letter: char| letter.is_whitespace() || "<>=\"".contains(letter));
    let words = words.filter(|word| !word.is_empty() && !word.contains(['/', '\\']));
    let mut hasher = blake3::Hasher::new();
    for word in words.take(WORDS) {
        let letters: String = word.chars().filter(|it| !it.is_ascii_digit()).collect();
        hasher.update(letters.as_bytes());
        hasher.update(b" ");
    }
    short(&hasher)
}

fn key_of_loads(turn: &Turn) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in turn.parts() {
        if let Part::Opaque(block) = part {
            hasher.update(block.digest.as_bytes());
        }
    }
    short(&hasher)
}

fn short(hasher: &blake3::Hasher) -> u64 {
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests;
