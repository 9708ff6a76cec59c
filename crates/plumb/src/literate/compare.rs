//! Mismatches between a page and the actual results.

use std::fmt;

/// The way to correct a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// To write down what is so: [`Tested::text`](super::Tested::text) has it.
    Update,
    /// To think: what the fence asks for cannot be done, or what is found has no place in the page.
    Hand,
}

/// A fence that says what is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the fence's opening, from 1.
    pub line: usize,
    /// The words after the opening of the fence.
    pub fence: String,
    /// The text on the page.
    pub expected: String,
    /// The actual text.
    pub found: String,
    /// The way to correct it.
    pub remedy: Remedy,
}

impl Mismatch {
    /// A fence that can be brought up to date.
    pub(super) fn outdated(line: usize, fence: &str, expected: &str, found: &str) -> Self {
        Self {
            line,
            fence: fence.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            remedy: Remedy::Update,
        }
    }

    /// A fence that has to be put right by hand, and why.
    pub(super) fn by_hand(line: usize, fence: &str, why: &str) -> Self {
        Self {
            remedy: Remedy::Hand,
            ..Self::outdated(line, fence, "", why)
        }
    }
}

/// `line N, fence`, then the lines that are said with `-` and the lines that are so with `+`, between what
/// both begin and end with.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected: Vec<&str> = self.expected.lines().collect();
        let found: Vec<&str> = self.found.lines().collect();
        let same = |(one, other): &(&&str, &&str)| one == other;
        let before = expected.iter().zip(&found).take_while(same).count();
        let rest = |lines: &[&str]| lines.len() - before;
        let behind = expected.iter().rev().zip(found.iter().rev());
        let behind = behind.take_while(same).count();
        let behind = behind.min(rest(&expected)).min(rest(&found));
        writeln!(f, "line {}, `{}`:", self.line, self.fence)?;
        for (sign, lines) in [('-', &expected), ('+', &found)] {
            let differing = lines.get(before..lines.len() - behind);
            for line in differing.unwrap_or_default() {
                writeln!(f, "  {sign} {line}")?;
            }
        }
        Ok(())
    }
}
