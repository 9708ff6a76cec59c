//! The lines that the newest changes brought, whole and in their order.
//!
//! A file that stands on disk can be read again, so only what was changed last is quoted, and no more than its beginning.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::census::Census;
use super::lines::{self, Span};
use super::remarks::{self, Added};
use super::secrets::holds_secrets;
use super::source::{Origin, Piece};
use super::steps::{CHANGES, PATHS, file_name};

/// The shortest and the longest bound for a snippet, in bytes.
const LONGEST: (f32, f32) = (160.0, 700.0);
/// The bytes of a snippet for each token of the room, so that three find room.
const PER_TOKEN: f32 = 1.2;
/// The longest text of a whole file that is quoted, in bytes: the beginning of a longer one tells little.
const WHOLE: usize = 2_000;
/// The fewest words of a snippet.
const WORDS: usize = 3;
/// The most changes that are looked at, and the most lines that are remembered of a file.
const MOST: (usize, usize) = (200, 400);
/// The length from which a text that a change took away is looked for inside of lines, in bytes.
const PART: usize = 8;
/// The lines of a patch that name its files.
const HEADINGS: [&str; 2] = ["*** Update File: ", "*** Add File: "];
/// Commands that may take a change of a file back.
const UNDO: [&str; 7] = [
    "git checkout",
    "git restore",
    "git reset",
    "git stash",
    "git revert",
    "sed -i",
    "rm ",
];
/// Those that take back all changes that were not committed.
const UNDO_ALL: [&str; 4] = [
    "git reset --hard",
    "git stash",
    "git checkout .",
    "git restore .",
];
/// The words behind `git stash` that take nothing back.
const STASHED: [&str; 6] = ["pop", "apply", "list", "show", "drop", "branch"];

/// The effect of later changes on a file.
#[derive(Default)]
struct Later<'t> {
    /// The lines that they took away.
    gone: HashSet<&'t str>,
    /// True if nothing is known to stand.
    is_replaced: bool,
}

/// The changes in front of turn `told` that still stand, for a room of so many tokens: the last change of each file,
/// newest first, then the ones before.
pub(super) fn snippets(
    pieces: &[Piece<'_>],
    census: &Census<'_>,
    (told, room): (usize, f32),
) -> Vec<Span> {
    let longest = (room * PER_TOKEN).clamp(LONGEST.0, LONGEST.1) as usize;
    let (mut last, mut before) = (Vec::new(), Vec::new());
    let mut later: HashMap<&str, Later<'_>> = HashMap::new();
    let mut undone: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    let calls = pieces.iter().enumerate().rev();
    let calls = calls.filter(|(_, it)| it.origin == Origin::Call && !it.fails);
    let mut left = MOST.0;
    let mut is_undone = false;
    for (number, piece) in calls {
        let added = remarks::added(piece);
        let files = files(piece, added.as_ref());
        if let Some(script) = piece.script().filter(|_| added.is_none()) {
            match undoes_all(script) {
                Some(true) => break,
                Some(false) => is_undone = true,
                // What was committed stays.
                None => is_undone &= !script.contains("git commit"),
            }
            undone.extend(UNDO.iter().any(|it| script.contains(it)).then_some(script));
        }
        let (Some(added), [file]) = (added, &files[..]) else {
            // How each file changes is not known.
            for file in files {
                later.entry(file).or_default().is_replaced = true;
            }
            continue;
        };
        let Some(rest) = left.checked_sub(1) else {
            break;
        };
        left = rest;
        let is_first = !later.contains_key(file);
        let after = later.entry(file).or_default();
        let name = file_name(file);
        let stands = piece.turn < told
            && !is_undone
            && !after.is_replaced
            && !holds_secrets(name)
            && !undone.iter().any(|it| it.contains(name));
        let found = stands.then(|| snippet(piece, &added, &after.gone, longest));
        if let Some((range, is_cut)) = found.flatten()
            && seen.insert(piece.text.get(range.clone()))
        {
            let mut span = lines::span(piece, (number, range), census);
            span.is_cut.1 |= is_cut;
            let to = if is_first { &mut last } else { &mut before };
            to.push(span);
        }
        let new = piece.text.get(added.range).unwrap_or_default();
        let kept: HashSet<&str> = new.lines().map(str::trim).collect();
        let gone = added.removed.into_iter().filter(|it| !kept.contains(it));
        let space = MOST.1.saturating_sub(after.gone.len());
        after.gone.extend(gone.take(space));
        after.is_replaced |= added.is_whole;
    }
    last.append(&mut before);
    last
}

/// Returns whether a command takes back what was committed too; `None` if it does not take everything back.
fn undoes_all(script: &str) -> Option<bool> {
    UNDO_ALL.iter().find_map(|command| {
        let (_, behind) = script.split_once(command)?;
        let next = behind.split([';', '&', '|', '\n']).next();
        let next = next.unwrap_or_default().split_whitespace().next();
        let is_whole = behind.is_empty() || behind.starts_with([' ', ';', '\n']);
        let takes_back = is_whole && !next.is_some_and(|word| STASHED.contains(&word));
        let is_reset = *command == UNDO_ALL[0];
        takes_back.then_some(is_reset && next.is_some_and(|word| word != "HEAD"))
    })
}

/// The files that a call changes.
fn files<'p>(piece: &'p Piece<'_>, added: Option<&Added<'_>>) -> Vec<&'p str> {
    let argument = |(name, at): &'p (String, Range<usize>)| {
        let path = piece.text.get(at.clone())?;
        PATHS.contains(&name.as_str()).then_some(path)
    };
    let mut arguments = piece.arguments.iter();
    match added {
        Some(added) if added.is_patch => {
            let patch = piece.text.get(added.range.clone()).unwrap_or_default();
            let named = |line: &'p str| HEADINGS.iter().find_map(|it| line.strip_prefix(it));
            patch.lines().filter_map(named).map(str::trim).collect()
        }
        Some(_) => arguments.find_map(argument).into_iter().collect(),
        None => {
            let mut names = piece.arguments.iter().map(|(name, _)| name.as_str());
            let changes = names.any(|name| CHANGES.contains(&name));
            let path = arguments.find_map(argument).filter(|_| changes);
            path.into_iter().collect()
        }
    }
}

