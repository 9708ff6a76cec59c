//! Regret over recorded sessions: what the recorded agent did again, and which view had hidden it.
//!
//! The rules are [`context::regret`]'s. A recorded agent does not react to a view that it never had, so there are
//! three kinds of figures:
//!
//! | way | the agent acted on | the figures say |
//! |---|---|---|
//! | `product` | the product's own compaction | what the agent missed |
//! | `same_size`, `prepared` | the product's own compaction | of that, what our view in the same place would not have shown either |
//! | `habit` | everything: nothing was lost | what agents do again anyway, counted as if all before the place were hidden |
//!
//! The first [`STEPS`] steps after each place count.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use context::extract::extract;
use context::identifiers::{mentions, unescaped};
use context::regret::{Hidden, Kind, Sight, Trail};
use context::{Role, TokenCounter, Tokens, Turn};
use serde::Serialize;
use wire::session::Session;

use crate::recall::Cut;

/// The steps of the agent after a place that count.
pub const STEPS: usize = 40;

/// The steps of the agent before the first place at which a habit is counted.
const FIRST: usize = 60;

/// The newest turns that `prepared` keeps verbatim: a tenth of a window of 200,000 tokens.
pub const TAIL: Tokens = Tokens::new(20_000);

/// The counts of work done again, over so many steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Regret {
    /// Steps of the agent with something out of sight.
    pub steps: usize,
    /// Files read again.
    pub read_again: usize,
    /// Searches for identifiers that had been told.
    pub searched_again: usize,
    /// Commands that failed again.
    pub failed_again: usize,
    /// Sentences that the user said again.
    pub corrected: usize,
    /// Closed tasks that were opened again.
    pub reopened: usize,
}

impl Regret {
    /// Counts one.
    pub fn add(&mut self, kind: Kind) {
        *match kind {
            Kind::ReadAgain => &mut self.read_again,
            Kind::SearchedAgain => &mut self.searched_again,
            Kind::FailedAgain => &mut self.failed_again,
            Kind::Corrected => &mut self.corrected,
            Kind::Reopened => &mut self.reopened,
        } += 1;
    }

    /// All of them.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.read_again + self.searched_again + self.failed_again + self.corrected + self.reopened
    }

    /// A count for each hundred steps; `None` without steps.
    #[must_use]
    pub fn per_hundred(&self, count: usize) -> Option<f64> {
        (self.steps > 0).then(|| 100.0 * count as f64 / self.steps as f64)
    }
}

impl Regret {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Regret {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.read_again += other.read_again;
        self.searched_again += other.searched_again;
        self.failed_again += other.failed_again;
        self.corrected += other.corrected;
        self.reopened += other.reopened;
    }
}

/// The cause that had hidden the beginning of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The product's own compaction.
    Product,
    /// An extractive summary of the same size in the same place.
    SameSize,
    /// An extractive summary of the same size, with the newest turns verbatim.
    Prepared,
    /// Nothing.
    Habit,
}

impl Way {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Product => "the product's own compaction",
            Self::SameSize => "ours, of the same size",
            Self::Prepared => "ours, newest 20,000 tokens verbatim",
            Self::Habit => "nothing hidden (habit)",
        }
    }
}

/// The regret of one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The number of places.
    pub places: usize,
    /// The work done again in the steps after them.
    pub regret: Regret,
}

/// Measures sessions: a row for each way.
#[must_use]
pub fn measure(sessions: &[Session], counter: &dyn TokenCounter) -> BTreeMap<Way, Row> {
    let mut rows: BTreeMap<Way, Row> = BTreeMap::new();
    let mut add = |way: Way, regret: Regret| {
        let row = rows.entry(way).or_default();
        row.places += 1;
        row.regret += regret;
    };
    for session in sessions {
        let said = Told::of(&session.turns);
        for (index, compaction) in session.compactions.iter().enumerate() {
            let next = session.compactions.get(index + 1);
            let end = next.map_or(session.turns.len(), |next| next.before);
            let size = counter.count(&compaction.summary);
            for way in [Way::Product, Way::SameSize, Way::Prepared] {
                let view = View::of(way, session, (compaction.before, size), counter);
                let view = match way {
                    Way::Product => View {
                        front: compaction.summary.to_string(),
                        ..view
                    },
                    _ => view,
                };
                add(way, said.after(&view, end));
            }
        }
        let first = session.compactions.first();
        let whole = first.map_or(session.turns.len(), |first| first.before);
        for at in said.habits(whole) {
            let view = View {
                at,
                from: at,
                front: String::new(),
            };
            add(Way::Habit, said.after(&view, whole));
        }
    }
    rows
}

/// A view from one place on.
struct View {
    /// The number of turns before the place.
    at: usize,
    /// The first turn that is shown.
    from: usize,
    /// The text in front.
    front: String,
}

impl View {
    /// The view that a way makes of the turns before `at`, with a summary of this size.
    fn of(
        way: Way,
        session: &Session,
        (at, size): (usize, Tokens),
        counter: &dyn TokenCounter,
    ) -> Self {
        let tail = match way {
            Way::Prepared => TAIL,
            Way::Product | Way::SameSize | Way::Habit => Tokens::ZERO,
        };
        let cut = Cut::before(&session.turns, at, tail);
        let front = match way {
            Way::SameSize | Way::Prepared => extract(cut.old, cut.tail, size, counter).render(),
            Way::Product | Way::Habit => String::new(),
        };
        Self {
            at,
            from: cut.old.len(),
            front,
        }
    }
}

