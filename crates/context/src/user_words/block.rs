//! The words as a block of text, and reading it back.

use std::fmt::Write as _;

use super::{LeftOut, Said, UserWords};
use crate::units::Tokens;

/// The first line of the block.
const HEAD: &str = "[The user's own words in the earlier conversation, verbatim and in order. The number is the turn.]";
/// The beginning of the line that tells what is left out.
const LEFT_OUT: &str = "[Not shown here for lack of room: ";
/// The most turns that this line names.
const NAMED: usize = 12;

/// Returns true if a text begins with such a block.
pub(crate) fn is_block(text: &str) -> bool {
    text.starts_with(HEAD)
}

impl UserWords {
    /// The block: a heading, then `[turn] words`. Empty where there is nothing to show.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        if self.is_empty() {
            return out;
        }
        out.push_str(HEAD);
        out.push('\n');
        for Said { turn, text } in &self.said {
            let _ = writeln!(out, "[{turn}] {text}");
        }
        if !self.left_out.is_empty() {
            out.push_str(LEFT_OUT);
            out.push_str(&list(&self.left_out));
            out.push_str(".]\n");
        }
        out
    }

    /// Reads a block back: `text` up to the line before which it ends. What was left out then is not told again.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(HEAD)?;
        let mut said: Vec<Said> = Vec::new();
        for line in body.trim_matches('\n').lines() {
            if line.starts_with(LEFT_OUT) {
                continue;
            }
            let last = said.last_mut();
            match (numbered(line), last) {
                (Some((turn, text)), last) if last.as_ref().is_none_or(|it| it.turn < turn) => {
                    let text = text.to_owned();
                    said.push(Said { turn, text });
                }
                (_, Some(last)) => {
                    last.text.push('\n');
                    last.text.push_str(line);
                }
                (_, None) => {}
            }
        }
        Some(Self {
            said,
            left_out: Vec::new(),
        })
    }
}

/// The number and the rest of a line `[12] rest`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
    Some((number.parse().ok()?, rest))
}

/// `turn 3 (2 lines, 40 tokens), turn 9 (…)`.
fn list(left_out: &[LeftOut]) -> String {
    let one = |it: &LeftOut| {
        let LeftOut {
            turn,
            units,
            tokens,
        } = it;
        let lines = if *units == 1 { "line" } else { "lines" };
        format!("turn {turn} ({units} {lines}, {tokens} tokens)")
    };
    let named: Vec<String> = left_out.iter().take(NAMED).map(one).collect();
    let others = left_out.get(NAMED..).unwrap_or_default();
    let more: Tokens = others.iter().map(|it| it.tokens).sum();
    match others.len() {
        0 => named.join(", "),
        some => format!(
            "{}, and {some} more turns ({more} tokens)",
            named.join(", ")
        ),
    }
}
