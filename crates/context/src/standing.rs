//! Standing matter: what a client puts into the conversation by itself, and believes to be there from then on.
//!
//! Clients put instructions of a project, the environment, lists of tools and skills into messages. A summary
//! of them is no instruction, so they stay byte for byte in front of every view, a newer version in the place
//! of the older. A newer text that says little of what the older says adds to it, and both stand: a client that
//! listed its skills lists only the new one later. So does one that lacks a typed line of the older: a person may
//! have typed it behind the client's matter. They are recognised by their form and place, not by the names
//! of tags:
//!
//! - before the first answer, every text that holds wrapped matter, and every text that is followed by another
//!   one of the user's: what the person asks comes last;
//! - later, every text that begins like one of those and types no other line (a newer version);
//! - later, every text that is wrapped as a whole, while it is short;
//! - the texts behind a call of a skill, up to the next answer;
//! - results that load tools (`tool_reference`, `tool_search_output`), with their calls.
//!
//! System messages between others stand too, where the dialect does not keep all of them in front anyway. Later
//! ones have limited room, which the newest take first: a hook may print another text at every turn.

use std::collections::HashSet;

use crate::spoken::{self, Sort};
use crate::summary::is_summary;
use crate::turn::{Part, Provenance, Role, Turn};
use crate::units::Tokens;
use crate::user_words::{Apart, PartOf};

/// The share of the window that standing matter may have.
const SHARE: f64 = 0.25;
/// The kinds of the blocks by which a result loads tools: Anthropic's and OpenAI's.
const LOADS: [&str; 2] = ["tool_reference", "tool_search_output"];
/// The longest text that stands because it is wrapped, where nothing like it stood in the beginning.
const LATE: Tokens = Tokens::new(1_000);
/// The room for all of those.
const LATE_ALL: Tokens = Tokens::new(4_000);
/// The words of a text by which two versions of it are known.
const WORDS: usize = 6;
/// The words of a line by which it is known in another version.
const WORDS_OF_LINE: usize = 3;
/// The most lines of a text that are compared.
const LINES: usize = 512;

/// The room for standing matter in a window.
#[must_use]
pub fn room(window: Tokens) -> Tokens {
    window.scaled(SHARE)
}

/// The standing matter of a conversation, without its words: some 80 bytes an entry, and 4 to 8 a line.
#[derive(Clone, Debug)]
pub struct Standing {
    entries: Vec<Entry>,
    /// The client's remarks beside results that load tools: they need no place.
    remarks: Vec<PartOf>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The index of its turn.
    pub turn: usize,
    /// The part of the turn.
    pub matter: Matter,
    /// Its size.
    pub tokens: Tokens,
    /// Identifies its versions, and what adds to it.
    key: u64,
    /// The lines by which a version is told from an addition, sorted.
    lines: Box<[u32]>,
    /// The lines that a person may have typed, sorted.
    typed: Box<[u32]>,
    /// True if it came after the first answer and nothing like it stood in the beginning.
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
            remarks: Vec::new(),
            turns: 0,
            is_answered: false,
            asked: None,
            is_skill: false,
            room: Tokens::new(u64::MAX),
        }
    }
}

