//! The choice of fragments and bare identifiers: budgeted coverage.
//!
//! Every identifier is worth its chance of being needed if it is named, and more if it stands in context; a
//! quotation that tells of the course of the work is worth something by itself. At a price per token, each
//! identifier in turn takes what gains most over its cost: nothing, its bare name, or one of its quotations,
//! whose other identifiers then need not be bought again. The caller finds the price at which the whole costs
//! the budget.

use std::collections::{HashMap, HashSet};

use super::census::{Census, Entry, Position};
use super::lines::{self, Span};
use super::source::{Origin, Piece};
use super::story::{Scene, Story};
use crate::identifiers::Kind;

/// The number of identifiers considered for each token of the budget.
const PER_TOKEN: f32 = 0.3;
/// The fewest and the most identifiers that are considered.
const MOST: (f32, f32) = (400.0, 1_200.0);
/// The separator of two bare names, in estimated tokens.
const SEPARATOR: f32 = 0.2;

/// The share of the room that is kept for statements of the assistant, which tell most to a reader, where there is
/// [`ROOMY`] room. It falls with the room: the last steps of a small summary quote statements too.
const STATEMENTS: f32 = 0.25;
/// The same for what the newest changes brought.
const SNIPPETS: f32 = 0.1;
/// Much room, in tokens.
const ROOMY: f32 = 2_500.0;
/// The worth of the identifiers in a statement, for each token of it, beside its own worth.
const NAMED: f32 = 40.0;

/// The power of its size that a statement's worth is divided by: short ones tell more in the same room, and a long one
/// tells more than a short one.
const SIZE: f32 = 0.8;

/// The value of context for an identifier, relative to being named at all. Statements and snippets have room of their
/// own and give context anyway.
const CONTEXT: f32 = 0.02;

/// An identifier that may be kept.
#[derive(Debug)]
struct Candidate {
    entry: usize,
    bare: f32,
    options: Vec<Span>,
}

/// All that can be chosen from.
#[derive(Debug)]
pub(super) struct Market {
    /// The snippets and the statements, which have room of their own.
    reserved: Vec<Span>,
    /// By falling chance.
    candidates: Vec<Candidate>,
    /// The value of each identifier of the census.
    value: Vec<f32>,
    /// For each identifier, those that it names too: a path names the paths it ends with.
    implied: Vec<Vec<usize>>,
}

/// A choice of fragments and names.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    /// Fragments, by their place.
    pub spans: Vec<Span>,
    /// Bare identifiers, as numbers in the census, by their newest place.
    pub bare: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    No,
    Named,
    InContext,
}

/// A choice being made at one price.
struct Basket<'m> {
    held: Vec<Held>,
    /// The bytes already bought of each piece.
    bought: HashMap<usize, Vec<(usize, usize)>>,
    spans: Vec<&'m Span>,
    bare: Vec<&'m Candidate>,
    cost: f32,
}

