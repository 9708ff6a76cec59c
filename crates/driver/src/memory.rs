//! The memory of an agent: the transcript, and the part of it that the agent is shown.
//!
//! The transcript is a [`ContextWindow`] to which turns are only added. The agent sees the end of it, behind
//! its pins, its summary and the turns that a command may have put there. A command that takes turns out of
//! view moves the place where the shown part begins; it destroys nothing, so every summary can be made from
//! the original turns.
//!
//! A mark is a position in the window: everything up to that turn. So a memory that was made from a dump can
//! be put back while the agent has gone on: the turns after the mark stay as they are.
//!
//! The window's own compaction ([`context::projector`]) and its [`Archive`](context::archive::Archive) do not
//! fit. The projector chooses by class which turns leave, and works once on a window that shows everything; a
//! command names a place, any number of times, and brings the summary from elsewhere. And since no turn leaves
//! the window, an archive would hold each a second time.

mod cut;
mod json;
mod originals;
mod state;

use std::sync::Arc;

use context::pin::{Directive, Origin, PinError, Pins, Subject};
use context::window::ContextWindow;
use context::{Heuristic, Part, Provenance, Role, Text, Tokens, Turn, TurnDraft, TurnId};
use plumb::value::Value;

pub(crate) use cut::Stays;
pub(crate) use json::record;
pub(crate) use originals::{Dumps, InFull, Originals, summed_up};
pub(crate) use state::SavedMemory;

/// The memory of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Every turn that was said.
    window: ContextWindow,
    /// The number of its turns that are out of view.
    hidden: usize,
    /// Turns that a replacement put before the shown ones, and that were never said in these words.
    front: Vec<Turn>,
    /// Such turns that are out of view again.
    past: Vec<Past>,
    /// The summary of the turns that are out of view.
    summary: Option<Arc<str>>,
    /// A summary that came for no turn of the window, as that from another agent does. It stands for turns that nothing else has.
    founding: Option<Arc<str>>,
    pins: Pins,
    /// The difference between a mark and its position. It is above 0 if a replacement brought more turns
    /// than had been said, as that from another agent can; the turns of a front count backwards from its end.
    seeded: usize,
    /// The mark that was given last.
    marked: usize,
    prepared: Option<Value>,
    compactions: u32,
}

/// Turns of a replacement that are out of view.
#[derive(Clone, Debug, PartialEq)]
struct Past {
    /// The position in the window before which they stood.
    at: usize,
    turns: Vec<Turn>,
}

/// The place that a mark names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkPosition {
    /// A position in the window.
    Said(usize),
    /// After so many turns of the front.
    Front(usize),
}

/// The number of turns before and after a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// The number of turns before.
    pub before: usize,
    /// The number of turns after.
    pub after: usize,
}

impl Memory {
    /// An empty memory of an agent with a window of this size.
    pub fn new(limit: Tokens) -> Self {
        Self {
            window: ContextWindow::new(limit),
            hidden: 0,
            front: Vec::new(),
            past: Vec::new(),
            summary: None,
            founding: None,
            pins: Pins::default(),
            seeded: 0,
            marked: 0,
            prepared: None,
            compactions: 0,
        }
    }

    /// The number of replacements so far.
    pub const fn compactions(&self) -> u32 {
        self.compactions
    }

    /// The texts of the pins.
    pub fn pins(&self) -> impl Iterator<Item = &str> {
        self.pins.iter().map(|pin| pin.text.as_str())
    }

    /// Adds turns.
    pub fn remember(&mut self, drafts: impl IntoIterator<Item = TurnDraft>) {
        for draft in drafts {
            self.window = self.window.append(draft, &Heuristic);
        }
    }

    /// Takes the oldest turns out of view until there are at most so many, whole exchanges each.
    pub fn keep(&mut self, most: usize) {
        if self.len() > most {
            let cut = self.cut(Stays::Turns(most));
            self.hide(cut);
        }
    }

    /// The turns that the agent is shown: pins, summary, remaining turns.
    pub fn view(&self) -> Vec<TurnDraft> {
        let pins = self.pins.turn();
        let summary = self.summary.as_deref().map(|summary| {
            let text = if context::summary::is_summary(summary) {
                summary.to_owned()
            } else {
                format!("[summary of the conversation so far]\n{summary}\n[end of the summary]")
            };
            user(&text).from_provenance(Provenance::Summary)
        });
        let shown = self.shown().map(Turn::draft);
        pins.into_iter().chain(summary).chain(shown).collect()
    }

