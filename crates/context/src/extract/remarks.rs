//! The lines by which a change explains itself: the comments and the declarations that it adds.
//!
//! They say in sentences what the code does, so they tell more of a change than its other lines.

use std::collections::HashSet;
use std::ops::Range;

use super::source::Piece;
use super::steps::{self, CONTENTS, NEW, OLD, PATHS, declared};
use crate::summary::one_line;

/// The name under which tools take a text that stands in for none.
const INSERTED: [&str; 1] = ["insert_text"];
/// The beginnings of a line of comment.
const MARKS: [&str; 7] = ["/// ", "//! ", "// ", "# ", "-- ", "* ", "\"\"\""];
/// The mark that begins an entry of a list as well as a line of comment.
const BULLET: &str = "* ";
/// The line with which a patch begins. Added lines begin with `+`, removed ones with `-`.
const PATCH: &str = "*** Begin Patch";
/// The beginning of the line in front of the content of a new file.
const ADDED: &str = "*** Add File: ";
/// The longest remark, in bytes.
const LONGEST: usize = 320;
/// The most remarks of one change.
const MOST: usize = 6;
/// The fewest words of a comment that says something, and the fewest letters of one without spaces between words.
const WORDS: usize = 4;
const LETTERS: usize = 8;

/// Text that a call adds to a file.
pub(super) struct Added<'p> {
    /// The new text, or the patch.
    pub range: Range<usize>,
    /// The lines that stood there before, without their indentation; of a patch those that it removes.
    pub removed: HashSet<&'p str>,
    pub is_patch: bool,
    /// True if it is the whole content of a file.
    pub is_whole: bool,
}

/// The text that a call adds; `None` if it adds none to a file.
pub(super) fn added<'p>(piece: &'p Piece<'_>) -> Option<Added<'p>> {
    let call = &*piece.text;
    let argument = |keys: &[&str]| {
        let is_it = |(name, _): &&(String, Range<usize>)| keys.contains(&name.as_str());
        piece.arguments.iter().find(is_it).map(|(_, at)| at.clone())
    };
    let patch = patch(piece);
    let is_patch = patch.is_some();
    let mut is_whole = false;
    let (range, removed) = match patch {
        Some(patch) => {
            is_whole = call.get(patch.clone())?.contains(ADDED);
            (patch.clone(), patch)
        }
        None => {
            argument(&PATHS)?;
            match (argument(&OLD), argument(&NEW)) {
                (removed, Some(added)) => (added, removed.unwrap_or_default()),
                (Some(_), None) => return None,
                (None, None) => {
                    let whole = argument(&CONTENTS);
                    is_whole = whole.is_some();
                    (whole.or_else(|| argument(&INSERTED))?, 0..0)
                }
            }
        }
    };
    let lines = call.get(removed).unwrap_or_default().lines();
    let removed: HashSet<&str> = match is_patch {
        true => lines
            .filter_map(|line| Some(line.strip_prefix('-')?.trim()))
            .collect(),
        false => lines.map(str::trim).collect(),
    };
    Some(Added {
        range,
        removed,
        is_patch,
        is_whole,
    })
}