impl Market {
    /// The market for a budget of `budget` tokens. `value` is the chance of each identifier of the
    /// census; 0 for those that are not wanted. `story` are quotations that are worth something by themselves, and
    /// snippets of changes, the most wanted first.
    pub fn open(
        census: &Census<'_>,
        pieces: &[Piece<'_>],
        (mut value, (story, snippets)): (Vec<f32>, (Vec<Scene>, Vec<Span>)),
        budget: f32,
    ) -> Self {
        let known = value.len();
        let mut told = Story::default();
        let mut statements = Vec::new();
        for Scene {
            mut span,
            value: own,
            statement,
        } in story
        {
            if let Some(worth) = statement {
                let named = span
                    .members
                    .iter()
                    .filter_map(|(entry, _)| value.get(*entry));
                let named: f32 = named.sum();
                let density = (worth + NAMED * named / span.cost) / span.cost.powf(SIZE);
                statements.push((density, span.clone()));
            }
            // The content of a scene is a member like an identifier, behind those of the census.
            span.members.push((value.len(), true));
            value.push(own);
            told.add(span);
        }
        let roomy = budget * (budget / ROOMY).min(1.0);
        let mut reserved = fitting(snippets, snippet_room(budget));
        reserved.extend(best(statements, roomy * STATEMENTS));
        let worth = |entry: usize| value.get(entry).copied().unwrap_or(0.0);
        let mut ranked: Vec<usize> = (0..known)
            .filter(|&entry| worth(entry) > 0.0)
            .filter(|&entry| {
                census
                    .entries
                    .get(entry)
                    .is_some_and(|it| tells_alone(it, pieces))
            })
            .collect();
        ranked.sort_by(|&one, &other| worth(other).total_cmp(&worth(one)).then(one.cmp(&other)));
        ranked.truncate((budget * PER_TOKEN).clamp(MOST.0, MOST.1) as usize);
        let mut candidates: Vec<Candidate> = ranked
            .into_iter()
            .filter_map(|entry| {
                let text = census.entries.get(entry)?.text;
                Some(Candidate {
                    entry,
                    bare: lines::cost(text) + SEPARATOR,
                    options: lines::options(entry, census, pieces, (&value, &told)),
                })
            })
            .collect();
        candidates.extend(told.spans().filter_map(|span| {
            let (entry, _) = *span.members.last()?;
            Some(Candidate {
                entry,
                bare: f32::INFINITY,
                options: vec![span],
            })
        }));
        let implied = census
            .entries
            .iter()
            .map(|entry| {
                ends(entry.text)
                    .filter_map(|end| census.find(end))
                    .collect()
            })
            .collect();
        Self {
            reserved,
            candidates,
            value,
            implied,
        }
    }

    /// The choice where a token costs `price`, in units of value, with its estimated tokens. The
    /// lower the price, the more is chosen.
    pub fn at(&self, price: f32, census: &Census<'_>) -> (f32, Choice) {
        let basket = self.at_price(price);
        (basket.cost, basket.settle(census))
    }

    fn at_price(&self, price: f32) -> Basket<'_> {
        let mut basket = Basket {
            held: vec![Held::No; self.value.len()],
            bought: HashMap::new(),
            spans: Vec::new(),
            bare: Vec::new(),
            cost: 0.0,
        };
        for span in &self.reserved {
            basket.buy(span, basket.extra_cost(span));
            self.hold(&mut basket, &span.members);
        }
        for candidate in &self.candidates {
            if basket.holds(candidate.entry) == Held::InContext {
                continue;
            }
            let alone = [(candidate.entry, false)];
            let bare = self.gain(&basket, &alone) - price * candidate.bare;
            let best = candidate
                .options
                .iter()
                .map(|span| {
                    let cost = basket.extra_cost(span);
                    (self.gain(&basket, &span.members) - price * cost, cost, span)
                })
                .max_by(|one, other| one.0.total_cmp(&other.0));
            match best {
                Some((net, cost, span)) if net > bare.max(0.0) => {
                    basket.buy(span, cost);
                    self.hold(&mut basket, &span.members);
                }
                _ if bare > 0.0 => {
                    basket.cost += candidate.bare;
                    basket.bare.push(candidate);
                    self.hold(&mut basket, &alone);
                }
                _ => {}
            }
        }
        basket.drop_doubles();
        basket
    }

    /// The value that `members` add to the basket.
    fn gain(&self, basket: &Basket<'_>, members: &[(usize, bool)]) -> f32 {
        self.all(members)
            .map(|(entry, context)| {
                let value = self.value.get(entry).copied().unwrap_or(0.0);
                match (basket.holds(entry), context) {
                    (Held::No, true) => value * (1.0 + CONTEXT),
                    (Held::No, false) => value,
                    (Held::Named, true) => value * CONTEXT,
                    _ => 0.0,
                }
            })
            .sum()
    }

    fn hold(&self, basket: &mut Basket<'_>, members: &[(usize, bool)]) {
        for (entry, context) in self.all(members) {
            if let Some(now) = basket.held.get_mut(entry) {
                *now = (*now).max(if context {
                    Held::InContext
                } else {
                    Held::Named
                });
            }
        }
    }

    fn all<'m>(&'m self, members: &'m [(usize, bool)]) -> impl Iterator<Item = (usize, bool)> + 'm {
        members.iter().flat_map(|&(entry, context)| {
            let implied = self.implied.get(entry).map_or(&[][..], Vec::as_slice);
            std::iter::once((entry, context)).chain(implied.iter().map(move |&end| (end, context)))
        })
    }
}

impl<'m> Basket<'m> {
    fn holds(&self, entry: usize) -> Held {
        self.held.get(entry).copied().unwrap_or(Held::No)
    }

    /// The cost of a fragment beside those already bought: where it overlaps one, only its rest.
    fn extra_cost(&self, span: &Span) -> f32 {
        let length = (span.end - span.place.at).max(1);
        let bought = self.bought.get(&span.place.piece);
        let shared = bought
            .into_iter()
            .flatten()
            .map(|&(from, to)| to.min(span.end).saturating_sub(from.max(span.place.at)))
            .max()
            .unwrap_or(0);
        span.cost * (1.0 - (shared as f32 / length as f32).min(1.0))
    }

    fn buy(&mut self, span: &'m Span, cost: f32) {
        self.cost += cost;
        self.spans.push(span);
        let bought = self.bought.entry(span.place.piece).or_default();
        bought.push((span.place.at, span.end));
    }

