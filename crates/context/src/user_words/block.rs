//! The words as a block of text, and reading it back.

use std::fmt::Write as _;

use super::{LeftOut, Said, UserWords};
use crate::units::Tokens;

/// The beginning of the block's first line.
const HEAD: &str = "[The user's own words in the earlier conversation, verbatim and in order.";
const NUMBERS: &str = " The number above each is its turn.]";
/// The rest of the first line of blocks whose numbers stand in front of the words.
const IN_FRONT: &str = " The number is the turn.]";
/// The beginning of the line that tells what is left out.
const LEFT_OUT: &str = "[Not shown here for lack of room: ";
/// The most turns of one row that are read back: a damaged list makes no long one.
const LISTED: usize = 4_096;
/// The most rows of turns.
const ROWS: usize = 40;
/// The most turns whose sizes this line tells one by one.
const NAMED: usize = 12;

/// Returns true if a text begins with such a block.
pub(crate) fn is_block(text: &str) -> bool {
    text.starts_with(HEAD)
}

impl UserWords {
    /// The block: a heading, then `[turn]` and the words below it, so that their first line stays as it was typed. Empty
    /// where there is nothing to show.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        if self.is_empty() {
            return out;
        }
        let _ = writeln!(out, "{HEAD}{NUMBERS}");
        for Said { turn, text } in &self.said {
            let _ = writeln!(out, "[{}]", turn + 1);
            for line in text.split('\n') {
                // A line that looks like one of the block's own is set in.
                let space = if is_like_ours(line) { " " } else { "" };
                let _ = writeln!(out, "{space}{line}");
            }
        }
        if !self.left_out.is_empty() {
            out.push_str(LEFT_OUT);
            out.push_str(&list(&self.left_out));
            out.push_str(".]\n");
        }
        out
    }

    /// Reads a block back: `text` up to the line before which it ends.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (head, body) = text.split_once('\n').unwrap_or((text, ""));
        let is_in_front = head.strip_prefix(HEAD)? == IN_FRONT;
        let mut said: Vec<Said> = Vec::new();
        let mut left_out = Vec::new();
        for line in body.trim_matches('\n').lines() {
            if let Some(list) = line.strip_prefix(LEFT_OUT) {
                left_out = listed(list);
                continue;
            }
            let numbered = match is_in_front {
                true => line
                    .split_once(' ')
                    .map(|(number, rest)| (number, Some(rest))),
                false => Some((line, None)),
            };
            let numbered = numbered.and_then(|(number, rest)| Some((turn_of(number)?, rest)));
            match (numbered, said.last_mut()) {
                (Some((turn, rest)), last) if last.as_ref().is_none_or(|it| it.turn < turn) => {
                    let text = rest.map_or_else(String::new, |rest| format!("{rest}\n"));
                    said.push(Said { turn, text });
                }
                (_, Some(last)) => {
                    let set_in = line.strip_prefix(' ').filter(|it| is_like_ours(it));
                    last.text.push_str(set_in.unwrap_or(line));
                    last.text.push('\n');
                }
                (_, None) => {}
            }
        }
        for it in &mut said {
            it.text.pop();
        }
        Some(Self { said, left_out })
    }
}

/// The index of the turn that a line `[12]` names. Numbers count from 1, as in handles.
fn turn_of(line: &str) -> Option<usize> {
    let number = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_plain = number.bytes().all(|it| it.is_ascii_digit()) && !number.starts_with('0');
    let number = is_plain.then(|| number.parse::<usize>().ok()).flatten()?;
    number.checked_sub(1)
}

/// Returns true for a line `[12]` or one that tells what is left out, also one that is set in.
fn is_like_ours(line: &str) -> bool {
    let bare = line.trim_start_matches(' ');
    turn_of(bare).is_some() || bare.starts_with(LEFT_OUT)
}

/// `turn 3 (2 lines, 40 tokens), turn 9 (…), and turns 12, 15-19 (8 lines, 300 tokens)`.
fn list(left_out: &[LeftOut]) -> String {
    let size = |units: usize, tokens: Tokens| {
        let lines = if units == 1 { "line" } else { "lines" };
        format!("({units} {lines}, {tokens} tokens)")
    };
    let one = |it: &LeftOut| format!("turn {} {}", it.turn + 1, size(it.units, it.tokens));
    let (named, others) = left_out.split_at(left_out.len().min(NAMED));
    let mut out: Vec<String> = named.iter().map(one).collect();
    if !others.is_empty() {
        let units = others.iter().map(|it| it.units).sum();
        let tokens = others.iter().map(|it| it.tokens).sum();
        let turns = ranges(others.iter().map(|it| it.turn + 1));
        out.push(format!("and turns {turns} {}", size(units, tokens)));
    }
    out.join(", ")
}

/// The turns of such a list. Of a row of turns the sizes are known together only: each gets an equal share.
fn listed(list: &str) -> Vec<LeftOut> {
    let mut out = Vec::new();
    for piece in list.split("turn").skip(1) {
        let Some((turns, size)) = piece.split_once('(') else {
            continue;
        };
        let mut numbers = size.split(|letter: char| !letter.is_ascii_digit());
        let mut number = || numbers.by_ref().find_map(|it| it.parse::<usize>().ok());
        let (units, tokens) = (number().unwrap_or(0), number().unwrap_or(0));
        let rows = turns.trim_start_matches('s').split(',');
        let rows = rows.filter_map(|row| {
            let (first, last) = row.split_once('-').unwrap_or((row, row));
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        });
        let turns: Vec<usize> = rows
            .flat_map(|(first, last): (usize, usize)| first..=last)
            .filter_map(|number| number.checked_sub(1))
            .take(LISTED)
            .collect();
        let share = |all: usize| all.div_ceil(turns.len().max(1));
        out.extend(turns.iter().map(|&turn| LeftOut {
            turn,
            units: share(units),
            tokens: Tokens::new(share(tokens) as u64),
        }));
    }
    out
}

/// `3, 5-9`: ascending numbers, those in a row by the first and the last one.
fn ranges(turns: impl Iterator<Item = usize>) -> String {
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for turn in turns {
        match rows.last_mut() {
            Some((_, last)) if *last + 1 == turn => *last = turn,
            _ => rows.push((turn, turn)),
        }
    }
    // A list may not take the room of the words: what exceeds it is one row.
    if let Some(&(first, _)) = rows.get(ROWS)
        && let Some(&(_, last)) = rows.last()
    {
        rows.truncate(ROWS);
        rows.push((first, last));
    }
    let row = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    rows.iter().map(row).collect::<Vec<_>>().join(", ")
}
