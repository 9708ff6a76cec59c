//! Units: what stands whole or not at all.

use std::ops::Range;

use super::message::{Line, Message};
use crate::sentence::sentences;

/// A line or a group of lines longer than this is divided into sentences or lines, in bytes.
const LONG: usize = 240;
/// A list stays with the line that opens it up to this size, in bytes.
const LIST: usize = 600;
/// The size of a message from which runs of lines that are no prose count as pasted, in bytes.
const LARGE: usize = 1_500;
/// The fewest lines of such a run.
const RUN: usize = 6;

/// A unit of a message, as a range of bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The bytes.
    pub range: Range<usize>,
    /// True if it was pasted.
    pub is_pasted: bool,
    /// True if it reads like a sentence.
    pub is_prose: bool,
    /// True if it stands at the beginning of pasted matter and shows what that is.
    pub is_head: bool,
}

impl Unit {
    /// Returns true if a program wrote it.
    pub const fn is_matter(&self) -> bool {
        self.is_pasted && !self.is_prose
    }
}

/// The units of a message, in order. `text` is the whole of it.
pub(super) fn units(message: &Message, text: &str) -> Vec<Unit> {
    let pasted = pasted(message, text.len());
    let mut out: Vec<Unit> = Vec::new();
    let mut at = 0;
    let mut index = 0;
    while let Some(line) = message.lines.get(index) {
        let end = at + line.text.len();
        let is_pasted = pasted.get(index).copied().unwrap_or(false);
        if is_pasted {
            let before = index.checked_sub(1).and_then(|it| pasted.get(it)).copied();
            push(&mut out, line, at..end, (true, before != Some(true)));
            (at, index) = (end + 1, index + 1);
            continue;
        }
        let list = list_behind(message, &pasted, index);
        let listed: usize = list.iter().map(|line| line.text.len() + 1).sum();
        if !list.is_empty() && end - at + listed <= LIST {
            out.push(Unit {
                range: at..end + listed,
                is_pasted: false,
                is_prose: true,
                is_head: false,
            });
            (at, index) = (end + listed + 1, index + 1 + list.len());
            continue;
        }
        push(&mut out, line, at..end, (false, false));
        (at, index) = (end + 1, index + 1);
    }
    out
}

fn push(out: &mut Vec<Unit>, line: &Line, range: Range<usize>, (is_pasted, is_head): (bool, bool)) {
    if line.text.trim().is_empty() {
        return;
    }
    let is_pasted = is_pasted || (line.text.len() > LONG && is_record(&line.text));
    let unit = |range: Range<usize>, text: &str| Unit {
        range,
        is_pasted,
        is_prose: is_prose(text),
        is_head,
    };
    if line.text.len() <= LONG {
        out.push(unit(range, &line.text));
        return;
    }
    for (at, sentence) in sentences(&line.text) {
        let start = range.start + at;
        out.push(unit(start..start + sentence.len(), sentence));
    }
}

/// Returns true if a line is JSON, as in a log: nobody types that.
fn is_record(line: &str) -> bool {
    let begins = ["{\"", "[{", "[\""];
    begins.iter().any(|it| line.trim_start().starts_with(it))
}

/// The items below a line that ends in a colon.
fn list_behind<'m>(message: &'m Message, pasted: &[bool], index: usize) -> &'m [Line] {
    let Some(line) = message.lines.get(index) else {
        return &[];
    };
    if !line.text.trim_end().ends_with([':', '：']) {
        return &[];
    }
    let below = message.lines.get(index + 1..).unwrap_or_default();
    let items = below
        .iter()
        .zip(pasted.iter().skip(index + 1))
        .take_while(|(line, pasted)| !**pasted && is_item(&line.text))
        .count();
    below.get(..items).unwrap_or_default()
}

fn is_item(line: &str) -> bool {
    let bare = line.trim_start();
    let marked = bare.starts_with(['-', '*', '•', '–', '+']);
    let number = bare.trim_start_matches(|digit: char| digit.is_ascii_digit());
    marked || (number.len() < bare.len() && number.starts_with(['.', ')']))
}

/// For each line, whether it was pasted: it stands in a fence or a quotation, or, in a large message, in a run of
/// lines that are no prose. Single sentences in such a run are pasted too; they are prose, and stay longer.
fn pasted(message: &Message, size: usize) -> Vec<bool> {
    let mut out: Vec<bool> = message.lines.iter().map(|line| line.is_pasted).collect();
    if size < LARGE {
        return out;
    }
    let matter = |line: &Line| line.text.trim().is_empty() || !is_prose(&line.text);
    let mut from = 0;
    while from < message.lines.len() {
        let mut to = from;
        let mut last = from;
        // A sentence or two do not end a run.
        while let Some(line) = message.lines.get(to) {
            if matter(line) && !line.text.trim().is_empty() {
                last = to + 1;
            } else if to >= last + 3 {
                break;
            }
            to += 1;
        }
        // A person's own line below a paste may be short: "What is slow?"
        while last > from
            && message
                .lines
                .get(last - 1)
                .is_some_and(|it| is_wordy(&it.text))
        {
            last -= 1;
        }
        let run = message.lines.get(from..last).unwrap_or_default();
        let first = run
            .iter()
            .position(|line| matter(line) && !line.text.trim().is_empty());
        let first = first.map_or(last, |first| from + first);
        let solid = run.iter().filter(|line| matter(line)).count();
        if last.saturating_sub(first) >= RUN && solid * 2 > last - first {
            out.iter_mut()
                .take(last)
                .skip(first)
                .for_each(|pasted| *pasted = true);
        }
        from = to.max(from + 1);
    }
    out
}

/// Returns true if a line reads like something a person says: words in a row, few marks, no number in front.
pub(super) fn is_prose(line: &str) -> bool {
    reads(line, 4)
}

/// Returns true if a line may be a short sentence.
fn is_wordy(line: &str) -> bool {
    reads(line, 2)
}

fn reads(line: &str, least: usize) -> bool {
    let bare = line.trim().trim_start_matches(['-', '*', '•', ' ', '#']);
    let solid = bare.chars().filter(|letter| !letter.is_whitespace());
    let (mut letters, mut all, mut wide) = (0_usize, 0_usize, 0_usize);
    for letter in solid {
        all += 1;
        letters += usize::from(letter.is_alphabetic());
        wide += usize::from(letter.is_alphabetic() && u32::from(letter) > 0x2E7F);
    }
    let words = bare
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphabetic))
        .count();
    let starts =
        bare.starts_with(|first: char| first.is_alphabetic() || "\"'`“«¿¡(".contains(first));
    let code = bare.ends_with(['{', '}', ';', ',']) || bare.contains("  ") || bare.contains("();");
    starts && !code && letters * 10 >= all * 7 && (words >= least || wide > least)
}
