//! The messages of a user: text parts without what a client wrapped around them.

use super::{Apart, LeftOut, Said, UserWords};
use crate::client_summary::{is_client_summary, listed_messages};
use crate::refusal::refusal;
use crate::spoken::{self, Sort};
use crate::summary::{Replaced, Summary, is_summary};
use crate::turn::{Part, Provenance, Role, Turn};
use crate::units::Tokens;

/// The mark in front of each line that stood in the result of a refused call.
pub(super) const REFUSING: &str = "[refusing a call]";

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    /// The number of its turn.
    pub turn: usize,
    /// The lines in order, each typed or pasted.
    pub lines: Vec<Line>,
    /// True if the agent answered it without calling a tool.
    pub is_only_answered: bool,
}

/// One line.
#[derive(Debug)]
pub(super) struct Line {
    pub text: String,
    pub is_pasted: bool,
    /// True if it stands in a tag, or is one.
    pub is_wrapped: bool,
}

impl Message {
    /// All of it.
    pub fn whole(&self) -> Said {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        Said {
            turn: self.turn,
            text: lines.join("\n"),
        }
    }

    /// The lines that were typed as a request. In an earlier summary it is not said which these are, so all are sorted again.
    pub fn typed(&self) -> Said {
        let lines = self.lines.iter().filter(|line| !line.is_pasted);
        let texts: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
        let text = texts.join("\n");
        let sorted = spoken::sorted(&text).into_iter();
        let typed: Vec<&str> = sorted
            .filter(|(line, sort)| *sort == Sort::Typed && !is_remark(line))
            .filter(|(line, _)| !line.starts_with(REFUSING))
            .map(|(line, _)| line)
            .collect();
        Said {
            turn: self.turn,
            text: typed.join("\n").trim().to_owned(),
        }
    }
}

/// The messages in `old`, oldest first. Those in an earlier summary come back as they stood there.
pub(super) fn messages(old: &[Turn], apart: &Apart) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    // The number of the turn at index 0; a summary stands for turns that are not here.
    let mut first = 0;
    for (index, turn) in old.iter().enumerate() {
        let Some(text) = said_by_us(turn).find(|text| is_summary(text)) else {
            let mut lines = refusals(turn);
            lines.extend(self::lines(turn, index, apart));
            if !lines.is_empty() && !is_repeated(&out, &lines) {
                out.push(Message {
                    turn: first + index,
                    lines,
                    is_only_answered: is_only_answered(old.get(index + 1..).unwrap_or_default()),
                });
            }
            continue;
        };
        let earlier = Summary::parse(text).summary;
        out.extend(carried(&earlier.words));
        first = behind(&earlier, index);
    }
    out
}

/// The number by which the turns behind a summary at this index count higher than their indices do: it stands for turns
/// that are not here. A block without a summary does not say for how many; its words do.
fn behind(summary: &Summary, index: usize) -> usize {
    let words = &summary.words;
    let said = words.said.iter().map(|it| it.turn);
    let left_out = words.left_out.iter().map(|it| it.turn);
    let named = said.chain(left_out).max().map_or(0, |last| last + 1);
    summary.replaced.turns.max(named).saturating_sub(index + 1)
}

/// The turns that a summary of `old` replaces, with those that the newest summary in it stands for.
pub(crate) fn replaced(old: &[Turn]) -> Replaced {
    let tokens = |turns: &[Turn]| turns.iter().map(Turn::tokens).sum::<Tokens>();
    let Some((index, earlier)) = newest(old) else {
        return Replaced {
            turns: old.len(),
            tokens: tokens(old),
        };
    };
    // What stands in front of the summary was counted when it was made.
    let own = old.get(index + 1..).unwrap_or_default();
    Replaced {
        turns: old.len() + behind(&earlier, index),
        tokens: tokens(own) + earlier.replaced.tokens,
    }
}

/// The numbers of the turns of `old` by their index. They count from 1, as in handles.
pub(crate) fn numbers(old: &[Turn]) -> impl Fn(usize) -> usize {
    let found = newest(old).map(|(index, earlier)| (index, behind(&earlier, index)));
    move |index| match found {
        Some((at, first)) if index > at => first + index + 1,
        _ => index + 1,
    }
}

/// The texts of a turn that may be a summary of ours: the model's own words are none, whatever they begin with.
fn said_by_us(turn: &Turn) -> impl Iterator<Item = &str> {
    turn.texts().filter(|_| turn.role() != Role::Assistant)
}

/// The words that an earlier summary in `old` could not hold.
pub(super) fn left_out_before(old: &[Turn]) -> Vec<LeftOut> {
    newest_summary(old).map_or_else(Vec::new, |it| it.words.left_out)
}

/// The newest summary of ours in `old`.
pub(crate) fn newest_summary(old: &[Turn]) -> Option<Summary> {
    newest(old).map(|(_, summary)| summary)
}