impl Standing {
    /// The standing matter of `turns`, with this room.
    #[must_use]
    pub fn of(turns: &[Turn], room: Tokens) -> Self {
        let mut standing = Self::within(room);
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
                let text = turn.readable();
                let is_late = self.is_answered;
                self.put(Entry {
                    is_late,
                    ..entry(index, Matter::System, turn.tokens(), &text)
                });
            }
            Role::User | Role::Tool if said => {
                let loads = loads(turn);
                if loads {
                    self.put(Entry {
                        key: key_of_loads(turn),
                        ..entry(index, Matter::Loads, turn.tokens(), "")
                    });
                }
                self.texts(index, turn, loads);
            }
            _ => {}
        }
    }

    fn texts(&mut self, index: usize, turn: &Turn, loads: bool) {
        let parts = turn.parts().iter().enumerate();
        let texts = parts.filter_map(|(part, it)| match it {
            Part::Text(text) => Some((part, text)),
            _ => None,
        });
        let all = turn.readable_length();
        for (number, (part, text)) in texts.enumerate() {
            // The next summary stands in the place of an older one of ours.
            if is_summary(text) {
                continue;
            }
            let matter = Matter::Text { text: number, part };
            let size = turn.tokens().scaled(text.len() as f64 / all.max(1) as f64);
            let (wraps, typed) = form(text);
            let types = !typed.is_empty();
            let new = Entry {
                // A skill names the arguments of each call.
                typed: if self.is_skill { Box::default() } else { typed },
                ..entry(index, matter, size, text)
            };
            if !self.is_answered {
                if let Some(before) = self.asked.take() {
                    self.put(before);
                }
                if wraps {
                    self.put(new);
                } else {
                    self.asked = Some(new);
                }
            } else if self.is_skill || self.begins_like_an_early_one(&new) {
                self.put(new);
            } else if wraps && !types && size <= LATE {
                self.put(Entry {
                    is_late: true,
                    ..new
                });
            } else if loads && !wraps {
                self.remarks.push((index, part));
            }
        }
    }

    fn begins_like_an_early_one(&self, new: &Entry) -> bool {
        let early = self.entries.iter().filter(|it| !it.is_late);
        let is_like = |it: &Entry| it.key == new.key && is_part(&new.typed, &it.typed);
        early.into_iter().any(is_like)
    }

    fn put(&mut self, new: Entry) {
        let standing = self.entries.iter_mut().filter(|it| it.replaced.is_none());
        for older in standing.filter(|it| new.is_version_of(it)) {
            older.replaced = Some(new.turn);
        }
        self.entries.push(new);
    }

    /// The entries that stand in front of the turns from `cut` on, oldest first: of each the newest version before
    /// the cut, as far as there is room. Late ones come after all others, the newest first.
    pub fn before(&self, cut: usize) -> impl Iterator<Item = &Entry> {
        let stands = |it: &&Entry| it.stands_at(cut);
        let entries: Vec<&Entry> = self.entries.iter().filter(stands).collect();
        let early = entries.iter().filter(|it| !it.is_late);
        let late = entries.iter().rev().filter(|it| it.is_late);
        let mut room = Room::new(self.room);
        let mut chosen: Vec<&Entry> = early
            .chain(late)
            .copied()
            .filter(|it| room.takes(it))
            .collect();
        // Texts of one turn keep their order.
        chosen.sort_by_key(|it| (it.turn, it.place()));
        chosen.into_iter()
    }

    /// The texts among `turns` that stand in front of those from `cut` on, with their roles. Tools that were loaded
    /// have none.
    pub fn texts_before<'a>(
        &'a self,
        turns: &'a [Turn],
        cut: usize,
    ) -> impl Iterator<Item = (Role, String)> + 'a {
        self.before(cut).filter_map(move |entry| {
            let turn = turns.get(entry.turn)?;
            match entry.matter {
                Matter::Text { text, .. } => {
                    let text = turn.texts().nth(text)?;
                    Some((Role::User, text.to_owned()))
                }
                Matter::System => Some((Role::System, turn.readable())),
                Matter::Loads => None,
            }
        })
    }

    /// The size of the entries that stand in front of the turns from `cut` on, without system messages, which
    /// count as the operator's.
    #[must_use]
    pub fn tokens(&self, cut: usize) -> Tokens {
        let others = self.before(cut).filter(|it| it.matter != Matter::System);
        others.map(|it| it.tokens).sum()
    }

    /// The parts of texts that are not the user's words: those that stand, or stood in an older version, and the
    /// client's remarks; and those that find no room.
    #[must_use]
    pub fn apart(&self) -> Apart {
        let part = |it: &Entry| match it.matter {
            Matter::Text { part, .. } => Some((it.turn, part)),
            Matter::Loads | Matter::System => None,
        };
        let older = self.entries.iter().filter(|it| it.replaced.is_some());
        let texts = older.chain(self.before(self.turns)).filter_map(part);
        let elsewhere: HashSet<PartOf> = texts.chain(self.remarks.iter().copied()).collect();
        let all = self.entries.iter().filter_map(part);
        let pasted = all.filter(|it| !elsewhere.contains(it)).collect();
        Apart { elsewhere, pasted }
    }

    /// The texts before `cut` that the client counts on and that find no room, and their size. Late ones pile up, so
    /// that older ones leave is no loss.
    #[must_use]
    pub fn crowded_out(&self, cut: usize) -> (usize, Tokens) {
        let all = self
            .entries
            .iter()
            .filter(|it| it.stands_at(cut) && !it.is_late);
        let stands: HashSet<_> = self.before(cut).map(|it| (it.turn, it.place())).collect();
        let out = all.filter(|it| !stands.contains(&(it.turn, it.place())));
        out.fold((0, Tokens::ZERO), |(count, tokens), it| {
            (count + 1, tokens + it.tokens)
        })
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
        self.remarks.shrink_to_fit();
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let lines = self.entries.iter();
        let lines = lines.map(|it| size_of_val(&*it.lines) + size_of_val(&*it.typed));
        self.entries.capacity() * size_of::<Entry>()
            + self.remarks.capacity() * size_of::<PartOf>()
            + lines.sum::<usize>()
    }
}

