//! Regret: what an agent shows that it misses, counted without a model.
//!
//! After a swap the agent acts on less than it was told. Five things show that it missed something:
//!
//! | kind | counted where |
//! |---|---|
//! | [`ReadAgain`](Kind::ReadAgain) | the agent reads a file, or a part of one, that it read or wrote before |
//! | [`SearchedAgain`](Kind::SearchedAgain) | it searches for an identifier that was told before |
//! | [`FailedAgain`](Kind::FailedAgain) | it runs a command that failed before, no file has changed since, and it fails again |
//! | [`Corrected`](Kind::Corrected) | the user says a sentence again in much the same words, or says "I told you" |
//! | [`Reopened`](Kind::Reopened) | a closed task is open again |
//!
//! Each counts only if the model could not see it any more: its newest place lies before the turns that are shown,
//! or, after the client's own compaction, in the conversation before. Repeating a thing that is in sight is a habit,
//! and no regret.
//!
//! A [`Trail`] keeps fingerprints of what was done, each with the place of its turn, and no words. Turns are looked
//! at once, when they are new.

mod deeds;
mod words;

use std::fmt;

use crate::extract::steps::steps;
use crate::turn::{Role, Turn};
use deeds::{Deed, deeds};
use words::Spoken;

/// The most fingerprints that are kept; of more, the newest.
const MOST: usize = 1_024;

/// The most messages of the user among them.
const MESSAGES: usize = 32;

/// The kind of a regret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A file was read again.
    ReadAgain,
    /// An identifier was searched for.
    SearchedAgain,
    /// A command failed again.
    FailedAgain,
    /// The user said something again.
    Corrected,
    /// A closed task was opened again.
    Reopened,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::ReadAgain,
        Self::SearchedAgain,
        Self::FailedAgain,
        Self::Corrected,
        Self::Reopened,
    ];

    /// The name in metrics, reports and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadAgain => "read_again",
            Self::SearchedAgain => "searched_again",
            Self::FailedAgain => "failed_again",
            Self::Corrected => "corrected",
            Self::Reopened => "reopened",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The newest place of what was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastSeen {
    /// This turn, counted from 1.
    Turn(usize),
    /// Some of the turns that are not shown.
    Hidden,
    /// The conversation before the client's own compaction.
    Before,
}

/// Something that was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regret {
    /// The kind.
    pub kind: Kind,
    /// Its place.
    pub place: LastSeen,
}

/// The turns that the model did not see when it acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// The number of turns that are not shown.
    pub turns: usize,
    /// Tool results among the first so many turns are not shown either.
    pub results: usize,
}

/// The model's view when it acted.
pub trait Sight {
    /// The turns that it did not see.
    fn hidden(&self) -> Hidden;

    /// Returns true if an identifier stood in what it saw.
    fn shows(&self, identifier: &str) -> bool;

    /// Returns true if an identifier stands in the hidden turns.
    fn hides(&self, identifier: &str) -> bool;

    /// The texts in front of the turns that it saw: the summary, pins.
    fn front(&self) -> Vec<&str>;

    /// Returns true for the tools by which an agent gets back what it cannot see.
    fn is_way_back(&self, tool: &str) -> bool {
        let _ = tool;
        false
    }
}

/// The bits of a key that say its sort.
const SORTS: u32 = 7;

/// The sort of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A file or a part of one, as the model read or wrote it.
    Read,
    /// A file that was changed.
    Changed,
    /// An identifier that was searched for.
    Searched,
    /// A command whose last run failed.
    Failed,
    /// A task that is closed.
    Closed,
    /// A message of the user.
    Message,
}

impl Sort {
    /// The fingerprint with the sort in its lowest bits.
    const fn key(self, print: u32) -> u32 {
        (print & !SORTS) | self as u32
    }
}

/// A fingerprint with the newest place of what it stands for. Places count turns from 1; 0 is the conversation
/// before.
#[derive(Clone, Copy, Debug)]
struct Trace {
    key: u32,
    place: u32,
}

