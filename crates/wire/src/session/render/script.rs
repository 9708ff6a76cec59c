//! Writes logs line by line and keeps their chains.

use std::collections::HashSet;

use context::Turn;
use jiff::Timestamp;
use serde_json::Value;

use super::WrittenTurn;
use super::voice::{Links, Object, Voice, is_summary};
use crate::session::document::Source;
use crate::session::fields::object;
use crate::session::lines::slice;

/// The lines of a session.
pub(super) struct Lines<'a> {
    pub(super) source: &'a Source,
    pub(super) pieces: &'a [Vec<usize>],
    pub(super) headers: &'a [usize],
    pub(super) asides: &'a [usize],
    /// The turns that they hold.
    pub(super) turns: &'a [Turn],
}

impl Lines<'_> {
    /// A line without its end.
    pub(super) fn text(&self, line: usize) -> &[u8] {
        let place = self.source.lines.get(line);
        place.map_or(&[], |place| slice(&self.source.bytes, place.text.clone()))
    }

    /// A line with its line end.
    fn whole(&self, line: usize) -> &[u8] {
        let place = self.source.lines.get(line);
        place.map_or(&[], |place| {
            slice(&self.source.bytes, place.text.start..place.end)
        })
    }

    /// The lines of turns `first..=last` with the asides between them, in file order. The first turn
    /// of the session brings the asides before it, the last the asides after it.
    fn run(&self, first: usize, last: usize) -> Vec<usize> {
        let turns = self.pieces.get(first..=last).unwrap_or_default();
        let mut lines: Vec<usize> = turns.iter().flatten().copied().collect();
        lines.sort_unstable();
        let (Some(mut from), Some(mut to)) = (lines.first().copied(), lines.last().copied()) else {
            return lines;
        };
        if first == 0 {
            from = 0;
        }
        if last + 1 == self.pieces.len() {
            to = usize::MAX;
        }
        let between = self
            .asides
            .iter()
            .filter(|aside| (from..=to).contains(*aside));
        lines.extend(between);
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The time of each shown turn. One without a time has that of the next turn that has one, else of the one
    /// before it, else of the session's last.
    fn times(&self, shown: &[WrittenTurn<'_>]) -> Vec<Option<Timestamp>> {
        let own = shown.iter().map(|shown| match shown {
            WrittenTurn::Own(turn) => self.turns.get(*turn).and_then(Turn::at),
            WrittenTurn::New(turn) => turn.at(),
        });
        let mut times: Vec<Option<Timestamp>> = own.collect();
        let mut next = None;
        for at in times.iter_mut().rev() {
            next = at.or(next);
            *at = next;
        }
        let mut before = self.turns.iter().rev().find_map(Turn::at);
        for at in &mut times {
            before = at.or(before);
            *at = before;
        }
        times
    }
}

/// Writes a log.
pub(super) fn write(
    lines: &Lines<'_>,
    shown: &[WrittenTurn<'_>],
    voice: &mut dyn Voice,
) -> Vec<u8> {
    let mut script = Script {
        out: Vec::new(),
        links: voice.links(),
        written: HashSet::new(),
        last: None,
        pending: None,
        number: 0,
        at: None,
    };
    for header in lines.headers {
        script.own(lines.whole(*header), lines.text(*header), voice);
    }
    let times = lines.times(shown);
    let mut timed = shown.iter().zip(times.iter().copied());
    let summary = timed.find_map(|(shown, at)| match shown {
        WrittenTurn::New(turn) if is_summary(turn) => Some((*turn, at)),
        _ => None,
    });
    let (summary, at) = summary.unzip();
    if let Some(opening) = voice.opening(summary, at.flatten()) {
        let seed = summary.map_or([0; 16], |turn| *turn.id().as_bytes());
        script.new_record(opening, &seed, voice);
    }
    let mut rest = shown;
    while let [next, after @ ..] = rest {
        script.at = times.get(shown.len() - rest.len()).copied().flatten();
        rest = after;
        match next {
            WrittenTurn::New(turn) => script.turn(turn, voice),
            WrittenTurn::Own(first) => {
                let mut last = *first;
                while let [WrittenTurn::Own(next), after @ ..] = rest
                    && *next == last + 1
                {
                    last = *next;
                    rest = after;
                }
                for line in lines.run(*first, last) {
                    script.own(lines.whole(line), lines.text(line), voice);
                }
            }
        }
    }
    script.flush(None);
    script.out
}

/// A record that waits for the next one, which may name its id.
struct Pending {
    record: Object,
    id: String,
}

struct Script {
    out: Vec<u8>,
    links: Option<Links>,
    written: HashSet<String>,
    last: Option<String>,
    pending: Option<Pending>,
    number: usize,
    /// The time of the turn that is being written.
    at: Option<Timestamp>,
}

impl Script {
    /// Writes a line of the file unchanged.
    fn own(&mut self, whole: &[u8], text: &[u8], voice: &mut dyn Voice) {
        if let Some(links) = self.links {
            self.join(links, text, voice);
        }
        voice.heard(text);
        self.end_line();
        self.out.extend_from_slice(whole);
    }

    /// Writes a record for the parent that a line names, where none stands before it.
    fn join(&mut self, links: Links, text: &[u8], voice: &dyn Voice) {
        let link = link(links, text);
        let Some(id) = link.id else {
            return;
        };
        let lost = link.parent.filter(|parent| !self.written.contains(parent));
        self.flush(lost.as_deref());
        if let Some(parent) = lost
            && !self.written.contains(&parent)
            && self.last.is_some()
        {
            let mut bridge = voice.bridge(self.at);
            self.chain(&mut bridge);
            self.pending = Some(Pending {
                record: bridge,
                id: parent.clone(),
            });
            self.flush(Some(&parent));
        }
        self.written.insert(id.clone());
        self.last = Some(id);
    }

    /// Writes the records of a turn that is not in the file.
    fn turn(&mut self, turn: &Turn, voice: &mut dyn Voice) {
        for record in voice.say(turn, self.at) {
            self.new_record(record, turn.id().as_bytes(), voice);
        }
    }

    fn new_record(&mut self, mut record: Object, seed: &[u8; 16], voice: &dyn Voice) {
        self.flush(None);
        self.chain(&mut record);
        self.number += 1;
        let id = voice.id(seed, self.number);
        self.pending = Some(Pending { record, id });
        if self.links.is_none() {
            self.flush(None);
        }
    }

    /// Links a record to the last one.
    fn chain(&self, record: &mut Object) {
        if let Some(links) = self.links {
            let parent = self.last.as_deref().map_or(Value::Null, Value::from);
            record.insert(links.parent.to_owned(), parent);
        }
    }

    /// Writes the waiting record, with the id that the next record names.
    fn flush(&mut self, asked: Option<&str>) {
        let Some(Pending { mut record, id }) = self.pending.take() else {
            return;
        };
        if let Some(links) = self.links {
            let id = asked.map_or(id, str::to_owned);
            record.insert(links.id.to_owned(), Value::from(id.as_str()));
            self.written.insert(id.clone());
            self.last = Some(id);
        }
        self.end_line();
        self.out.extend(Value::Object(record).to_string().bytes());
        self.out.push(b'\n');
    }

    /// The last line of a file may lack its end.
    fn end_line(&mut self) {
        if self.out.last().is_some_and(|last| *last != b'\n') {
            self.out.push(b'\n');
        }
    }
}

struct Link {
    id: Option<String>,
    parent: Option<String>,
}

fn link(links: Links, text: &[u8]) -> Link {
    let tree = object(text);
    let named = |key| {
        let record = tree.as_ref()?.root();
        record.get_text(key).map(String::from)
    };
    Link {
        id: named(links.id),
        parent: named(links.parent),
    }
}
