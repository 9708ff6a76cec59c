//! The lines by which a change explains itself: the comments and the declarations that it puts in.
//!
//! They say in sentences what the code does, so they tell more of a change than its other lines.

use std::collections::HashSet;
use std::ops::Range;

use super::steps::{self, declared};
use crate::summary::one_line;

/// Names under which tools take the text that a call puts in.
const PUTS: [&str; 8] = [
    "content",
    "contents",
    "file_text",
    "new_source",
    "new_string",
    "newText",
    "new_str",
    "insert_text",
];
/// Names under which tools take the text that a change takes away.
const TAKES: [&str; 3] = ["old_string", "oldText", "old_str"];
/// The beginnings of a line of comment.
const MARKS: [&str; 7] = ["/// ", "//! ", "// ", "# ", "* ", "-- ", "\"\"\""];
/// The first line of a patch, which marks what it puts in with a plus sign.
const PATCH: &str = "*** Begin Patch";
/// The longest remark, in bytes.
const LONGEST: usize = 240;
/// The most remarks of one change.
const MOST: usize = 6;
/// The fewest words of a comment that says something.
const WORDS: usize = 4;

/// The remarks of a readable call, as ranges of its text; none if the call puts no text in.
pub(super) fn remarks(call: &str) -> Option<Vec<Range<usize>>> {
    let is_patch = call.contains(PATCH);
    let put = match PUTS.iter().find_map(|key| argument(call, key)) {
        Some(start) => start..call.len(),
        None if is_patch => 0..call.len(),
        None => return None,
    };
    let taken = TAKES.iter().find_map(|key| argument(call, key));
    // Clients differ in which of the two they send first.
    let (put, taken) = match taken {
        Some(taken) if taken > put.start => (put.start..taken, taken..call.len()),
        Some(taken) => (put.clone(), taken..put.start),
        None => (put, 0..0),
    };
    let lines = call.get(taken).unwrap_or_default().lines().map(str::trim);
    let taken: HashSet<&str> = lines.collect();
    let mut out = Vec::new();
    let mut end = put.start;
    for line in call.get(put).unwrap_or_default().split_inclusive('\n') {
        end += line.len();
        let line = match is_patch {
            true => line.strip_prefix('+').unwrap_or_default(),
            false => line,
        };
        let bare = line.trim();
        if is_remark(bare) && !taken.contains(bare) && out.len() < MOST {
            let start = end - line.len() + (line.len() - line.trim_start().len());
            out.push(start..start + bare.len());
        }
    }
    Some(out)
}

/// Returns true if a line is a comment in words, or declares a name.
fn is_remark(line: &str) -> bool {
    let says = |word: &&str| word.chars().filter(|it| it.is_alphabetic()).count() >= 2;
    let is_comment = MARKS.iter().any(|mark| line.starts_with(mark));
    let is_told = is_comment && line.split_whitespace().filter(says).count() >= WORDS;
    line.len() <= LONGEST && (is_told || declared(line).is_some())
}

/// The byte at which the argument `key` of a readable call begins.
fn argument(call: &str, key: &str) -> Option<usize> {
    let later = format!("\n{key}: ");
    let first = format!(" {key}: ");
    let line = call.lines().next().unwrap_or_default();
    let found = line.find(&first).map(|at| at + first.len());
    found.or_else(|| call.find(&later).map(|at| at + later.len()))
}

/// A quotation of a call on one line: without the name of the argument, and a comment of several lines with one mark.
pub(super) fn on_one_line(said: &str) -> String {
    let mut out = String::with_capacity(said.len());
    let mut before = None;
    for line in steps::without_key(said).lines().map(str::trim) {
        let mark = MARKS.iter().find(|mark| line.starts_with(**mark));
        let goes_on = mark.filter(|_| mark == before);
        let rest = goes_on.and_then(|mark| line.strip_prefix(mark));
        before = mark;
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(rest.unwrap_or(line));
    }
    one_line(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(call: &str) -> Vec<&str> {
        let found = remarks(call).unwrap_or_default();
        found.into_iter().filter_map(|it| call.get(it)).collect()
    }

    #[test]
    fn a_change_is_told_by_the_comments_and_declarations_that_it_puts_in() {
        let old = "// Old words that stay as they are.\nfn gone() {";
        let new = "// Old words that stay as they are.\n  // Returns the files of both lists.\n  \
                   let x = 1;\npub fn both(a: &[File]) -> Vec<File> {\n// short one";
        let want = [
            "// Returns the files of both lists.",
            "pub fn both(a: &[File]) -> Vec<File> {",
        ];
        let call = format!("Edit file_path: a.rs\nold_string: {old}\nnew_string: {new}");
        assert_eq!(told(&call), want);
        let call = format!("Edit new_string: {new}\nold_string: {old}\nfile_path: a.rs");
        assert_eq!(told(&call), want);
    }

    #[test]
    fn a_patch_is_told_by_its_added_lines() {
        let call = "apply_patch input: *** Begin Patch\n*** Update File: a.py\n \
                    # What stands there is not told.\n-# What goes is not told either.\n\
                    +# Waits until the lock is free.\n+def wait(lock):\n*** End Patch";
        assert_eq!(
            told(call),
            ["# Waits until the lock is free.", "def wait(lock):"]
        );
    }

    #[test]
    fn a_call_that_puts_nothing_in_has_no_remarks() {
        assert_eq!(remarks("Bash command: # Says what it is for\nmake"), None);
        assert_eq!(remarks("Read file_path: a.rs"), None);
    }

    #[test]
    fn a_comment_of_several_lines_has_one_mark() {
        let said = "new_string: // Skips what the\n\t// list holds already.\n\tlet b = 2;";
        assert_eq!(
            on_one_line(said),
            "// Skips what the list holds already. let b = 2;"
        );
    }
}