fn newest(old: &[Turn]) -> Option<(usize, Summary)> {
    let summary = |(index, turn): (usize, &Turn)| {
        let mut texts = said_by_us(turn);
        let text = texts.find(|text| is_summary(text))?;
        Some((index, Summary::parse(text).summary))
    };
    let mut turns = old.iter().enumerate().rev();
    turns.find_map(summary)
}

pub(super) fn carried(words: &UserWords) -> impl Iterator<Item = Message> + '_ {
    words.said().iter().map(|said| {
        let sorted = spoken::sorted(&said.text).into_iter();
        let mut wrapped = sorted.map(|(_, sort)| sort == Sort::Wrapped);
        let lines = said.text.lines().map(|line| Line {
            text: line.to_owned(),
            is_pasted: false,
            is_wrapped: wrapped.next().unwrap_or(false),
        });
        Message {
            turn: said.turn,
            lines: lines.collect(),
            is_only_answered: false,
        }
    })
}

/// Clients send the same words again, for example after an interruption.
fn is_repeated(before: &[Message], lines: &[Line]) -> bool {
    before.last().is_some_and(|last| {
        last.lines.len() == lines.len()
            && last
                .lines
                .iter()
                .zip(lines)
                .all(|(one, other)| one.text == other.text)
    })
}

fn is_only_answered(after: &[Turn]) -> bool {
    let answer = after.iter().take_while(|turn| turn.role() != Role::User);
    let mut answer = answer.peekable();
    answer.peek().is_some() && answer.all(|turn| turn.calls().next().is_none())
}

/// The words that the user typed when refusing calls, each line behind a mark: a tool can print the same.
fn refusals(turn: &Turn) -> Vec<Line> {
    let mut words: Vec<&str> = turn.results().filter_map(refusal).collect();
    // One answer may refuse several calls.
    words.dedup();
    let lines = words
        .into_iter()
        .filter(|words| !is_summary(words))
        .flat_map(spoken::sorted);
    // Clients put reminders behind the words.
    let typed = lines.filter(|(line, sort)| *sort != Sort::Wrapped && !line.trim().is_empty());
    typed
        .map(|(line, sort)| Line {
            text: format!("{REFUSING} {}", line.trim_end()),
            is_pasted: sort != Sort::Typed,
            is_wrapped: false,
        })
        .collect()
}

/// The lines of one turn that its user wrote, without empty ones at the ends.
fn lines(turn: &Turn, index: usize, apart: &Apart) -> Vec<Line> {
    if turn.role() != Role::User || turn.provenance() != Provenance::Said {
        return Vec::new();
    }
    let parts = turn.parts().iter().enumerate();
    let texts = parts.filter_map(|(part, it)| match it {
        Part::Text(text) if !apart.elsewhere.contains(&(index, part)) => {
            Some((text.as_str(), apart.pasted.contains(&(index, part))))
        }
        _ => None,
    });
    let mut lines: Vec<Line> = texts
        .flat_map(|(text, is_pasted)| own_lines(text, is_pasted))
        .collect();
    let is_empty = |line: &Line| line.text.trim().is_empty();
    while lines.last().is_some_and(is_empty) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| is_empty(line)).count();
    lines.drain(..blank);
    if is_notice(&lines) {
        lines.clear();
    }
    lines
}

/// The lines of one text. Where a person typed beside tags, the tags are the person's: a client wraps whole
/// texts.
fn own_lines(text: &str, is_pasted: bool) -> Vec<Line> {
    if is_client_summary(text) {
        return listed_messages(text)
            .into_iter()
            .map(|line| Line {
                text: line.to_owned(),
                is_pasted: false,
                is_wrapped: false,
            })
            .collect();
    }
    let sorted = spoken::sorted(text);
    let typed = |(line, sort): &(&str, Sort)| *sort != Sort::Wrapped && !line.trim().is_empty();
    if !sorted.iter().any(typed) {
        return Vec::new();
    }
    let wraps = sorted.iter().any(|(_, sort)| *sort == Sort::Wrapped);
    let reminder = wraps && is_mostly_wrapped(&sorted);
    sorted
        .into_iter()
        .filter(|(_, sort)| !(reminder && *sort == Sort::Wrapped))
        .map(|(line, sort)| Line {
            text: line.trim_end().to_owned(),
            is_pasted: sort != Sort::Typed || (is_pasted && !wraps),
            is_wrapped: sort == Sort::Wrapped,
        })
        .collect()
}

/// Returns true if tags wrap more than a person would write in them.
fn is_mostly_wrapped(sorted: &[(&str, Sort)]) -> bool {
    let size = |wrapped: bool| -> usize {
        let lines = sorted.iter();
        lines
            .filter(|(_, sort)| (*sort == Sort::Wrapped) == wrapped)
            .map(|(line, _)| line.len())
            .sum()
    };
    size(true) > size(false) * 2
}

/// Returns true if a message is a client's notice, such as `[Request interrupted by user]`.
fn is_notice(lines: &[Line]) -> bool {
    matches!(lines, [only] if is_remark(&only.text))
}

/// Returns true if a line stands in brackets, as what clients say about a message does.
fn is_remark(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}