    /// Dumps the memory as a message, marked at its end or before the turns that stay verbatim. These are
    /// whole exchanges: they begin with a message to the agent.
    pub fn dump(&mut self, stays: Stays) -> Value {
        let cut = self.cut(stays);
        self.marked = (self.hidden + self.seeded + cut).saturating_sub(self.front.len());
        let drafts = self.shown().take(cut).map(Turn::draft);
        let pins = self.pins().map(Value::from).collect();
        json::memory(self.marked, drafts, pins, self.summary.as_deref())
    }

    /// The turns in view, in order.
    fn shown(&self) -> impl Iterator<Item = &Turn> {
        self.front
            .iter()
            .chain(self.window.turns().skip(self.hidden))
    }

    /// The number of turns in view.
    fn len(&self) -> usize {
        self.front.len() + self.window.len().saturating_sub(self.hidden)
    }

    /// The number of shown turns before those that stay.
    fn cut(&self, stays: Stays) -> usize {
        let shown: Vec<Turn> = self.shown().cloned().collect();
        stays.cut(&shown)
    }

    /// Takes the first turns out of view.
    fn hide(&mut self, count: usize) {
        let of_front = count.min(self.front.len());
        let gone: Vec<Turn> = self.front.drain(..of_front).collect();
        self.shelve(gone);
        self.hidden += count - of_front;
    }

    /// Keeps turns that were put before the shown ones, when they leave the view.
    fn shelve(&mut self, turns: Vec<Turn>) {
        let past = Past {
            at: self.hidden,
            turns,
        };
        if !past.turns.is_empty() && !self.past.contains(&past) {
            self.past.push(past);
        }
    }

    /// The place of a mark; of one that counts more turns than there are, the end.
    fn place(&self, mark: usize) -> MarkPosition {
        let end = self.hidden + self.seeded;
        let covered = (mark + self.front.len()).checked_sub(end);
        match covered {
            Some(turns) if turns < self.front.len() => MarkPosition::Front(turns),
            _ => MarkPosition::Said(mark.saturating_sub(self.seeded).min(self.window.len())),
        }
    }

    /// Replaces everything up to a memory's mark by the memory. A mark that cannot have been given (a model
    /// wrote it) is taken for the one that was given last. Pins stay, whether the memory has them or not: only
    /// [`Memory::unpin`] removes them.
    ///
    /// # Errors
    /// If a turn of it cannot be read or a text not be pinned, as a phrase. Then nothing is changed.
    pub fn replace(&mut self, memory: &Value) -> Result<Replaced, String> {
        let said = self.window.len() + self.seeded;
        let mark = json::mark(memory).filter(|mark| *mark <= said);
        let place = self.place(mark.unwrap_or(self.marked));
        let values = json::turns(memory);
        let turns = placed(json::drafts(&values)?);
        self.pins = self.with_pins(memory).map_err(|error| coded(&error))?;

        let (before, brought) = (self.len(), turns.len());
        let old = match place {
            MarkPosition::Front(covered) => covered,
            MarkPosition::Said(position) => {
                (position + self.front.len()).saturating_sub(self.hidden)
            }
        };
        let later = self.move_to(place);
        self.front = turns;
        if later.is_empty() {
            self.recognize(&values);
        }
        self.front.extend(later);
        // A front that comes back as it was has not left the view.
        let back = Past {
            at: self.hidden,
            turns: self.front.clone(),
        };
        self.past.retain(|past| *past != back);
        let short = self.front.len().saturating_sub(self.hidden + self.seeded);
        self.seeded += short;
        self.marked += short;
        self.summary = json::summary(memory);
        if self.window.is_empty() || place == MarkPosition::Said(0) {
            self.founding.clone_from(&self.summary);
        }
        if old > brought {
            self.compactions += 1;
        }
        Ok(Replaced {
            before,
            after: self.len(),
        })
    }

    /// Lets the shown part begin at a place, without a front. Gives the turns of the old one that stood after
    /// the place.
    fn move_to(&mut self, place: MarkPosition) -> Vec<Turn> {
        let mut gone = std::mem::take(&mut self.front);
        let later = match place {
            MarkPosition::Front(covered) => gone.split_off(covered),
            MarkPosition::Said(_) => Vec::new(),
        };
        self.shelve(gone);
        if let MarkPosition::Said(position) = place {
            self.hidden = position;
        }
        later
    }

    /// Shows turns of the window again that a replacement brings back as they were dumped, so that they keep
    /// what a dump does not hold.
    fn recognize(&mut self, brought: &[Value]) {
        for value in brought.iter().rev() {
            let original = self.window.peek(self.hidden);
            let same = |turn: &Turn| {
                let draft = turn.draft();
                json::turn(&draft) == *value || json::turn(&without_note(draft)) == *value
            };
            if !original.is_some_and(same) {
                return;
            }
            self.front.pop();
            self.hidden -= 1;
        }
    }

