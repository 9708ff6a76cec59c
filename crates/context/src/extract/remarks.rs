//! The lines by which a change explains itself: the comments and the declarations that it puts in.
//!
//! They say in sentences what the code does, so they tell more of a change than its other lines.

use std::collections::HashSet;
use std::ops::Range;

use super::steps::{self, PATHS, declared};
use crate::summary::one_line;

/// Names under which tools take a whole text that a call puts in.
const CONTENTS: [&str; 5] = [
    "content",
    "contents",
    "file_text",
    "new_source",
    "insert_text",
];
/// Names under which tools take the text that a change takes away, and the text that takes its place.
const TAKES: [&str; 3] = ["old_string", "oldText", "old_str"];
const GIVES: [&str; 3] = ["new_string", "newText", "new_str"];
/// The beginnings of a line of comment.
const MARKS: [&str; 7] = ["/// ", "//! ", "// ", "# ", "-- ", "* ", "\"\"\""];
/// The mark that begins an entry of a list as well as a line of comment.
const BULLET: &str = "* ";
/// The line with which a patch begins. Its lines begin with `+` if they are put in, with `-` if they are taken away.
const PATCH: &str = "*** Begin Patch";
/// The longest remark, in bytes.
const LONGEST: usize = 320;
/// The most remarks of one change.
const MOST: usize = 6;
/// The fewest words of a comment that says something, and the fewest letters of one without spaces between words.
const WORDS: usize = 4;
const LETTERS: usize = 8;

/// The remarks of a readable call, as ranges of its text: declarations, and comments with all their lines. `None` if
/// the call puts no text into a file.
pub(super) fn remarks(call: &str) -> Option<Vec<Range<usize>>> {
    let is_patch = call
        .lines()
        .any(|line| line == PATCH || line.ends_with(": *** Begin Patch"));
    let argument = |keys: &[&str]| keys.iter().find_map(|key| argument(call, key));
    let (put, taken) = if is_patch {
        (0..call.len(), 0..call.len())
    } else {
        argument(&PATHS)?;
        match (argument(&TAKES), argument(&GIVES)) {
            // Clients differ in which of the two they send first.
            (Some(taken), Some(given)) if taken > given => (given..taken, taken..call.len()),
            (Some(taken), Some(given)) => (given..call.len(), taken..given),
            (None, Some(given)) => (given..call.len(), 0..0),
            (_, None) => (argument(&CONTENTS)?..call.len(), 0..0),
        }
    };
    let lines = call.get(taken).unwrap_or_default().lines();
    let taken: HashSet<&str> = match is_patch {
        true => lines
            .filter_map(|line| Some(line.strip_prefix('-')?.trim()))
            .collect(),
        false => lines.map(str::trim).collect(),
    };
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut told = HashSet::new();
    // The comment that is being read.
    let mut comment: Option<(Range<usize>, &str)> = None;
    let mut end = put.start;
    for line in call.get(put).unwrap_or_default().split_inclusive('\n') {
        end += line.len();
        let line = match is_patch {
            true => line.strip_prefix('+').unwrap_or_default(),
            false => line,
        };
        let bare = line.trim();
        let start = end - line.trim_start().len();
        let range = start..start + bare.len();
        let is_new = !taken.contains(bare);
        let mark = MARKS.into_iter().find(|mark| bare.starts_with(mark));
        comment = match (comment, mark.filter(|_| is_new)) {
            (Some((begun, before)), Some(mark))
                if before == mark && range.end - begun.start <= LONGEST =>
            {
                Some((begun.start..range.end, mark))
            }
            (begun, mark) => {
                let begun = begun.map(|(begun, _)| begun);
                out.extend(begun.filter(|it| says(call.get(it.clone()).unwrap_or_default())));
                mark.map(|mark| (range.clone(), mark))
            }
        };
        let declares = comment.is_none() && is_new && bare.len() <= LONGEST;
        if declares && declared(bare).is_some() && told.insert(bare) {
            out.push(range);
        }
        if out.len() >= MOST {
            break;
        }
    }
    let last = comment.map(|(begun, _)| begun);
    out.extend(last.filter(|it| says(call.get(it.clone()).unwrap_or_default())));
    out.truncate(MOST);
    Some(out)
}

/// Returns true if a comment has enough words, and is not too long to quote.
fn says(comment: &str) -> bool {
    let is_word = |word: &&str| word.chars().filter(|it| it.is_alphabetic()).count() >= 2;
    let is_foreign = |letter: &char| letter.is_alphabetic() && !letter.is_ascii();
    comment.len() <= LONGEST
        && (comment.split_whitespace().filter(is_word).count() >= WORDS
            || comment.chars().filter(is_foreign).count() >= LETTERS)
}

/// The byte at which the argument `key` of a readable call begins.
fn argument(call: &str, key: &str) -> Option<usize> {
    let named = format!("{key}: ");
    let first = call.find(' ').map(|at| at + 1);
    let first = first.filter(|&at| call.get(at..).is_some_and(|it| it.starts_with(&named)));
    let at = first.or_else(|| Some(call.find(&format!("\n{named}"))? + 1))?;
    Some(at + named.len())
}

/// A quotation of a call on one line: without the name of the argument, and a comment of several lines with one mark.
pub(super) fn on_one_line(said: &str) -> String {
    let mut out = String::with_capacity(said.len());
    let mut before = None;
    for line in steps::without_key(said).lines().map(str::trim) {
        let put = line.strip_prefix('+').map(str::trim_start);
        let line = put.unwrap_or(line);
        let mark = MARKS.into_iter().find(|mark| line.starts_with(mark));
        let goes_on = mark.filter(|&mark| Some(mark) == before && mark != BULLET);
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
    fn text_that_is_taken_away_is_not_told() {
        let call = "Edit file_path: p.yml\nold_string: kind: x\ncontent: y\n\
                    # Keep the old list until Friday.\nnew_string: kind: z";
        assert_eq!(told(call), Vec::<&str>::new());
        let call = "apply_patch input: *** Begin Patch\n-# Waits until the lock is free.\n\
                    +    # Waits until the lock is free.";
        assert_eq!(told(call), Vec::<&str>::new());
    }

    #[test]
    fn a_comment_is_told_with_all_its_lines() {
        let call = "Write file_path: a.rs\ncontent: // Every caller may use the cache freely,\n\
                    // except this.\nlet x = 1;\n// 返回两个列表中的所有文件";
        assert_eq!(
            told(call),
            [
                "// Every caller may use the cache freely,\n// except this.",
                "// 返回两个列表中的所有文件"
            ]
        );
    }

    #[test]
    fn a_call_that_puts_nothing_in_has_no_remarks() {
        assert_eq!(remarks("Bash command: # Says what it is for\nmake"), None);
        assert_eq!(remarks("Read file_path: a.rs"), None);
        assert_eq!(remarks("Bash command: rg -F '*** Begin Patch' src"), None);
        assert_eq!(
            remarks("post channel: x\ncontent: # Roll back when it is full"),
            None
        );
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