/// The fingerprints of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The newest last.
    traces: Vec<Trace>,
    spoken: Spoken,
    /// The place of the newest change of a file.
    changed: u32,
}

impl Trail {
    /// Takes turns, the first of which has this index, and gives what was missed in them. Without a `sight`
    /// nothing is: the turns are only remembered.
    pub fn take(&mut self, first: usize, turns: &[Turn], sight: Option<&dyn Sight>) -> Vec<Regret> {
        let mut missed = Vec::new();
        let mut steps = steps(turns).into_iter().peekable();
        for (index, turn) in turns.iter().enumerate() {
            let at = place(first + index + 1);
            while let Some(step) = steps.next_if(|step| step.turn == index) {
                if sight.is_some_and(|sight| sight.is_way_back(&step.call.name)) {
                    continue;
                }
                for deed in deeds(&step) {
                    missed.extend(self.done(&deed, at, sight));
                }
            }
            if turn.role() == Role::User {
                missed.extend(self.heard(turn, at, sight));
            }
        }
        missed
    }

    /// Takes in one deed.
    fn done(&mut self, deed: &Deed, at: u32, sight: Option<&dyn Sight>) -> Option<Regret> {
        let hidden = sight.map(|sight| sight.hidden());
        match deed {
            Deed::Read { file, part, whole } => self.read(*file, (*part, *whole), at, hidden),
            Deed::Wrote { file, whole } => {
                self.changed = at;
                self.remember(Sort::Changed, *file, at);
                if let Some(whole) = whole {
                    self.remember(Sort::Read, *whole, at);
                }
                None
            }
            Deed::Searched(words) => self.searched(words, at, sight),
            Deed::Failed(command, line) => {
                let before = self.newest(Sort::Failed, &[*command]);
                self.remember(Sort::Failed, *command, at);
                let before = before.filter(|&before| self.changed <= before);
                let missed = lost(Kind::FailedAgain, before, hidden.map(|it| it.results));
                missed.filter(|_| !is_in_front(sight, line))
            }
            Deed::Worked(command) => {
                self.forget(Sort::Failed, *command);
                None
            }
            Deed::Closed(task) => {
                self.remember(Sort::Closed, *task, at);
                None
            }
            Deed::Opened(task, text) => {
                let closed = self.newest(Sort::Closed, &[*task]);
                self.forget(Sort::Closed, *task);
                let missed = lost(Kind::Reopened, closed, hidden.map(|it| it.turns));
                missed.filter(|_| !is_in_front(sight, text))
            }
        }
    }

    /// Takes in the reading of a file or a part of it.
    fn read(
        &mut self,
        file: u32,
        (part, whole): (u32, u32),
        at: u32,
        hidden: Option<Hidden>,
    ) -> Option<Regret> {
        let seen = self.newest(Sort::Read, &[part, whole]);
        let changed = self.newest(Sort::Changed, &[file]);
        self.remember(Sort::Read, part, at);
        // A change that is in sight shows what the file says by now.
        let is_told = hidden
            .zip(changed)
            .is_some_and(|(hidden, changed)| changed > place(hidden.turns));
        let seen = seen.filter(|_| !is_told);
        lost(Kind::ReadAgain, seen, hidden.map(|it| it.results))
    }

    /// Takes in a search.
    fn searched(&mut self, words: &[String], at: u32, sight: Option<&dyn Sight>) -> Option<Regret> {
        let mut missed = None;
        for word in words {
            let print = deeds::print(&[word]);
            let before = self.newest(Sort::Searched, &[print]);
            self.remember(Sort::Searched, print, at);
            let Some(sight) = sight.filter(|_| missed.is_none()) else {
                continue;
            };
            let hidden = sight.hidden().results;
            let again = lost(Kind::SearchedAgain, before, Some(hidden));
            // An identifier whose search is in sight was found.
            let is_open = before.is_none() || again.is_some();
            let is_hidden = hidden > 0 || again.is_some();
            if is_open && is_hidden && !sight.shows(word) {
                let told = Regret {
                    kind: Kind::SearchedAgain,
                    place: LastSeen::Hidden,
                };
                missed = again.or_else(|| sight.hides(word).then_some(told));
            }
        }
        missed
    }

