//! The original turns behind a dump, for agents that sum it up.

use std::collections::VecDeque;
use std::sync::Arc;

use context::classify::Demands;
use context::extract::{Room, extract_in};
use context::linearity::ResourceClass;
use context::summary::{Field, Summary};
use context::turn::Digest;
use context::window::ContextWindow;
use context::{Heuristic, Tokens, Turn};
use plumb::value::Value;

use super::cut::newest;
use super::{json, placed, without_note};

/// The most tokens of a summary that no model writes.
const SUMMARY: Tokens = Tokens::new(2_000);

/// The sizes of such a summary: the words of those who spoke to the agent have room of their own.
const ROOM: Room = Room {
    words: SUMMARY,
    standing: SUMMARY,
    summary: SUMMARY,
};

/// The share of the room for hidden turns that the demands of the user may take.
const DEMANDS: f64 = 0.5;

/// The number of dumps whose originals are held.
const DUMPS: usize = 32;

/// The fields of a summary that stay true when the conversation goes on, in the order in which they give way
/// to the budget. The others describe one moment.
const LASTING: [Field; 5] = [
    Field::Ledger,
    Field::Facts,
    Field::DeadEnds,
    Field::Goal,
    Field::Decisions,
];

/// The turns that a dump stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Originals {
    /// The turns that are out of view, which the dump's summary stands for.
    hidden: Vec<Turn>,
    /// The turns in view, up to the mark.
    shown: Vec<Turn>,
    /// The turns after the mark.
    tail: Vec<Turn>,
    /// A summary that stands for turns which are not here.
    founding: Option<Arc<str>>,
}

impl Originals {
    pub(super) fn new<'a>(
        hidden: impl IntoIterator<Item = &'a Turn>,
        shown: impl IntoIterator<Item = &'a Turn>,
        tail: impl IntoIterator<Item = &'a Turn>,
        founding: Option<Arc<str>>,
    ) -> Self {
        fn plain<'a>(turns: impl IntoIterator<Item = &'a Turn>) -> Vec<Turn> {
            let drafts = turns.into_iter().map(Turn::draft);
            placed(drafts.map(without_note))
        }
        Self {
            hidden: plain(hidden),
            shown: plain(shown),
            tail: plain(tail),
            founding,
        }
    }

    /// The words of all turns up to the mark.
    #[cfg(test)]
    pub(super) fn words(&self) -> Vec<String> {
        let turns = self.hidden.iter().chain(&self.shown);
        turns.map(Turn::readable).collect()
    }

    /// A summary of all turns up to the mark, without a model.
    fn summed_up(&self) -> String {
        let old = [&self.hidden[..], &self.shown[..]].concat();
        let made = extract_in(&old, &self.tail, ROOM, &Heuristic);
        match self.founding.as_deref() {
            Some(founding) => carried(&made, founding),
            None => made.render(),
        }
    }

    /// The hidden turns that fit into so many tokens: all of them, or what the user demands in the first half
    /// of the room and the newest exchanges in the rest.
    fn within(&self, room: Tokens) -> Vec<&Turn> {
        let size = |turns: &[Turn]| turns.iter().map(Turn::tokens).sum::<Tokens>();
        if size(&self.hidden) <= room {
            return self.hidden.iter().collect();
        }
        let half = room.scaled(DEMANDS);
        let demands = Demands::with_budget(DEMANDS).unwrap_or_default();
        let empty = ContextWindow::with_classifier(room, Arc::new(demands));
        let append = |window: ContextWindow, turn: &Turn| window.append(turn.draft(), &Heuristic);
        let window = self.hidden.iter().fold(empty, append);
        let mut left = half;
        let mut chosen: Vec<bool> = Vec::with_capacity(self.hidden.len());
        for turn in &self.hidden {
            let demanded = window.class_of(turn.id()) == Some(ResourceClass::Preserved);
            let fits = demanded && turn.tokens() <= left;
            if fits {
                left = left.saturating_sub(turn.tokens());
            }
            chosen.push(fits);
        }
        let recent = newest(&self.hidden, half);
        let all = self.hidden.iter().zip(chosen).enumerate();
        let fit = all.filter(|(at, (_, chosen))| *chosen || *at >= recent);
        fit.map(|(_, (turn, _))| turn).collect()
    }
}

/// The originals of the dumps that were given last, by the content of the dump. A dump that two agents gave
/// for different turns has none: nothing tells whose it is.
#[derive(Debug, Default)]
pub(crate) struct Dumps {
    given: VecDeque<(Digest, Option<Arc<Originals>>)>,
}

