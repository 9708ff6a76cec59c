//! The lines that the newest changes brought, whole and in their order.
//!
//! A file that stands on disk can be read again, so only what was changed last is quoted, and no more than its beginning.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::census::Census;
use super::lines::{self, Span};
use super::remarks::{self, Added};
use super::source::{Origin, Piece};

/// The longest snippet, in bytes.
const LONGEST: usize = 700;
/// The longest text of a whole file that is quoted, in bytes: the beginning of a longer one tells little.
const WHOLE: usize = 2_000;
/// The fewest words of a snippet.
const WORDS: usize = 3;

/// What the calls in front of turn `told` changed, as far as no later change took it away: the last change of each file,
/// newest first, then the ones before.
pub(super) fn snippets(pieces: &[Piece<'_>], census: &Census<'_>, told: usize) -> Vec<Span> {
    let (mut last, mut before) = (Vec::new(), Vec::new());
    // The lines that later changes took away, by file.
    let mut gone: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut seen = HashSet::new();
    let changes = pieces.iter().enumerate().rev();
    for (number, piece) in changes.filter(|(_, it)| it.origin == Origin::Call && !it.fails) {
        let Some(added) = remarks::added(piece) else {
            continue;
        };
        let is_first = !gone.contains_key(&*piece.about);
        let gone = gone.entry(&piece.about).or_default();
        let is_told = piece.turn >= told;
        if let Some((range, is_cut)) = snippet(piece, &added, gone).filter(|_| !is_told) {
            let said = piece.text.get(range.clone()).unwrap_or_default();
            if seen.insert(said) {
                let mut span = lines::span(piece, (number, range), census);
                span.is_cut.1 |= is_cut;
                let to = if is_first { &mut last } else { &mut before };
                to.push(span);
            }
        }
        let new = piece.text.get(added.range.clone()).unwrap_or_default();
        let kept: HashSet<&str> = new.lines().map(str::trim).collect();
        gone.extend(added.removed.iter().filter(|line| !kept.contains(*line)));
    }
    last.append(&mut before);
    last
}

/// The new lines of a change from the first to the last, as many as fit, and whether there are more; `None` where they
/// tell nothing or no longer stand.
fn snippet(
    piece: &Piece<'_>,
    added: &Added<'_>,
    gone: &HashSet<&str>,
) -> Option<(Range<usize>, bool)> {
    let text = piece.text.get(added.range.clone())?;
    if added.removed.is_empty() && !added.is_patch && text.len() > WHOLE {
        return None;
    }
    let (mut found, mut is_cut) = (None::<Range<usize>>, false);
    for (line, range) in new_lines(text, added) {
        if gone.contains(line) {
            return None;
        }
        let from = found.as_ref().map_or(range.start, |it| it.start);
        if range.end - from > LONGEST {
            is_cut = true;
            break;
        }
        found = Some(from..range.end);
    }
    let range = found?;
    let range = added.range.start + range.start..added.range.start + range.end;
    let said = piece.text.get(range.clone())?;
    let words = said.split(|it: char| !it.is_alphabetic());
    (words.filter(|it| it.len() >= 2).count() >= WORDS).then_some((range, is_cut))
}

/// The lines of a text that were not there before, without their indentation, each with its range: of a patch the first
/// that stand together. Brackets alone are no lines.
fn new_lines<'t>(
    text: &'t str,
    added: &Added<'_>,
) -> impl Iterator<Item = (&'t str, Range<usize>)> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(move |whole| {
        at += whole.len();
        (whole, at - whole.len())
    });
    let is_before = |whole: &str| added.is_patch && !whole.starts_with('+');
    let lines = lines.skip_while(move |(whole, _)| is_before(whole));
    let lines = lines.take_while(move |(whole, _)| !is_before(whole));
    lines.filter_map(|(whole, start)| {
        let bare = whole.strip_prefix('+').filter(|_| added.is_patch);
        let line = bare.unwrap_or(whole).trim();
        let end = start + whole.trim_end().len();
        let is_new = line.contains(char::is_alphanumeric) && !added.removed.contains(line);
        is_new.then_some((line, end - line.len()..end))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::extract::source;
    use crate::extract::tests::{call, placed, result};
    use crate::turn::{Outcome, TurnDraft};

    fn edit(file: &str, old: &str, new: &str) -> [TurnDraft; 2] {
        let input = json!({ "file_path": file, "old_string": old, "new_string": new });
        changed("Edit", &input.to_string())
    }

    fn changed(tool: &str, input: &str) -> [TurnDraft; 2] {
        let done = result("Updated.", Outcome::Succeeded);
        [call(tool, input), done]
    }

    /// The snippets, and whether each is cut behind its end. None of the turns is told elsewhere.
    fn quoted(changes: impl IntoIterator<Item = [TurnDraft; 2]>) -> Vec<(String, bool)> {
        let turns = placed(changes.into_iter().flatten());
        let pieces = source::pieces(&turns);
        let census = Census::of(&pieces);
        let found = snippets(&pieces, &census, turns.len());
        let text = |span: &Span| {
            let piece = &pieces[span.place.piece];
            let range = span.place.at..span.end;
            remarks::on_one_line(piece, range, remarks::patch(piece).is_some())
        };
        found.iter().map(|it| (text(it), it.is_cut.1)).collect()
    }

    fn whole(texts: &[&str]) -> Vec<(String, bool)> {
        texts.iter().map(|it| ((*it).to_owned(), false)).collect()
    }

    #[test]
    fn the_new_lines_of_a_change_are_quoted_whole() {
        let old = "fn load() {\n}";
        let new = "fn load() {\n    let gap = lock.wait(limit);\n\n    if gap.is_long() {\n        warn(gap);\n    }\n}";
        assert_eq!(
            quoted([edit("rows.rs", old, new)]),
            whole(&["let gap = lock.wait(limit); / if gap.is_long() { / warn(gap);"])
        );
    }

    #[test]
    fn the_last_change_of_each_file_comes_first() {
        let first = edit("a.rs", "x", "let first = rows.of(a);");
        let second = edit("b.rs", "x", "let second = rows.of(b);");
        let third = edit("a.rs", "y", "let third = rows.of(c);");
        assert_eq!(
            quoted([first, second, third]),
            whole(&[
                "let third = rows.of(c);",
                "let second = rows.of(b);",
                "let first = rows.of(a);"
            ])
        );
    }

    #[test]
    fn a_longer_change_is_cut_behind_a_line() {
        let line = |n: usize| format!("table.insert(row_{n}, count.of(row_{n}));");
        let new = (0..40).map(line).collect::<Vec<_>>().join("\n");
        let found = quoted([edit("rows.rs", "x", &new)]);
        let [(text, is_cut)] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(*is_cut && text.ends_with(&line(17)), "{text}");
    }

    #[test]
    fn lines_that_a_later_change_took_away_are_not_quoted() {
        let first = "let gap = lock.wait(limit);\nlog.write(gap, limit);";
        let second = "journal.note(gap, limit);";
        let changes = || {
            [
                edit("a.rs", "x", first),
                edit("a.rs", "log.write(gap, limit);", second),
            ]
        };
        assert_eq!(quoted(changes()), whole(&[second]));
    }

    #[test]
    fn of_a_patch_the_first_added_lines_are_quoted() {
        let patch = "*** Begin Patch\n*** Update File: src/rows.py\n def load():\n-    read(lock)\n\
                     +    gap = lock.wait(limit)\n+    warn(gap)\n     return rows\n+    more(rows, gap)\n\
                     *** End Patch";
        let input = json!({ "input": patch }).to_string();
        assert_eq!(
            quoted([changed("apply_patch", &input)]),
            whole(&["gap = lock.wait(limit) / warn(gap)"])
        );
    }

    #[test]
    fn failed_changes_long_files_and_short_lines_are_not_quoted() {
        let input =
            json!({ "file_path": "a.rs", "old_string": "x", "new_string": "let a = rows.of(b);" });
        let failed = [
            call("Edit", &input.to_string()),
            result("String to replace not found in file.", Outcome::Failed),
        ];
        let long = "let a = rows.of(b);\n".repeat(200);
        let written = json!({ "file_path": "b.rs", "content": long });
        let changes = [
            failed,
            changed("Write", &written.to_string()),
            edit("c.rs", "x", "a = 1"),
        ];
        assert_eq!(quoted(changes), []);
    }
}