/// A session with its words.
struct Told<'a> {
    turns: &'a [Turn],
    texts: Vec<String>,
}

/// The model's view before one step.
struct Saw<'a> {
    told: &'a Told<'a>,
    view: &'a View,
    /// The number of turns said by then.
    len: usize,
}

impl Sight for Saw<'_> {
    fn hidden(&self) -> Hidden {
        Hidden {
            turns: self.view.from,
            results: self.view.from,
        }
    }

    fn shows(&self, identifier: &str) -> bool {
        let seen = self.told.texts.get(self.view.from..self.len);
        let mut seen = seen.unwrap_or_default().iter().rev();
        mentions(&self.view.front, identifier) || seen.any(|text| mentions(text, identifier))
    }

    fn hides(&self, identifier: &str) -> bool {
        let hidden = self.told.texts.get(..self.view.from);
        let mut hidden = hidden.unwrap_or_default().iter();
        hidden.any(|text| mentions(text, identifier))
    }

    fn front(&self) -> Vec<&str> {
        vec![&self.view.front]
    }
}

impl<'a> Told<'a> {
    fn of(turns: &'a [Turn]) -> Self {
        let text = |turn: &Turn| unescaped(&turn.readable()).into_owned();
        Self {
            turns,
            texts: turns.iter().map(text).collect(),
        }
    }

    /// The places of the agent's turns.
    fn steps(&self) -> impl Iterator<Item = usize> {
        let turns = self.turns.iter().enumerate();
        turns
            .filter(|(_, turn)| turn.role() == Role::Assistant)
            .map(|(index, _)| index)
    }

    /// The places at which habits are counted, among the first `whole` turns.
    fn habits(&self, whole: usize) -> Vec<usize> {
        let steps = self.steps().take_while(|&index| index < whole);
        steps.skip(FIRST).step_by(STEPS).collect()
    }

    /// The work done again in the steps after a place and before `end`.
    fn after(&self, view: &View, end: usize) -> Regret {
        let mut regret = Regret::default();
        let mut trail = Trail::default();
        let steps: Vec<usize> = self.steps().filter(|&step| step >= view.at).collect();
        let first = steps.first().copied().unwrap_or(end).min(end);
        trail.take(0, self.turns.get(..first).unwrap_or_default(), None);
        let counted = steps.iter().take_while(|&&step| step < end).take(STEPS);
        for (number, &step) in counted.enumerate() {
            let next = steps.get(number + 1).copied().unwrap_or(end).min(end);
            let new = self.turns.get(step..next).unwrap_or_default();
            let saw = Saw {
                told: self,
                view,
                len: step,
            };
            regret.steps += 1;
            for missed in trail.take(step, new, Some(&saw)) {
                regret.add(missed.kind);
            }
        }
        regret
    }
}

#[cfg(test)]
mod tests {
    use context::turn::{CallId, Outcome, ToolCall, ToolResult};
    use context::{Heuristic, Part, Role, Text, Turn, TurnDraft, TurnId};
    use wire::session::{Compaction, Format, Session};

    use super::{FIRST, Way, measure};

    /// A step that reads a file.
    fn read(file: usize) -> [Turn; 2] {
        let call = CallId::from("c");
        let asked = Part::Call(ToolCall {
            id: call.clone(),
            name: "Read".into(),
            arguments: format!(r#"{{"path":"src/file_{file}.rs"}}"#).into(),
        });
        let said = Part::Result(ToolResult {
            call,
            text: "fn main() {}".into(),
            outcome: Outcome::Succeeded,
        });
        [(Role::Assistant, asked), (Role::Tool, said)]
            .map(|(role, part)| TurnDraft::said(role, vec![part]).after(TurnId::ROOT, &Heuristic))
    }

    fn session(files: impl Iterator<Item = usize>, compacted: &[usize]) -> Session {
        let compaction = |&before: &usize| Compaction {
            before,
            tokens_before: None,
            summary: Text::from("Some files were read."),
            by_hand: false,
        };
        Session {
            format: Format::ClaudeCode,
            title: "a session".to_owned(),
            name: None,
            folder: None,
            model: None,
            turns: files.flat_map(read).collect(),
            compactions: compacted.iter().map(compaction).collect(),
            window: None,
            usage: Vec::new(),
            problems: Vec::new(),
        }
    }

    #[test]
    fn what_the_product_hid_is_counted_and_what_we_still_show_is_not() {
        // Ten files, the compaction, and two of the newest of them again.
        let session = session((0..10).chain([8, 9, 20]), &[20]);
        let rows = measure(&[session], &Heuristic);
        let row = |way| rows[&way].regret;
        assert_eq!(
            (row(Way::Product).steps, row(Way::Product).read_again),
            (3, 2)
        );
        assert_eq!(row(Way::SameSize).read_again, 2);
        // All of it is among the newest 20,000 tokens.
        assert_eq!(row(Way::Prepared).total(), 0);
        assert!(!rows.contains_key(&Way::Habit));
    }

    #[test]
    fn a_habit_is_what_is_done_again_in_full_sight() {
        let again = (0..FIRST).chain([0, 1, 1, 500]);
        let rows = measure(&[session(again, &[])], &Heuristic);
        let habit = rows[&Way::Habit];
        assert_eq!((habit.places, habit.regret.steps), (1, 4));
        assert_eq!(habit.regret.read_again, 2);
    }
}
