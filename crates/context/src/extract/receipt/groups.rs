//! Identifiers that are not shown, those of one place together.
//!
//! A file that was read or a message holds many names, and an entry for each would fill the receipt. So an entry
//! quotes the line around the likeliest name of a place and names the others behind it. Places are taken by
//! greedy coverage: the next is the one whose names, as far as no entry has them yet, are worth most.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Kind;
use super::candidates::Candidate;
use crate::extract::census::Census;
use crate::extract::clip::CUT;
use crate::extract::clip::clip;
use crate::extract::entries::source_of;
use crate::extract::fields::Known;
use crate::extract::lines::{self, Span};
use crate::extract::source::{Origin, Piece};
use crate::extract::steps::Step;
use crate::extract::story::Story;
use crate::identifiers::Kind as Sort;
use crate::summary::one_line;

/// The most identifiers that are named, the likeliest first.
const IDENTIFIERS: usize = 1_200;
/// The most entries.
const GROUPS: usize = 120;
/// The longest entry, in bytes: several paths, or twenty names.
const LONGEST: usize = 500;
/// The longest quotation in front of other names, in bytes.
const QUOTED: usize = 140;

/// Where identifiers stand, and what each is worth.
struct Places<'a> {
    known: &'a Known<'a>,
    census: &'a Census<'a>,
    values: &'a [f32],
    /// For each turn, the share of its worth that an entry keeps.
    fades: &'a [f32],
    /// The identifiers of each piece, the likeliest first.
    of_piece: HashMap<usize, Vec<usize>>,
}

/// The entries that name identifiers, the worthiest first. No two name the same.
pub(super) fn groups(
    known: &Known<'_>,
    census: &Census<'_>,
    (values, fades): (&[f32], &[f32]),
) -> Vec<Candidate> {
    let places = Places::of(known, census, (values, fades));
    let mut named = HashSet::new();
    let mut out = Vec::new();
    while out.len() < GROUPS
        && let Some(piece) = places.best(&named)
    {
        let group = places.group(piece, &named);
        named.extend(group.iter().flat_map(|it| it.members.iter().copied()));
        // A piece of which nothing can be told is not asked again.
        let told = places.of_piece.get(&piece);
        match group {
            Some(candidate) if !candidate.members.is_empty() => out.push(candidate),
            _ => named.extend(told.into_iter().flatten().copied()),
        }
    }
    out
}

impl<'a> Places<'a> {
    fn of(
        known: &'a Known<'a>,
        census: &'a Census<'a>,
        (values, fades): (&'a [f32], &'a [f32]),
    ) -> Self {
        let value = |entry: usize| values.get(entry).copied().unwrap_or(0.0);
        let told = of_tools(known.steps);
        // A number among other names says nothing.
        let says = |entry: usize| {
            let found = census.entries.get(entry);
            found.is_some_and(|it| it.kind != Sort::Number && !told.contains(it.text))
        };
        let mut hidden: Vec<usize> = (0..census.entries.len())
            .filter(|&entry| value(entry) > 0.0 && says(entry))
            .collect();
        hidden.sort_by(|&one, &other| value(other).total_cmp(&value(one)).then(one.cmp(&other)));
        hidden.truncate(IDENTIFIERS);
        let mut of_piece: HashMap<usize, Vec<usize>> = HashMap::new();
        for entry in hidden {
            let places = census.entries.get(entry).map(|found| &found.places);
            for place in places.into_iter().flatten() {
                let members = of_piece.entry(place.piece).or_default();
                if members.last() != Some(&entry) {
                    members.push(entry);
                }
            }
        }
        Self {
            known,
            census,
            values,
            fades,
            of_piece,
        }
    }