/// The new lines of a change from the first to the last, as many as fit, and whether there are more; `None` where they
/// tell nothing or no longer stand.
fn snippet(
    piece: &Piece<'_>,
    added: &Added<'_>,
    gone: &HashSet<&str>,
    longest: usize,
) -> Option<(Range<usize>, bool)> {
    let text = piece.text.get(added.range.clone())?;
    if added.is_whole && text.len() > WHOLE {
        return None;
    }
    let is_gone = |line: &str| {
        let is_in = |it: &&str| it.len() >= PART && line.contains(*it);
        gone.contains(line) || gone.iter().any(is_in)
    };
    let (mut found, mut is_cut) = (None::<Range<usize>>, false);
    for (line, range) in new_lines(text, added) {
        if is_gone(line) {
            return None;
        }
        // What closes something that began above says nothing.
        if found.is_none() && line.starts_with(['}', ')', ']']) {
            continue;
        }
        let from = found.as_ref().map_or(range.start, |it| it.start);
        if range.end - from > longest {
            is_cut = true;
            break;
        }
        found = Some(from..range.end);
    }
    let range = found?;
    let range = added.range.start + range.start..added.range.start + range.end;
    let said = piece.text.get(range.clone())?;
    let words = said.split(|it: char| !it.is_alphabetic());
    let tells = words.filter(|it| it.len() >= 2).count() >= WORDS
        && (said.contains('\n') || !lines::is_fragment(said));
    tells.then_some((range, is_cut))
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
        quoted_in(changes, 1_000.0)
    }

    fn quoted_in(
        changes: impl IntoIterator<Item = [TurnDraft; 2]>,
        room: f32,
    ) -> Vec<(String, bool)> {
        let turns = placed(changes.into_iter().flatten());
        let pieces = source::pieces(&turns);
        let census = Census::of(&pieces);
        let found = snippets(&pieces, &census, (turns.len(), room));
        let text = |span: &Span| {
            let piece = &pieces[span.place.piece];
            let range = span.place.at..span.end;
            remarks::lines(piece, range, remarks::patch(piece).is_some())
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
            whole(&["let gap = lock.wait(limit);\nif gap.is_long() {\nwarn(gap);"])
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
    fn what_later_calls_replaced_or_took_back_is_not_quoted() {
        let first = || edit("/p/a.py", "x", "wait = thirty seconds here");
        let call = |tool: &str, input: serde_json::Value| changed(tool, &input.to_string());
        let ran = |command: &str| call("Bash", json!({ "command": command }));
        let parts = json!([{ "old_string": "thirty", "new_string": "sixty" }]);
        let patch = "*** Begin Patch\n*** Update File: /p/b.py\n+let other = rows.of(b)\n\
                     *** Update File: /p/a.py\n-wait = thirty seconds here\n*** End Patch";
        let changes = [
            edit("/p/a.py", "thirty seconds", "sixty s"),
            call(
                "Write",
                json!({ "file_path": "/p/a.py", "content": "a = 1" }),
            ),
            call(
                "MultiEdit",
                json!({ "file_path": "/p/a.py", "edits": parts }),
            ),
            call("apply_patch", json!({ "input": patch })),
            ran("git checkout -- a.py"),
            ran("rm /p/a.py"),
            ran("git reset --hard origin/main"),
        ];
        for change in changes {
            assert_eq!(quoted([first(), change]), []);
        }
        let others = [
            ran("git stash list"),
            ran("git checkout .github/a.yml"),
            edit("/q/a.py", "thirty seconds", "sixty s"),
            ran("git checkout -- b.py"),
            ran("git status"),
        ];
        for change in others {
            assert_eq!(
                quoted([first(), change]),
                whole(&["wait = thirty seconds here"])
            );
        }
    }

    #[test]
    fn what_was_committed_stays_where_the_rest_is_taken_back() {
        let ran = |command: &str| changed("Bash", &json!({ "command": command }).to_string());
        let changes = |undo: &str| {
            [
                edit("/p/a.py", "x", "wait = thirty seconds here"),
                ran("git commit -am wait"),
                edit("/p/b.py", "x", "wait = sixty seconds here"),
                ran(undo),
            ]
        };
        let first = whole(&["wait = thirty seconds here"]);
        for undo in [
            "git stash",
            "git checkout .",
            "git reset --hard && make",
            "git reset --hard HEAD",
        ] {
            assert_eq!(quoted(changes(undo)), first, "{undo}");
        }
        assert_eq!(quoted(changes("git reset --hard HEAD~1")), []);
    }

    #[test]
    fn in_little_room_a_snippet_is_shorter() {
        let line = |n: usize| format!("table.insert(row_{n}, count.of(row_{n}));");
        let new = (0..40).map(line).collect::<Vec<_>>().join("\n");
        let found = quoted_in([edit("rows.rs", "x", &new)], 100.0);
        assert!(found[0].1 && found[0].0.len() < 200, "{found:?}");
    }

    #[test]
    fn of_a_patch_the_first_added_lines_are_quoted() {
        let patch = "*** Begin Patch\n*** Update File: src/rows.py\n def load():\n-    read(lock)\n\
                     +    gap = lock.wait(limit)\n+    warn(gap)\n     return rows\n+    more(rows, gap)\n\
                     *** End Patch";
        let input = json!({ "input": patch }).to_string();
        assert_eq!(
            quoted([changed("apply_patch", &input)]),
            whole(&["gap = lock.wait(limit)\nwarn(gap)"])
        );
    }

    #[test]
    fn what_tells_nothing_or_too_much_is_not_quoted() {
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
            edit("d.go", "x", "\"github.com/acme/tool/rows\""),
        ];
        assert_eq!(quoted(changes), []);
    }

    #[test]
    fn files_that_hold_secrets_are_not_quoted() {
        let added = "key = abc of the house";
        for file in [
            "/p/.env",
            "/p/.env.local",
            "/p/prod.env",
            "C:\\p\\.env",
            "~/.ssh/id_rsa",
            "~/.aws/credentials",
            "config/credentials.json",
            "k8s/Secrets.yaml",
            "~/.npmrc",
            "tls/server.pem",
            "tls/server.key",
            "infra/prod.tfvars",
        ] {
            assert_eq!(quoted([edit(file, "x", added)]), [], "{file}");
            let patch =
                format!("*** Begin Patch\n*** Update File: {file}\n-x\n+{added}\n*** End Patch");
            let input = json!({ "input": patch }).to_string();
            assert_eq!(quoted([changed("apply_patch", &input)]), [], "{file}");
        }
        for file in ["src/environment.rs", "src/keys.rs", "package.json"] {
            assert_eq!(quoted([edit(file, "x", added)]), whole(&[added]), "{file}");
        }
    }

    #[test]
    fn the_description_of_a_task_is_no_change_of_a_file() {
        let said = "Read the gap of the lock before the rows.";
        let tasks = [
            (
                "TaskCreate",
                json!({ "subject": "Gap", "description": said }),
            ),
            ("TaskUpdate", json!({ "taskId": "4", "description": said })),
            (
                "TaskUpdate",
                json!({ "taskId": "4", "description": said, "file": "src/rows.rs" }),
            ),
            ("TaskUpdate", json!({ "taskId": "4", "content": said })),
        ];
        for (tool, input) in tasks {
            let code = edit("src/rows.rs", "x", "let gap = lock.wait(limit);");
            let task = changed(tool, &input.to_string());
            assert_eq!(
                quoted([code, task]),
                whole(&["let gap = lock.wait(limit);"]),
                "{input}"
            );
        }
    }
}