    /// Takes in a message of the user.
    fn heard(&mut self, turn: &Turn, at: u32, sight: Option<&dyn Sight>) -> Option<Regret> {
        let lines: Vec<&str> = crate::spoken::lines(turn).collect();
        if lines.is_empty() {
            return None;
        }
        let whole = deeds::print(&lines);
        // A message that is sent again as it was is a habit or a program.
        let is_habit = self.newest(Sort::Message, &[whole]).is_some();
        self.remember(Sort::Message, whole, at);
        self.keep_newest(Sort::Message, MESSAGES);
        if is_habit {
            return None;
        }
        let missed = self.spoken.take(&lines, at, sight)?;
        Some(Regret {
            kind: Kind::Corrected,
            place: placed(missed),
        })
    }

    /// The newest place of any of these.
    fn newest(&self, sort: Sort, prints: &[u32]) -> Option<u32> {
        let wanted = |trace: &Trace| prints.iter().any(|&it| sort.key(it) == trace.key);
        let newest = self.traces.iter().rfind(|trace| wanted(trace));
        newest.map(|trace| trace.place)
    }

    fn forget(&mut self, sort: Sort, print: u32) {
        let key = sort.key(print);
        let is_it = |trace: &Trace| trace.key == key;
        if let Some(at) = self.traces.iter().rposition(is_it) {
            self.traces.remove(at);
        }
    }

    /// Forgets all of a sort but the newest.
    fn keep_newest(&mut self, sort: Sort, most: usize) {
        let of_sort = |trace: &&Trace| trace.key & SORTS == sort as u32;
        let mut beyond = self
            .traces
            .iter()
            .filter(of_sort)
            .count()
            .saturating_sub(most);
        self.traces.retain(|trace| {
            let goes = beyond > 0 && of_sort(&trace);
            beyond -= usize::from(goes);
            !goes
        });
    }

    fn remember(&mut self, sort: Sort, print: u32, place: u32) {
        self.forget(sort, print);
        if self.traces.len() >= MOST {
            // Some at once: each removal moves all others.
            self.traces.drain(..MOST / 8);
        }
        let key = sort.key(print);
        self.traces.push(Trace { key, place });
    }

    /// The trail of a conversation that goes on from this one after the client's own compaction, which hid
    /// everything.
    #[must_use]
    pub fn behind(&self) -> Self {
        let mut out = self.clone();
        out.traces.iter_mut().for_each(|trace| trace.place = 0);
        out.spoken.put_behind();
        out.changed = 0;
        out
    }

    /// Forgets what was done in this conversation; what was done in the one before stays.
    pub fn go_back(&mut self) {
        self.traces.retain(|trace| trace.place == 0);
        self.spoken.go_back();
        self.changed = 0;
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.traces.capacity() * size_of::<Trace>() + self.spoken.bytes()
    }

    /// Lets go of memory that is held for turns to come.
    pub fn shrink_to_fit(&mut self) {
        self.traces.shrink_to_fit();
        self.spoken.shrink_to_fit();
    }
}

/// The regret over something whose newest place lies among the first `hidden` turns. `None` for `hidden`: nothing
/// is missed.
fn lost(kind: Kind, newest: Option<u32>, hidden: Option<usize>) -> Option<Regret> {
    let (newest, hidden) = newest.zip(hidden)?;
    (newest <= place(hidden)).then(|| Regret {
        kind,
        place: placed(newest),
    })
}

/// Returns true if a text in front says this.
fn is_in_front(sight: Option<&dyn Sight>, text: &str) -> bool {
    let front = sight.map(Sight::front).unwrap_or_default();
    !text.is_empty() && front.iter().any(|front| front.contains(text))
}

fn placed(place: u32) -> LastSeen {
    match place {
        0 => LastSeen::Before,
        turn => LastSeen::Turn(turn as usize),
    }
}

/// A place as it is kept.
fn place(turn: usize) -> u32 {
    u32::try_from(turn).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