impl Entry {
    /// Returns true if this text says most of what an older one says, line by line, and all of what was typed.
    fn is_version_of(&self, older: &Self) -> bool {
        let known = |line: &&u32| self.lines.binary_search(line).is_ok();
        let said = older.lines.iter().filter(known).count();
        self.key == older.key && said * 2 >= older.lines.len() && is_part(&older.typed, &self.typed)
    }

    /// Returns true if it is the newest version in front of `cut`.
    fn stands_at(&self, cut: usize) -> bool {
        self.turn < cut && self.replaced.is_none_or(|at| at >= cut)
    }

    const fn place(&self) -> usize {
        match self.matter {
            Matter::Text { part, .. } => part,
            Matter::Loads | Matter::System => usize::MAX,
        }
    }
}

/// The room that is left for standing matter.
struct Room {
    whole: Tokens,
    texts: Tokens,
    late_texts: Tokens,
    late_system: Tokens,
}

impl Room {
    const fn new(whole: Tokens) -> Self {
        Self {
            whole,
            texts: Tokens::ZERO,
            late_texts: Tokens::ZERO,
            late_system: Tokens::ZERO,
        }
    }

    /// Takes an entry in, if it fits.
    fn takes(&mut self, it: &Entry) -> bool {
        if it.matter == Matter::System {
            // Early ones are instructions that the client counts on; only those that pile up have a limit.
            let late = if it.is_late { it.tokens } else { Tokens::ZERO };
            return fill(&mut self.late_system, late, self.whole);
        }
        if it.is_late && self.late_texts + it.tokens > LATE_ALL {
            return false;
        }
        let fits = fill(&mut self.texts, it.tokens, self.whole);
        if fits && it.is_late {
            self.late_texts += it.tokens;
        }
        fits
    }
}

fn fill(taken: &mut Tokens, more: Tokens, limit: Tokens) -> bool {
    let fits = *taken + more <= limit;
    if fits {
        *taken += more;
    }
    fits
}

fn entry(turn: usize, matter: Matter, tokens: Tokens, text: &str) -> Entry {
    Entry {
        turn,
        matter,
        tokens,
        key: hash(text, WORDS),
        lines: lines(text),
        typed: Box::default(),
        is_late: false,
        replaced: None,
    }
}

/// Returns true if a turn holds results that load tools.
fn loads(turn: &Turn) -> bool {
    turn.parts()
        .iter()
        .any(|part| matches!(part, Part::Opaque(block) if LOADS.contains(&&*block.kind)))
}

/// Returns whether a text holds wrapped lines, and the hashes of its other lines, sorted; of many lines, one hash of all.
fn form(text: &str) -> (bool, Box<[u32]>) {
    let lines = spoken::sorted(text);
    let wraps = lines.iter().any(|(_, sort)| *sort == Sort::Wrapped);
    let typed = lines.iter().filter(|(_, sort)| *sort != Sort::Wrapped);
    let typed = typed.map(|(line, _)| line.trim());
    let mut typed: Vec<&str> = typed.filter(|line| !line.is_empty()).collect();
    let all;
    if typed.len() > LINES {
        all = typed.join("\n");
        typed = vec![&all];
    }
    let mut typed: Vec<u32> = typed.into_iter().map(whole).collect();
    typed.sort_unstable();
    typed.dedup();
    (wraps, typed.into())
}

/// The hash of a whole line. A client's heading may name another path: `# AGENTS.md instructions for /home/me`.
fn whole(line: &str) -> u32 {
    match line.starts_with("# ") && !line.contains('\n') {
        true => hash(line, usize::MAX) as u32,
        false => short(blake3::Hasher::new().update(line.as_bytes())) as u32,
    }
}

/// Returns true if all of these sorted hashes are among the others.
fn is_part(some: &[u32], of: &[u32]) -> bool {
    some.iter().all(|it| of.binary_search(it).is_ok())
}

/// The hash of the first words of a text, without digits, and without paths, which change.
fn hash(text: &str, words: usize) -> u64 {
    let all = text.split(|letter: char| letter.is_whitespace() || "<>=\"".contains(letter));
    let kept = all.filter(|word| !word.is_empty() && !word.contains(['/', '\\']));
    let mut hasher = blake3::Hasher::new();
    for word in kept.take(words) {
        let letters: String = word.chars().filter(|it| !it.is_ascii_digit()).collect();
        hasher.update(letters.as_bytes());
        hasher.update(b" ");
    }
    short(&hasher)
}

/// The lines of a text, each by its first words, sorted.
fn lines(text: &str) -> Box<[u32]> {
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    let hashes = filled.take(LINES).map(|line| hash(line, WORDS_OF_LINE));
    let mut lines: Vec<u32> = hashes.map(|hash| hash as u32).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.into()
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