    /// The pins, with those of a memory. Its writer may be a model, so they are pinned as the agent's.
    fn with_pins(&self, memory: &Value) -> Result<Pins, PinError> {
        let mut pins = self.pins.clone();
        for text in json::pinned(memory).iter().map(shown) {
            if !text.trim().is_empty() {
                pins.add(&text, Origin::Agent, None, &Heuristic)?;
            }
        }
        Ok(pins)
    }

    /// Keeps a memory for a later [`Memory::swap`].
    pub fn prepare(&mut self, memory: Value) {
        self.prepared = Some(memory);
    }

    /// Puts the prepared memory in place.
    ///
    /// # Errors
    /// If nothing is prepared, or it cannot be read, as a phrase.
    pub fn swap(&mut self) -> Result<Replaced, String> {
        let prepared = self.prepared.take().ok_or("nothing is prepared")?;
        self.replace(&prepared)
    }

    /// Keeps a text, or what a handle names, in front of everything, whatever becomes of the rest.
    ///
    /// # Errors
    /// If there is no such turn, or a limit of the pins would be passed, as a phrase with its code.
    pub fn pin(&mut self, named: &Value) -> Result<(), String> {
        let text = self.named(named);
        let added = text.and_then(|text| self.pins.add(&text, Origin::Api, None, &Heuristic));
        added.map(|_| ()).map_err(|error| coded(&error))
    }

    /// The text that a value of a program is, or that its handle names among all turns of the agent.
    fn named(&self, named: &Value) -> Result<String, PinError> {
        match Subject::named(&shown(named)) {
            Subject::Text(text) => Ok(text),
            subject => {
                let turns: Vec<Turn> = self.window.turns().cloned().collect();
                subject.text(&turns)
            }
        }
    }

    /// Unpins a text, what a handle names, or a pin by its id.
    ///
    /// # Errors
    /// If it was not pinned, as a phrase.
    pub fn unpin(&mut self, named: &Value) -> Result<(), String> {
        // A handle of a turn that is not there names no pin either.
        let text = self.named(named).unwrap_or_default();
        let directive = Directive::Unpin(text.into());
        let gone = self.pins.obey(&directive, None, &Heuristic);
        gone.map(|_| ()).map_err(|error| match error {
            PinError::Unknown => "this text is not pinned".to_owned(),
            other => coded(&other),
        })
    }

    /// The turns that the newest mark stands for.
    pub fn originals(&self) -> Originals {
        let (position, covered) = match self.place(self.marked) {
            MarkPosition::Front(covered) => (self.hidden, covered),
            MarkPosition::Said(position) => (position.max(self.hidden), self.front.len()),
        };
        let mut hidden: Vec<&Turn> = Vec::new();
        for (at, turn) in self.window.turns().take(self.hidden).enumerate() {
            hidden.extend(self.past_at(at));
            hidden.push(turn);
        }
        hidden.extend(self.past_at(self.hidden));
        let of_front = self.front.iter().take(covered);
        let said = self.window.turns().skip(self.hidden);
        let shown = of_front.chain(said.take(position - self.hidden));
        let tail = self.front.iter().skip(covered);
        let tail = tail.chain(self.window.turns().skip(position));
        Originals::new(hidden, shown, tail, self.founding.clone())
    }

    fn past_at(&self, position: usize) -> impl Iterator<Item = &Turn> {
        let here = self.past.iter().filter(move |past| past.at == position);
        here.flat_map(|past| &past.turns)
    }
}

/// Turns one after the other, counted.
fn placed(drafts: impl IntoIterator<Item = TurnDraft>) -> Vec<Turn> {
    let place = |parent: &mut TurnId, draft: TurnDraft| {
        let turn = draft.after(*parent, &Heuristic);
        *parent = turn.id();
        Some(turn)
    };
    drafts.into_iter().scan(TurnId::ROOT, place).collect()
}

/// A turn without the note about the agent's memory that came with the message: it was true only then.
fn without_note(mut draft: TurnDraft) -> TurnDraft {
    draft.parts.retain(|part| match part {
        Part::Text(text) => !context::note::is_note(text),
        _ => true,
    });
    draft
}

/// An error of the pins as the reason of a refusal.
fn coded(error: &PinError) -> String {
    use context::coded::Coded;
    format!("{error} ({})", error.code())
}

/// A message to the agent.
pub(crate) fn user(text: &str) -> TurnDraft {
    TurnDraft::said(Role::User, vec![Part::Text(Text::from(text))])
}

/// A value as it is shown to an agent: a string as it is, anything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
