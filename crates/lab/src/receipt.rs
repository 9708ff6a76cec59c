//! The worth of a receipt: of what the agent needed later and could no longer see, the share that its first entries
//! name.
//!
//! Sessions are cut where the product compacted them, and at every 30,000 tokens. *Needed* are identifiers, by the
//! rules of [`crate::recall`], and decisions: entries of the kinds constraint, decision and open task most of whose
//! words the agent writes in one line of its next 40 messages. Names of tools and of their arguments are never lost:
//! the model has them from the tools' definitions. An entry that the summary or the tail says is not lost. An
//! identifier is held where an entry names it.

use std::collections::{BTreeMap, HashSet};

use context::extract::extract;
use context::extract::receipt::{Kind, Loss, Receipt};
use context::identifiers::mentions;
use context::{Role, TokenCounter, Tokens, Turn};
use serde::Serialize;
use wire::session::Session;

use crate::recall::{Cut, Needed, Rules, needed_later};

/// The entries that a person reads.
pub const FIRST: usize = 20;
/// A session is cut every so many tokens.
const EVERY: u64 = 30_000;
/// The most cuts of a session.
const MOST: u64 = 20;
/// The fewest words of a decision that can be said again.
const WORDS: usize = 4;
/// The share of a decision's words that one line of the agent must have.
const SAID: f64 = 0.6;

/// The summary beside which something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// The product's own, in its place.
    Product,
    /// An extractive one of the same size, in the same place.
    SameSize,
    /// An extractive one of 2,000 tokens at every 30,000, with the newest 8,000 verbatim.
    Fixed,
}

impl Beside {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Product => "the product's summaries",
            Self::SameSize => "ours, of the same size",
            Self::Fixed => "ours, 2,000 tokens every 30,000",
        }
    }
}

/// The needed and lost items, and the share that lists of [`FIRST`] entries hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Worth {
    /// The number of places.
    pub places: usize,
    /// Needed identifiers and decisions that the model could no longer see.
    pub needed: usize,
    /// Of these, identifiers.
    pub identifiers: usize,
    /// Of the needed, those that the first entries of the receipt hold.
    pub held: usize,
    /// Of the needed, those that the newest entries hold.
    pub held_newest: usize,
}

impl Worth {
    /// The share that the receipt holds, 0 to 1; `None` where nothing was needed.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.needed > 0).then(|| self.held as f64 / self.needed as f64)
    }

    /// The share that the newest entries hold.
    #[must_use]
    pub fn newest_share(&self) -> Option<f64> {
        (self.needed > 0).then(|| self.held_newest as f64 / self.needed as f64)
    }

    fn add(&mut self, other: Self) {
        self.places += other.places;
        self.needed += other.needed;
        self.identifiers += other.identifiers;
        self.held += other.held;
        self.held_newest += other.held_newest;
    }
}

/// Measures sessions: a row for each kind of summary.
#[must_use]
pub fn measure(sessions: &[Session], counter: &dyn TokenCounter) -> BTreeMap<Beside, Worth> {
    let mut rows: BTreeMap<Beside, Worth> = BTreeMap::new();
    for session in sessions {
        for (beside, worth) in places(session, counter) {
            rows.entry(beside).or_default().add(worth);
        }
    }
    rows
}

/// The worth at each place of a session.
#[must_use]
pub fn places(session: &Session, counter: &dyn TokenCounter) -> Vec<(Beside, Worth)> {
    let tail = Tokens::new(8_000);
    let sizes = (1..=MOST).map(|step| Tokens::new(step * EVERY));
    let cuts = sizes.map_while(|size| Cut::at_tokens(&session.turns, size, tail));
    let mut out: Vec<(Beside, Worth)> = cuts
        .map(|cut| {
            let front = extract(cut.old, cut.tail, Tokens::new(2_000), counter).render();
            (Beside::Fixed, worth(&cut, &front))
        })
        .collect();
    for compaction in &session.compactions {
        let cut = Cut::before(&session.turns, compaction.before, Tokens::ZERO);
        out.push((Beside::Product, worth(&cut, &compaction.summary)));
        let budget = counter.count(&compaction.summary);
        let front = extract(cut.old, cut.tail, budget, counter).render();
        out.push((Beside::SameSize, worth(&cut, &front)));
    }
    out
}

/// The worth of one receipt.
fn worth(cut: &Cut<'_>, front: &str) -> Worth {
    let rules = Rules::default();
    let mut needed = needed_later(cut, rules);
    let tools = of_tools(cut);
    needed.retain(|it| !mentions(front, &it.text) && !tools.contains(&it.text));
    let receipt = Receipt::of(cut.old, cut.tail, front);
    let decisions = said_again(&receipt.lost, cut.future, rules.next);
    let mut newest: Vec<&Loss> = receipt.lost.iter().collect();
    newest.sort_by_key(|loss| std::cmp::Reverse(loss.turn));
    let first: Vec<&Loss> = receipt.lost.iter().take(FIRST).collect();
    newest.truncate(FIRST);
    let held = |list: &[&Loss]| {
        let decisions = decisions.iter().filter(|it| list.contains(*it));
        decisions.count() + named(&needed, list)
    };
    Worth {
        places: 1,
        needed: needed.len() + decisions.len(),
        identifiers: needed.len(),
        held: held(&first),
        held_newest: held(&newest),
    }
}

/// The names of tools and of their arguments, which the model has from the tools' definitions.
fn of_tools(cut: &Cut<'_>) -> HashSet<String> {
    let calls = cut.old.iter().chain(cut.future).flat_map(Turn::calls);
    let mut names = HashSet::new();
    for call in calls {
        names.insert(call.name.to_string());
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
        let mut open: Vec<serde_json::Value> = vec![arguments];
        while let Some(value) = open.pop() {
            match value {
                serde_json::Value::Object(fields) => {
                    for (name, value) in fields {
                        names.insert(name);
                        open.push(value);
                    }
                }
                serde_json::Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
    }
    names
}

/// The number of identifiers that a list names.
fn named(needed: &[Needed], list: &[&Loss]) -> usize {
    let is_named = |it: &&Needed| list.iter().any(|loss| mentions(&loss.text, &it.text));
    needed.iter().filter(is_named).count()
}

/// The decisions that the agent goes on to say.
fn said_again<'l>(lost: &'l [Loss], future: &[Turn], next: usize) -> Vec<&'l Loss> {
    let said = future.iter().take(next);
    let said = said.filter(|turn| turn.role() == Role::Assistant);
    let texts: Vec<&str> = said.flat_map(Turn::texts).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let lines: Vec<HashSet<String>> = lines.map(words).collect();
    let decides = |loss: &&Loss| {
        matches!(
            loss.kind,
            Kind::Constraint | Kind::Decision | Kind::OpenTask
        )
    };
    let decided = lost.iter().filter(decides);
    decided
        .filter(|loss| {
            let wanted = words(&loss.text);
            let most = lines.iter().map(|line| line.intersection(&wanted).count());
            let most = most.max().unwrap_or(0);
            wanted.len() >= WORDS && most as f64 >= wanted.len() as f64 * SAID
        })
        .collect()
}

/// The longer words of a text.
fn words(text: &str) -> HashSet<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.chars().count() >= 4)
        .map(str::to_lowercase)
        .collect()
}