    fn name(&self, entry: usize) -> &'a str {
        let found = self.census.entries.get(entry);
        found.map_or("", |found| found.text)
    }

    /// The members of a piece that no entry names yet.
    fn open(&self, piece: usize, named: &HashSet<usize>) -> impl Iterator<Item = usize> {
        let members = self.of_piece.get(&piece).into_iter().flatten().copied();
        members.filter(move |member| !named.contains(member))
    }

    /// The piece whose open members, as far as an entry has room for them, are worth most; of equals the newest.
    fn best(&self, named: &HashSet<usize>) -> Option<usize> {
        let worth = |&piece: &usize| {
            let mut room = LONGEST;
            let fitting = self.open(piece, named).take_while(|&member| {
                let length = self.name(member).len() + 2;
                let fits = room >= length;
                room = room.saturating_sub(length);
                fits
            });
            let values = fitting.filter_map(|member| self.values.get(member));
            let turn = self.known.pieces.get(piece).map(|piece| piece.turn);
            let fade = turn.and_then(|turn| self.fades.get(turn));
            fade.copied().unwrap_or(0.0) * values.sum::<f32>()
        };
        let pieces = self.of_piece.keys().copied();
        let valued = pieces.map(|piece| (worth(&piece), piece));
        let best = valued.max_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        best.filter(|(worth, _)| *worth > 0.0)
            .map(|(_, piece)| piece)
    }

    /// The entry of a piece.
    fn group(&self, number: usize, named: &HashSet<usize>) -> Option<Candidate> {
        let piece = self.known.pieces.get(number)?;
        let open: Vec<usize> = self.open(number, named).collect();
        let span = self.quotation(*open.first()?, number);
        let (mut text, mut members) = match span {
            Some(span) => (quoted(piece, &span)?, inside(&span, &open)),
            None => (about(piece), Vec::new()),
        };
        let is_quoted = !members.is_empty();
        let mut count = 0;
        for member in open {
            let name = self.name(member);
            let mark = match (is_quoted, count) {
                (true, 0) => " · also ",
                (false, 0) => "",
                _ => ", ",
            };
            if members.contains(&member) {
                continue;
            }
            if text.len() + mark.len() + name.len() > LONGEST {
                break;
            }
            text.push_str(mark);
            text.push_str(name);
            members.push(member);
            count += 1;
        }
        Some(Candidate {
            kind: Kind::Identifier,
            turn: piece.turn,
            text,
            members,
        })
    }

    /// A short quotation of an identifier in a piece. The arguments of a call are no sentences.
    fn quotation(&self, entry: usize, piece: usize) -> Option<Span> {
        let origin = self.known.pieces.get(piece)?.origin;
        if origin == Origin::Call {
            return None;
        }
        let none = Story::default();
        let options = lines::options(entry, self.census, self.known.pieces, (self.values, &none));
        let mut options = options.into_iter();
        options.find(|span| {
            let length = span.end.saturating_sub(span.place.at);
            span.place.piece == piece && length <= QUOTED
        })
    }
}

/// The names of tools and of their arguments: the model has them from the tools' definitions.
fn of_tools(steps: &[Step<'_>]) -> HashSet<String> {
    let mut names = HashSet::new();
    for step in steps {
        names.insert(step.call.name.to_string());
        let mut open = vec![&step.arguments];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(fields) => {
                    names.extend(fields.keys().cloned());
                    open.extend(fields.values());
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
    }
    names
}

/// The members of a quotation that are open.
fn inside(span: &Span, open: &[usize]) -> Vec<usize> {
    let members = span.members.iter().map(|&(member, _)| member);
    members.filter(|member| open.contains(member)).collect()
}

/// The words in front of names without a quotation.
fn about(piece: &Piece<'_>) -> String {
    match (&*piece.about, piece.origin) {
        ("", Origin::Assistant) => "the assistant named ".to_owned(),
        ("", _) => source_of(piece, 1),
        (about, _) => format!("{about}: "),
    }
}

/// A quotation behind its source.
fn quoted(piece: &Piece<'_>, span: &Span) -> Option<String> {
    let said = one_line(piece.text.get(span.place.at..span.end)?);
    let mut text = source_of(piece, span.place.at);
    text.extend(span.is_cut.0.then_some(CUT));
    text.push_str(&clip(&said, QUOTED));
    text.extend((span.is_cut.1 && !text.ends_with(CUT)).then_some(CUT));
    Some(text)
}
