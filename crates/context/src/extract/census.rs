//! The census of identifiers in the compacted turns: places, counts and writers.

use std::collections::{HashMap, VecDeque};

use super::source::{Origin, Piece};
use super::{lines, steps};
use crate::identifiers::{self, Kind};

/// A place of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// The index of the piece.
    pub piece: usize,
    /// The byte of the piece's text.
    pub at: usize,
}

/// The record of one identifier.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    /// The identifier as written.
    pub text: &'a str,
    /// The kind.
    pub kind: Kind,
    /// Its newest places, at most [`PLACES`], oldest first.
    pub places: Vec<Position>,
    /// Its newest places in the assistant's texts, at most [`SAID`].
    pub said: VecDeque<Position>,
    /// The number of mentions.
    pub mentions: u32,
    /// In how many turns.
    pub turns: u32,
    /// In how many turns, by who wrote it.
    pub by: Writers<u32>,
    /// The newest turn in which the assistant wrote it, in text or in a call.
    pub last_written: Option<usize>,
    /// Its newest turn.
    pub last: usize,
}

/// One value for each sort of writer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Writers<T> {
    /// The user.
    pub user: T,
    /// The assistant, in text.
    pub assistant: T,
    /// The assistant, in the arguments of calls.
    pub call: T,
    /// Tools.
    pub tool: T,
}

/// The most places kept of one identifier.
const PLACES: usize = 5;
/// The most places kept of one identifier in the assistant's texts.
const SAID: usize = 2;

/// The identifiers of some pieces.
#[derive(Debug, Default)]
pub(super) struct Census<'a> {
    /// In the order of their first mention.
    pub entries: Vec<Entry<'a>>,
    index: HashMap<&'a str, usize>,
}

impl<'a> Census<'a> {
    /// Takes the census of `pieces`. Reasoning is left out: it is never quoted.
    pub fn of(pieces: &'a [Piece<'a>]) -> Self {
        let mut census = Self::default();
        for (number, piece) in pieces.iter().enumerate() {
            if piece.origin == Origin::Thinking {
                continue;
            }
            let members = identifiers::members(&piece.text);
            let found = identifiers::scan(&piece.text).chain(members);
            for found in found.filter(|it| {
                let is_key = piece.origin == Origin::Call && steps::is_key(it.text);
                let is_credit =
                    it.kind == Kind::Email && lines::is_in_credit(&piece.text, it.start);
                !is_key && !is_credit && !is_markup(&piece.text, it.start)
            }) {
                let place = Position {
                    piece: number,
                    at: found.start,
                };
                if let Some(entry) = census.entry(found.text, found.kind) {
                    entry.mention(piece, place);
                }
            }
        }
        census
    }

    /// The number of an identifier.
    pub fn find(&self, identifier: &str) -> Option<usize> {
        self.index.get(identifier).copied()
    }

    fn entry(&mut self, text: &'a str, kind: Kind) -> Option<&mut Entry<'a>> {
        let next = self.entries.len();
        let index = *self.index.entry(text).or_insert(next);
        if index == next {
            self.entries.push(Entry {
                text,
                kind,
                places: Vec::new(),
                said: VecDeque::new(),
                mentions: 0,
                turns: 0,
                by: Writers::default(),
                last_written: None,
                last: usize::MAX,
            });
        }
        self.entries.get_mut(index)
    }
}

/// Returns true if the first letter at `at` belongs to an escape sequence, to a closing tag or to a client's command in
/// a tag: `\tName` in quoted text names `Name`, and `<command-name>/exit</command-name>` names nothing.
fn is_markup(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let is_command = ["<command-name>", "<command-message>"]
        .iter()
        .any(|tag| before.ends_with(tag));
    let is_slash = text.get(at..).is_some_and(|it| it.starts_with('/'));
    let is_tag = is_slash && (before.ends_with('<') || is_command);
    is_tag
        || before.ends_with('\\')
            && text
                .get(at..)
                .is_some_and(|it| it.starts_with(['t', 'n', 'r']))
}

impl Entry<'_> {
    fn mention(&mut self, piece: &Piece<'_>, place: Position) {
        self.mentions += 1;
        let again = self.last == piece.turn;
        if !again {
            self.turns += 1;
        }
        self.last = piece.turn;
        let by = match piece.origin {
            Origin::User | Origin::Summary => &mut self.by.user,
            Origin::Assistant => &mut self.by.assistant,
            Origin::Call => &mut self.by.call,
            _ => &mut self.by.tool,
        };
        *by += u32::from(!again || *by == 0);
        if matches!(piece.origin, Origin::Assistant | Origin::Call) {
            self.last_written = Some(piece.turn);
        }
        if piece.origin == Origin::Assistant {
            self.said.push_back(place);
            if self.said.len() > SAID {
                self.said.pop_front();
            }
        }
        if self.places.len() == PLACES {
            self.places.remove(0);
        }
        self.places.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::Census;
    use crate::extract::source::pieces;
    use crate::extract::tests::placed;
    use crate::turn::{Role, TurnDraft};

    #[test]
    fn what_a_client_adds_names_nothing() {
        let text = "<command-name>/exit</command-name> <url>/abc</url> <path>/a/b</path>\n\
                    Owned-by: zoe@example.com\n\
                    Co-Authored-By: Agent <noreply@agent.com>\nAsk ann@example.com";
        let turns = placed([TurnDraft::text(Role::User, text)]);
        let pieces = pieces(&turns);
        let census = Census::of(&pieces);
        let names: Vec<&str> = census.entries.iter().map(|entry| entry.text).collect();
        assert_eq!(
            names,
            ["/abc", "/a/b", "zoe@example.com", "ann@example.com"]
        );
    }
}