impl Dumps {
    /// Holds what a dump stands for.
    pub fn put(&mut self, memory: &Value, originals: Originals) {
        let digest = digest(memory);
        let known = self.given.iter().position(|(given, _)| *given == digest);
        let earlier = known.and_then(|at| self.given.remove(at));
        let is_same = |earlier: &Originals| {
            (&earlier.hidden, &earlier.shown, &earlier.founding)
                == (&originals.hidden, &originals.shown, &originals.founding)
        };
        let is_clear = match &earlier {
            Some((_, earlier)) => earlier.as_deref().is_some_and(is_same),
            None => true,
        };
        if self.given.len() == DUMPS {
            self.given.pop_front();
        }
        let originals = is_clear.then(|| Arc::new(originals));
        self.given.push_back((digest, originals));
    }

    /// The turns that a dump stands for, if the dump is unchanged since it was given.
    pub fn get(&self, memory: &Value) -> Option<Arc<Originals>> {
        let digest = digest(memory);
        let mut given = self.given.iter();
        let (_, originals) = given.find(|(given, _)| *given == digest)?;
        originals.clone()
    }
}

fn digest(memory: &Value) -> Digest {
    Digest::of(memory.to_string().as_bytes())
}

/// A memory with its turns summed up without a model: from the originals, or if they are out of reach, from
/// its turns and what its summary says.
///
/// # Errors
/// If a turn of it cannot be read, as a phrase.
pub(crate) fn summed_up(memory: &Value, originals: Option<&Originals>) -> Result<Value, String> {
    let text = match originals {
        Some(originals) => originals.summed_up(),
        None => {
            let turns = placed(json::drafts(&json::turns(memory))?);
            let made = extract_in(&turns, &[], ROOM, &Heuristic);
            match json::summary(memory) {
                Some(earlier) => carried(&made, &earlier),
                None => made.render(),
            }
        }
    };
    let none = Value::list(vec![]).map_err(|error| error.to_string())?;
    json::with(memory, [("turns", none), ("summary", Value::from(text))])
        .ok_or_else(|| "the message is not a memory".to_owned())
}

/// A memory that shows the turns behind it.
#[derive(Debug)]
pub(crate) struct InFull {
    /// The memory, with hidden turns before its own.
    pub memory: Value,
    added: Vec<Value>,
}

impl InFull {
    /// A memory with its originals, as far as they fit into so many tokens. Its summary goes if all do. `None`
    /// if nothing is hidden.
    pub fn of(memory: &Value, originals: &Originals, room: Tokens) -> Option<Self> {
        let hidden = originals.within(room);
        if hidden.is_empty() {
            return None;
        }
        let is_whole = hidden.len() == originals.hidden.len();
        let added: Vec<Value> = hidden
            .iter()
            .map(|turn| json::turn(&turn.draft()))
            .collect();
        let turns = added.iter().cloned().chain(json::turns(memory));
        let turns = Value::list(turns.collect::<Vec<_>>()).ok()?;
        let earlier = match is_whole {
            true => originals.founding.clone(),
            false => json::summary(memory),
        };
        let memory = json::with(
            &json::without(memory, "summary")?,
            [("turns", turns)]
                .into_iter()
                .chain(earlier.map(|text| ("summary", Value::Text(text)))),
        )?;
        Some(Self { memory, added })
    }

    /// A memory that answers this one, without the turns that were added: they stay out of view.
    pub fn without_added(&self, memory: &Value) -> Option<Value> {
        let turns = json::turns(memory).into_iter();
        let own: Vec<Value> = turns.filter(|turn| !self.added.contains(turn)).collect();
        json::with(memory, [("turns", Value::list(own).ok()?)])
    }
}

/// A summary with what an earlier one says, field by field, as text. Entries that no longer fit go, names
/// first; the first goal and the first demand stay. Of an earlier one that has not the form of a summary, the
/// text is a fact.
fn carried(made: &Summary, earlier: &str) -> String {
    let parsed = Summary::parse(earlier);
    let mut before = parsed.summary;
    if before.is_empty() {
        before.push(Field::Facts, earlier);
    }
    let mut replaced = made.replaced.clone();
    replaced.turns += before.replaced.turns;
    replaced.tokens += before.replaced.tokens;
    let mut both = Summary::new(replaced);
    let words = &before.words;
    let turns = before.replaced.turns;
    both.words = words.then(&made.words, turns, (ROOM.words, &Heuristic));
    for field in Field::ALL {
        let (old, new) = (before.entries(field), made.entries(field));
        let lasts = LASTING.contains(&field) || new.is_empty();
        let old = old.iter().filter(|entry| lasts && !new.contains(entry));
        for entry in old.chain(new) {
            both.push_lines(field, entry);
        }
    }
    // The words have room of their own.
    let size = |both: &Summary| {
        both.tokens(&Heuristic)
            .saturating_sub(both.words.tokens(&Heuristic))
    };
    for field in LASTING {
        let least = usize::from(matches!(field, Field::Goal | Field::Decisions));
        while both.entries(field).len() > least && size(&both) > SUMMARY {
            both.pop(field);
        }
    }
    both.render()
}