    /// A bare name that a later fragment holds is not said twice.
    fn drop_doubles(&mut self) {
        let members = self.spans.iter().flat_map(|span| &span.members);
        let held: HashSet<usize> = members.map(|&(entry, _)| entry).collect();
        let cost = &mut self.cost;
        self.bare.retain(|candidate| {
            let keep = !held.contains(&candidate.entry);
            if !keep {
                *cost -= candidate.bare;
            }
            keep
        });
    }

    /// Puts fragments and names in the order of the conversation and joins fragments that touch.
    fn settle(mut self, census: &Census<'_>) -> Choice {
        self.spans.sort_by_key(|span| (span.place, span.end));
        let mut spans: Vec<Span> = Vec::new();
        for span in self.spans {
            match spans.last_mut() {
                Some(last)
                    if last.place.piece == span.place.piece && span.place.at <= last.end + 3 =>
                {
                    if span.end > last.end {
                        last.end = span.end;
                        last.is_cut.1 = span.is_cut.1;
                    }
                }
                _ => spans.push(span.clone()),
            }
        }
        let newest = |entry: &usize| -> Option<Position> {
            census.entries.get(*entry)?.places.last().copied()
        };
        let mut bare: Vec<usize> = self.bare.iter().map(|candidate| candidate.entry).collect();
        bare.sort_by_key(newest);
        Choice { spans, bare }
    }
}

/// The tokens that a room of so many keeps for snippets.
pub(super) fn snippet_room(room: f32) -> f32 {
    SNIPPETS * room * (room / ROOMY).min(1.0)
}

/// The spans, in their order, that fit in `room` tokens together.
fn fitting(mut spans: Vec<Span>, mut room: f32) -> Vec<Span> {
    spans.retain(|span| {
        let fits = span.cost <= room;
        room -= if fits { span.cost } else { 0.0 };
        fits
    });
    spans
}

/// The spans of the most worth that cost no more than `room` tokens together.
fn best(mut spans: Vec<(f32, Span)>, mut room: f32) -> Vec<Span> {
    spans.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut out = Vec::new();
    for (_, span) in spans {
        room -= span.cost;
        if room < 0.0 {
            break;
        }
        out.push(span);
    }
    out
}

/// Returns true if a name tells something without the words around it. A number such as `380` does not, nor does one
/// that only tools wrote and that may be the number of a line, nor a flag of one letter.
fn tells_alone(entry: &Entry<'_>, pieces: &[Piece<'_>]) -> bool {
    /// The shortest number that stands for itself, such as a port.
    const DIGITS: usize = 4;
    /// The most digits of a line's number.
    const LINE: usize = 5;
    let by = entry.by;
    let in_summary = |place: &Position| {
        let piece = pieces.get(place.piece);
        piece.is_some_and(|piece| piece.origin == Origin::Other)
    };
    let is_written = by.user + by.assistant + by.call > 0 || entry.places.iter().any(in_summary);
    let is_number = entry
        .text
        .bytes()
        .all(|it| it.is_ascii_digit() || it == b'.');
    let least = if is_written { DIGITS } else { LINE + 1 };
    let is_letter = entry.kind == Kind::Flag && entry.text.len() <= 2;
    !is_letter && (!is_number || entry.text.len() >= least)
}

/// The ends of a path: `b/c.rs` and `c.rs` for `a/b/c.rs`.
pub(super) fn ends(path: &str) -> impl Iterator<Item = &str> {
    path.char_indices()
        .filter(|&(_, letter)| letter == '/')
        .filter_map(|(at, _)| path.get(at + 1..))
        .filter(|end| !end.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::{call, placed, result};
    use crate::summary::Field;
    use crate::turn::{Outcome, Role, TurnDraft};
    use crate::units::Tokens;

    #[test]
    fn statements_have_room_beside_many_names() {
        let said =
            "The shadow branch still has the rows of session A, because the reset never runs.";
        let listing: String = (0..200)
            .map(|n| format!("let importRow{n} = loadRow{n}(tableOf{n}, -a, -v);\n"))
            .collect();
        let read = (0..160).flat_map(|n| {
            let input = serde_json::json!({ "file_path": format!("/p/src/rows_{n}.rs") });
            [
                call("Read", &input.to_string()),
                result(&listing, Outcome::Succeeded),
            ]
        });
        let asked = TurnDraft::text(Role::User, "Mend the reader of the rows.");
        let found = TurnDraft::text(Role::Assistant, said);
        let turns = placed([asked, found].into_iter().chain(read));
        let summary = extract(&turns, &[], Tokens::new(4_000), &Heuristic);
        let facts = summary.entries(Field::Facts);
        assert!(facts.iter().any(|it| it.contains(said)), "{facts:?}");
        let names = summary.entries(Field::Ledger).join(" ");
        assert!(
            !names.split(' ').any(|it| it == "-a" || it == "-v"),
            "{names}"
        );
    }
}
