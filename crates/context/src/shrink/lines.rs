//! Texts that are kept line by line: head, tail, and the lines that matter.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::note::grouped;

use super::budget::{Budget, Gap, Taken};
use super::class::ContentClass;
use super::{clip, score};

/// The share of the budget that goes to the head, and to the tail.
const fn ends(class: ContentClass) -> (f64, f64) {
    match class {
        // Runners say what was run at the top and how it went at the bottom.
        ContentClass::Log => (0.1, 0.2),
        ContentClass::Diff | ContentClass::Grep | ContentClass::Json => (0.1, 0.05),
        ContentClass::Code => (0.1, 0.05),
        ContentClass::Plain => (0.25, 0.2),
    }
}

/// Lines, and which of them are kept.
struct Selection<'a> {
    lines: Vec<&'a str>,
    kept: Vec<bool>,
    longest: usize,
    budget: Budget<'a>,
}

/// Selects the lines to keep, within the budget.
pub(super) fn body(text: &str, class: ContentClass, budget: Budget<'_>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut selection = Selection {
        kept: vec![false; lines.len()],
        longest: longest_line(&lines, &budget),
        lines,
        budget,
    };
    let (head, tail) = ends(class);
    selection.take_end(head, 0..selection.lines.len());
    selection.take_end(tail, (0..selection.lines.len()).rev());
    let (important, others) = selection.ranked(class);
    selection.take_all(&important);
    if matches!(class, ContentClass::Log | ContentClass::Diff) {
        selection.take_neighbours(&important);
    }
    selection.take_all(&others);
    selection.take_end(1.0, 0..selection.lines.len());
    selection.render()
}

/// The longest line. A few lines may be as long as they all fit.
fn longest_line(lines: &[&str], budget: &Budget<'_>) -> usize {
    let left = usize::try_from(budget.left().get()).unwrap_or(usize::MAX);
    let few = if lines.len() <= FEW { 4 } else { 0 };
    (1..=few)
        .rev()
        .map(|bytes_per_token| left.saturating_mul(bytes_per_token) / lines.len().max(1))
        .find(|longest| {
            let cut: Vec<_> = lines
                .iter()
                .map(|line| clip::line(line, *longest))
                .collect();
            budget.share(0.8).fits(&cut.join("\n"))
        })
        .unwrap_or_else(|| budget.longest_line())
}

/// A text of so few lines is cut inside its lines before any of them is left out.
const FEW: usize = 8;

/// Lines that matter this much are kept before anything else, and their neighbours after them.
const IMPORTANT: u8 = 50;

impl Selection<'_> {
    fn line(&self, index: usize) -> &str {
        self.lines.get(index).copied().unwrap_or_default()
    }

    fn is_kept(&self, index: usize) -> bool {
        self.kept.get(index).copied().unwrap_or(false)
    }

    /// Keeps a line where it fits.
    fn keep(&mut self, index: usize, budget: &mut Budget<'_>) -> Taken {
        if self.is_kept(index) {
            return Taken::Yes;
        }
        let beside = self.is_kept(index.wrapping_sub(1)) || self.is_kept(index + 1);
        let gap = if beside { Gap::None } else { Gap::Opens };
        let taken = budget.take(&clip::line(self.line(index), self.longest), gap);
        if taken == Taken::Yes
            && let Some(kept) = self.kept.get_mut(index)
        {
            *kept = true;
        }
        taken
    }

    /// Keeps lines in this order until a share of the budget is spent.
    fn take_end(&mut self, share: f64, order: impl Iterator<Item = usize>) {
        let mut part = self.budget.share(share);
        let given = part.left();
        for index in order {
            if self.keep(index, &mut part) == Taken::No {
                break;
            }
        }
        self.budget.settle(given, part);
    }

    /// The lines that matter, in the order of how much they do: the important ones and the others.
    /// Of lines that differ in numbers only, the later ones matter less, so that a warning that comes
    /// a thousand times leaves room for the error that comes once.
    fn ranked(&self, class: ContentClass) -> (Vec<usize>, Vec<usize>) {
        let mut seen: HashMap<String, u8> = HashMap::new();
        let mut ranked: Vec<(u8, usize)> = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            let mut score = score::of(clip::prefix(line, 1_000), class);
            if score > 0 && matches!(class, ContentClass::Log | ContentClass::Plain) {
                let times = seen
                    .entry(without_digits(clip::prefix(line, 200)))
                    .or_default();
                // Names of tests and headings often differ in numbers only: they sink slowly.
                let step = if matches!(score, 100 | 80) { 1 } else { 20 };
                score = score.saturating_sub(step * (*times).min(40 / step + 3));
                *times = times.saturating_add(1);
            }
            if score > 0 {
                ranked.push((score, index));
            }
        }
        ranked.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
        let border = ranked.partition_point(|(score, _)| *score >= IMPORTANT);
        let others = ranked.split_off(border);
        let indices =
            |ranked: Vec<(u8, usize)>| ranked.into_iter().map(|(_, index)| index).collect();
        (indices(ranked), indices(others))
    }

    /// Keeps as many of these lines as fit.
    fn take_all(&mut self, order: &[usize]) {
        let mut budget = self.budget;
        let mut refused = 0;
        for index in order {
            if self.keep(*index, &mut budget) == Taken::No {
                refused += 1;
            }
            // After so many lines that did not fit, later ones will not fit either.
            if refused > 20 {
                break;
            }
        }
        self.budget = budget;
    }

    /// Keeps what stands around important lines that are kept, the nearest first: what follows a
    /// failure explains it. Two thirds of what is left may go there.
    fn take_neighbours(&mut self, important: &[usize]) {
        let mut part = self.budget.share(0.66);
        let given = part.left();
        let kept = important
            .iter()
            .copied()
            .filter(|index| self.is_kept(*index));
        let anchors: Vec<usize> = kept.collect();
        'spend: for distance in 1..=4_usize {
            for index in &anchors {
                let before = index.checked_sub(distance.div_ceil(2));
                for neighbour in [Some(index + distance), before].into_iter().flatten() {
                    if neighbour < self.lines.len() && self.keep(neighbour, &mut part) == Taken::No
                    {
                        break 'spend;
                    }
                }
            }
        }
        self.budget.settle(given, part);
    }

    fn render(&self) -> String {
        let mut out = String::new();
        let mut missing = Missing::default();
        for (index, line) in self.lines.iter().enumerate() {
            if self.is_kept(index) {
                missing.mark(&mut out);
                out.push_str(&clip::line(line, self.longest));
                out.push('\n');
            } else {
                missing.add(line);
            }
        }
        missing.mark(&mut out);
        out
    }
}

/// Lines that are not shown.
#[derive(Default)]
struct Missing {
    lines: u64,
    bytes: u64,
}

impl Missing {
    const fn add(&mut self, line: &str) {
        self.lines += 1;
        self.bytes += line.len() as u64 + 1;
    }

    /// Writes how much is missing here, and begins anew.
    fn mark(&mut self, out: &mut String) {
        if self.lines > 0 {
            let lines = if self.lines == 1 { "line" } else { "lines" };
            let _ = write!(out, "[… {} {lines}", grouped(self.lines));
            // A gap of few lines may hide megabytes.
            if self.bytes > self.lines * 200 {
                let _ = write!(out, ", {} bytes", grouped(self.bytes));
            }
            out.push_str(" …]\n");
        }
        *self = Self::default();
    }
}

fn without_digits(line: &str) -> String {
    line.chars()
        .filter(|character| !character.is_ascii_digit())
        .collect()
}
