//! The class of a tool result's text.

use std::fmt;

use super::clip;

/// The kind of text that a tool result is, which decides what of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentClass {
    /// Output of a test runner, a compiler or a program: failures, errors, warnings and summaries
    /// are kept, each with its neighbours, repeated lines once.
    Log,
    /// Matches of a search, `path:line:text`: one sample per file and the number of the others.
    Grep,
    /// A unified diff: file headers, hunk headers and changed lines.
    Diff,
    /// One JSON value: its structure, with ids, names, states and errors.
    Json,
    /// Source code, also with line numbers before it: definitions and signatures.
    Code,
    /// Anything else: headings, errors, and the beginnings of paragraphs.
    Plain,
}

impl ContentClass {
    /// The class of a text, from its first and last lines.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let trimmed = text.trim();
        if matches!(trimmed.as_bytes(), [b'{', .., b'}'] | [b'[', .., b']'])
            && serde_json::from_str::<serde_json::Value>(trimmed).is_ok()
        {
            return Self::Json;
        }
        // The beginning and the end say it; megabytes between them need not be read.
        let sample = Sample::of([clip::prefix(text, 16_384), clip::suffix(text, 16_384)]);
        sample.class()
    }
}

impl fmt::Display for ContentClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Log => "log",
            Self::Grep => "grep",
            Self::Diff => "diff",
            Self::Json => "json",
            Self::Code => "code",
            Self::Plain => "plain",
        })
    }
}

/// The counts of lines of a sample, by look.
#[derive(Default)]
struct Sample {
    lines: u32,
    hunks: u32,
    changes: u32,
    matches: u32,
    numbered: u32,
    log: u32,
    runner: u32,
    code: u32,
}

impl Sample {
    fn of(pieces: [&str; 2]) -> Self {
        let mut sample = Self::default();
        for line in pieces.iter().flat_map(|piece| piece.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            sample.lines += 1;
            sample.hunks += u32::from(line.starts_with("@@ ") || line.starts_with("diff --git "));
            sample.changes += u32::from(line.starts_with(['+', '-']));
            sample.matches += u32::from(super::grep::path_of(line).is_some());
            sample.numbered += u32::from(unnumbered(line).is_some());
            sample.runner += u32::from(super::score::is_runner_line(line));
            sample.log += u32::from(super::score::is_log_line(line));
            sample.code += u32::from(super::score::is_code_line(line));
        }
        sample
    }

    fn class(&self) -> ContentClass {
        let most = |count: u32, percent: u32| count * 100 >= self.lines * percent;
        if self.lines == 0 {
            ContentClass::Plain
        } else if self.hunks > 0 && (self.runner == 0 || most(self.changes, 20)) {
            ContentClass::Diff
        } else if most(self.numbered, 80) {
            ContentClass::Code
        } else if self.runner > 0 || most(self.log, 15) {
            ContentClass::Log
        } else if most(self.matches, 60) {
            ContentClass::Grep
        } else if most(self.code, 25) {
            ContentClass::Code
        } else {
            ContentClass::Plain
        }
    }
}

/// The text of a line behind a line number and its separator (`  12→`, `12\t`, `12: `, `  12 | `).
pub(super) fn unnumbered(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(' ');
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    if rest.len() == line.len() || line.len() - rest.len() > 7 {
        return None;
    }
    ["→", "\t", ": ", " | ", ":\t"]
        .iter()
        .find_map(|separator| rest.strip_prefix(separator))
        .or_else(|| matches!(rest, ":" | " |").then_some(""))
}