/// The remarks of a call, as ranges of its text: declarations, and comments with all their lines. `None` if the call
/// adds no text to a file.
pub(super) fn remarks(piece: &Piece<'_>) -> Option<Vec<Range<usize>>> {
    let Added {
        range: added,
        removed,
        is_patch,
        ..
    } = added(piece)?;
    let call = &*piece.text;
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut told = HashSet::new();
    // The comment that is being read.
    let mut comment: Option<(Range<usize>, &str)> = None;
    let mut end = added.start;
    for line in call.get(added).unwrap_or_default().split_inclusive('\n') {
        end += line.len();
        let line = match is_patch {
            true => line.strip_prefix('+').unwrap_or_default(),
            false => line,
        };
        let bare = line.trim();
        let start = end - line.trim_start().len();
        let range = start..start + bare.len();
        let is_new = !removed.contains(bare);
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

/// The patch that a call makes, as a range of its text: an argument that begins like one, without a path beside it.
pub(super) fn patch(piece: &Piece<'_>) -> Option<Range<usize>> {
    let is_path = |(name, _): &(String, Range<usize>)| PATHS.contains(&name.as_str());
    let begins = |(_, at): &&(String, Range<usize>)| {
        let text = piece.text.get(at.clone()).unwrap_or_default();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        // A shell takes it from a here-document.
        first == PATCH || first.starts_with("apply_patch ") && lines.next() == Some(PATCH)
    };
    let found = piece.arguments.iter().find(begins)?;
    (!piece.arguments.iter().any(is_path)).then(|| found.1.clone())
}

/// The lines of a quotation of a call, without the names of the arguments. A comment of several lines stands on one,
/// with one mark.
pub(super) fn lines(piece: &Piece<'_>, range: Range<usize>, is_patch: bool) -> String {
    let said = piece.text.get(range.clone()).unwrap_or_default();
    let mut out = String::with_capacity(said.len());
    let mut before = None;
    let mut at = range.start;
    let names_file = piece.names_its_file(at);
    let is_file = is_patch || piece.script().is_none();
    let second = at + said.find('\n').map_or(0, |end| end + 1);
    for whole in said.split_inclusive('\n') {
        let line = match piece.argument_at(at).filter(|name| steps::is_key(name)) {
            Some(name) => whole.get(name.len() + 2..).unwrap_or(whole),
            None => whole,
        };
        // The second line alone.
        let is_below = names_file && at == second;
        at += whole.len();
        let added = line.strip_prefix('+').filter(|_| is_patch);
        let line = added.unwrap_or(line).trim();
        // Braces and blank lines between others tell nothing.
        if whole.len() < said.len() && !line.contains(char::is_alphanumeric) {
            continue;
        }
        let mark = MARKS.into_iter().find(|mark| line.starts_with(mark));
        let goes_on = mark.filter(|&mark| Some(mark) == before && mark != BULLET);
        let rest = goes_on.and_then(|mark| line.strip_prefix(mark));
        before = mark;
        match out.is_empty() {
            true => {}
            // What stands below a path is about that file.
            false if is_below => out.push_str(": "),
            // Lines of a command go on.
            false if goes_on.is_some() || !is_file => out.push(' '),
            false => out.push('\n'),
        }
        out.push_str(rest.unwrap_or(line));
    }
    let lines: Vec<String> = out.lines().map(one_line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::source::{Origin, readable_call};
    use super::*;
    use crate::turn::{CallId, ToolCall};

    #[test]
    fn what_stands_below_a_path_is_about_that_file() {
        let edit = piece(
            "Edit",
            r#"{"replace_all":false,"file_path":"/app/rows.rs","old_string":"// Rows keep their order.\nfile: a"}"#,
        );
        let from = edit.text.find("file_path").unwrap();
        assert_eq!(
            lines(&edit, from..edit.text.len(), false),
            "/app/rows.rs: // Rows keep their order.\nfile: a"
        );
        let from = edit.text.find("file: a").unwrap();
        assert_eq!(lines(&edit, from..edit.text.len(), false), "file: a");
    }

    fn one_line_of(said: &str, is_patch: bool) -> String {
        let name = "new_string";
        let value = said.strip_prefix(name).map(|_| name.len() + 2..said.len());
        let piece = Piece {
            text: said.to_owned().into(),
            arguments: value.map(|at| (name.to_owned(), at)).into_iter().collect(),
            ..piece("Edit", "{}")
        };
        lines(&piece, 0..said.len(), is_patch)
    }

    fn piece(name: &str, arguments: &str) -> Piece<'static> {
        let (text, arguments) = readable_call(&ToolCall {
            id: CallId::from("c1"),
            name: name.into(),
            arguments: arguments.into(),
        });
        Piece {
            turn: 0,
            origin: Origin::Call,
            text: text.into(),
            about: "".into(),
            fails: false,
            arguments,
        }
    }

    #[track_caller]
    fn check_raw(name: &str, arguments: &str, want: &[&str]) {
        let piece = piece(name, arguments);
        let found = remarks(&piece).unwrap_or_default();
        let told: Vec<&str> = found
            .into_iter()
            .filter_map(|it| piece.text.get(it))
            .collect();
        assert_eq!(told, want);
    }

    #[track_caller]
    fn check(arguments: &Value, want: &[&str]) {
        check_raw("Edit", &arguments.to_string(), want);
    }

    #[test]
    fn a_change_is_told_by_the_comments_and_declarations_that_it_adds() {
        let old = "// Old words that stay as they are.\nfn gone() {";
        let new = "// Old words that stay as they are.\n  // Returns the files of both lists.\n  \
                   let x = 1;\npub fn both(a: &[File]) -> Vec<File> {\n// short one";
        check(
            &json!({"file_path": "a.rs", "old_string": old, "new_string": new, "replace_all": true}),
            &[
                "// Returns the files of both lists.",
                "pub fn both(a: &[File]) -> Vec<File> {",
            ],
        );
    }

    /// A patch, as it is an argument, a text of its own, and a here-document.
    #[test]
    fn a_patch_is_told_by_its_added_lines() {
        let patch = "*** Begin Patch\n*** Update File: a.py\n # What stands there is not told.\n\
                     -# What goes\\nwith a mark is not told either.\n+# Waits until the lock is free.\n\
                     +def wait(lock):\n*** End Patch";
        let want = ["# Waits until the lock is free.", "def wait(lock):"];
        check(&json!({"input": patch}), &want);
        check_raw("apply_patch", patch, &want);
        let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        check(&json!({"command": command}), &want);
    }

    #[test]
    fn removed_text_is_not_told() {
        let old = "kind: x\ncontent: y\n# Keep the old list until Friday.";
        check(
            &json!({"file_path": "p.yml", "old_string": old, "new_string": "kind: z"}),
            &[],
        );
        check(
            &json!({"command": "str_replace", "path": "p.yml", "old_str": old}),
            &[],
        );
        check(
            &json!({"path": "p.yml", "edits": [{"old_string": old, "new_string": "kind: z"}]}),
            &[],
        );
        let old = "let x = \"\nnew_string: a\";\n// Removes the stale lock on start.";
        check(
            &json!({"file_path": "a.rs", "old_string": old, "new_string": "let x = 1;"}),
            &[],
        );
        let old = "*** Begin Patch\n+# Waits until the lock is free.";
        check(
            &json!({"file_path": "a.md", "old_string": old, "new_string": "x"}),
            &[],
        );
        let patch = "*** Begin Patch\n-# Waits until the lock is free.\n+    # Waits until the lock is free.";
        check(&json!({"input": patch}), &[]);
    }

    #[test]
    fn a_comment_is_told_with_all_its_lines() {
        let content = "// Every caller may use the cache freely,\n// except this.\nlet x = 1;\n\
                       // 返回两个列表中的所有文件";
        check(
            &json!({"file_path": "a.rs", "content": content}),
            &[
                "// Every caller may use the cache freely,\n// except this.",
                "// 返回两个列表中的所有文件",
            ],
        );
    }

    #[test]
    fn a_call_that_adds_nothing_has_no_remarks() {
        for arguments in [
            json!({"command": "# Says what it is for\nmake"}),
            json!({"file_path": "a.rs"}),
            json!({"command": "rg -F '*** Begin Patch' src"}),
            json!({"channel": "x", "content": "# Roll back when it is full"}),
        ] {
            assert_eq!(remarks(&piece("Tool", &arguments.to_string())), None);
        }
    }

    #[test]
    fn a_comment_of_several_lines_has_one_mark() {
        let said = "new_string: // Skips what the\n\t// list holds already.\n\tlet b = 2;";
        assert_eq!(
            one_line_of(said, false),
            "// Skips what the list holds already.\nlet b = 2;"
        );
        let said = "// Skips what the\n+\t// list holds already.";
        assert_eq!(
            one_line_of(said, true),
            "// Skips what the list holds already."
        );
        assert_eq!(one_line_of("a = b\n}\n+ name;", false), "a = b\n+ name;");
        assert_eq!(one_line_of("++retries;", false), "++retries;");
    }
}
