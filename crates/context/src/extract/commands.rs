//! The effects of shell commands on files and on the history of git, as far as a summary tells them.

use std::ops::Range;

use super::command_line::{binds, without_quotes, without_redirections};

/// Commands of git that report a commit.
const COMMIT: [&str; 7] = [
    "am",
    "cherry-pick",
    "commit",
    "merge",
    "pull",
    "rebase",
    "revert",
];
/// Folders for what nobody needs for long.
const TEMPORARY: [&str; 3] = ["/tmp/", "/var/tmp/", "/var/folders/"];
/// Options of git with which the file in the working tree stays as it is.
const ASIDE: [&str; 5] = ["--cached", "--dry-run", "--staged", "-S", "-n"];
/// Wrappers in front of a program.
const IN_FRONT: [&str; 3] = ["command", "sudo", "time"];

/// An effect of a command on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The file or folder was removed.
    Removed(String),
    /// The file has a new path.
    Moved(String, String),
    /// The changes of the file were taken back.
    Restored(String),
}

/// Returns true if a path lies where systems keep files that nobody needs for long.
pub(super) fn is_temporary(path: &str) -> bool {
    let path = path.strip_prefix("/private").unwrap_or(path);
    TEMPORARY.iter().any(|folder| path.starts_with(folder))
}

/// The most effects of one script.
const MOST: usize = 64;

/// The effects of a script that did not fail. `is_quiet` if its output reports no error: then a failure that the rest of
/// the script hides would have been seen.
pub(super) fn effects(script: &str, is_quiet: bool) -> Vec<Effect> {
    let mut out = Vec::new();
    let mut folder = Some(String::new());
    for command in commands(script) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let (named, rest) = match words.as_slice() {
            ["cd" | "pushd" | "popd", to @ ..] => {
                folder = inside(folder.as_deref(), to.first().copied().unwrap_or("-"));
                continue;
            }
            ["git", "checkout", options @ ..] => {
                // Without the dashes, the word may be a branch.
                let at = options.iter().position(|it| *it == "--");
                let behind = at.and_then(|at| options.get(at + 1..));
                ("restore", behind.unwrap_or_default())
            }
            ["git", "rm" | "mv", rest @ ..] if rest.iter().any(|it| ASIDE.contains(it)) => continue,
            ["git", "restore", rest @ ..] if rest.iter().any(|it| ASIDE.contains(it)) => continue,
            ["git", name, rest @ ..] | [name, rest @ ..] => (*name, rest),
            [] => continue,
        };
        let has_run = match command.runs {
            Runs::Shown => true,
            Runs::Hidden => is_quiet,
            Runs::Unknown => false,
        };
        if !has_run {
            continue;
        }
        let operands = rest.iter().filter(|it| !it.starts_with('-'));
        let operands: Vec<String> = operands
            .filter(|it| !it.contains(['*', '?', '$', '<', '>', '\\']))
            .filter_map(|it| inside(folder.as_deref(), it))
            .collect();
        match (named, operands.as_slice()) {
            ("rm" | "unlink", _) => out.extend(operands.into_iter().map(Effect::Removed)),
            ("mv", [from, to]) => out.push(Effect::Moved(from.clone(), to.clone())),
            ("restore", _) => out.extend(operands.into_iter().map(Effect::Restored)),
            _ => {}
        }
    }
    out.truncate(MOST);
    out
}

/// A path in a folder. `None` where it is not known, and for the folder itself.
fn inside(folder: Option<&str>, path: &str) -> Option<String> {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    if path.starts_with(['/', '~']) {
        return Some(path.to_owned());
    }
    if path.starts_with(['-', '.']) && path.trim_matches(['-', '.', '/']).is_empty()
        || path.contains("..")
    {
        return None;
    }
    match folder? {
        _ if path.is_empty() => None,
        "" => Some(path.to_owned()),
        folder => Some(format!("{folder}/{path}")),
    }
}

/// The part of a script in the history of git.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    /// Its output may report commits of the work.
    pub commits: bool,
    /// The first of them stands for the newest commit before it.
    pub amends: bool,
    /// The number of newest commits that it takes back.
    pub takes_back: usize,
}

/// The part of a script in the history of git. A repository in a temporary folder, and one that the script itself
/// creates, are no part of the work.
pub(super) fn history(script: &str) -> History {
    let mut out = History::default();
    let (mut is_scratch, mut has_committed) = (false, false);
    for command in commands(script) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["cd" | "pushd", to, ..] if to.starts_with(['/', '~']) => {
                is_scratch = is_temporary(&format!("{to}/"));
            }
            ["mktemp", ..] | ["git", "init", ..] => is_scratch = true,
            ["git", "-C", to, ..] if is_temporary(&format!("{to}/")) => {}
            ["git", "-C", _, name, rest @ ..] | ["git", name, rest @ ..] if !is_scratch => {
                out.commits |= COMMIT.contains(name);
                // Commits that the script itself made before are not told apart.
                if command.runs == Runs::Shown && !has_committed {
                    out.amends |= *name == "commit" && rest.contains(&"--amend");
                    if *name == "reset" {
                        out.takes_back += taken_back(rest);
                    }
                }
                has_committed |= COMMIT.contains(name);
            }
            _ => {}
        }
    }
    out
}

/// The number of commits that `git reset` takes back. With a path, it takes none.
fn taken_back(options: &[&str]) -> usize {
    let mut operands = options.iter().filter(|it| !it.starts_with('-'));
    match (operands.next(), operands.next()) {
        (Some(revision), None) if !options.contains(&"--") => before(revision).unwrap_or(0),
        _ => 0,
    }
}

/// The number of commits in front of which a revision stands: 2 for `HEAD~2`.
fn before(revision: &str) -> Option<usize> {
    let behind = revision.strip_prefix("HEAD")?;
    match behind.strip_prefix('~') {
        Some("") => Some(1),
        Some(number) => number.parse().ok(),
        None => (!behind.is_empty() && behind.bytes().all(|it| it == b'^')).then_some(behind.len()),
    }
}

/// The meaning of a script's success for one of its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    /// The command ran and did not fail.
    Shown,
    /// The command ran, but the rest of the script would hide a failure of it.
    Hidden,
    /// The command may not have run.
    Unknown,
}

/// A command of a script.
struct Command {
    words: Vec<String>,
    runs: Runs,
}

/// The commands of a script. One that binds its commands, or gives a program its input, is not taken apart.
fn commands(script: &str) -> Vec<Command> {
    let (masked, is_whole) = without_quotes(script);
    let masked = without_redirections(&masked);
    let is_bound = masked.lines().any(binds) || masked.contains("()") || masked.contains("<<");
    let is_remark = masked.split_whitespace().any(|word| word.starts_with('#'));
    let is_plain = is_whole && !is_bound && !is_remark;
    let mut out = Vec::new();
    let mut at = 0;
    let end = masked.trim_end_matches([';', '\n', ' ']).len();
    for chain in masked.split([';', '\n']) {
        let start = at;
        at += chain.len() + 1;
        let is_last = start + chain.len() >= end;
        // A background job, a pipe or an alternative hides what happens in its chain.
        let alone = chain.replace("&&", "  ");
        let is_simple = is_plain && !alone.contains(['&', '|']);
        let mut from = start;
        let mut is_first = true;
        for part in chain.split(['&', '|']) {
            let words = words((script, &masked), from..from + part.len());
            from += part.len() + 1;
            if words.is_empty() {
                continue;
            }
            let runs = match (is_simple, is_last, std::mem::take(&mut is_first)) {
                (true, true, _) => Runs::Shown,
                (true, false, true) => Runs::Hidden,
                _ => Runs::Unknown,
            };
            out.push(Command { words, runs });
        }
    }
    out
}

/// The words in a part of a script, without quotation marks. White space in a quotation parts none.
fn words((script, masked): (&str, &str), part: Range<usize>) -> Vec<String> {
    let mut words = Vec::new();
    let mut at = part.start;
    let text = masked.get(part).unwrap_or_default();
    for word in text.split([' ', '\t']) {
        let whole = script.get(at..at + word.len()).unwrap_or_default();
        at += word.len() + 1;
        let is_in_front = words.is_empty() && IN_FRONT.contains(&whole);
        // Redirections that keep nothing are blank.
        if !word.is_empty() && !is_in_front {
            words.push(whole.trim_matches(['"', '\'']).to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{Effect, History, effects, history};

    #[test]
    fn files_are_removed_moved_and_restored() {
        let removed = |path: &str| Effect::Removed(path.to_owned());
        let shown = |script: &str| effects(script, false);
        assert_eq!(
            shown("cd app && rm -f a.md ./b.md 2>/dev/null"),
            [removed("app/a.md"), removed("app/b.md")]
        );
        assert_eq!(shown("git rm -r 'old'"), [removed("old")]);
        assert_eq!(
            shown("rm 'release notes.md'"),
            [removed("release notes.md")]
        );
        assert_eq!(
            shown("git mv a.rs b.rs"),
            [Effect::Moved("a.rs".to_owned(), "b.rs".to_owned())]
        );
        let restored = [Effect::Restored("a.rs".to_owned())];
        assert_eq!(shown("git checkout -- a.rs"), restored);
        assert_eq!(shown("git restore a.rs"), restored);
        assert_eq!(effects("rm a; ls", true), [removed("a")]);
        for script in [
            "rm a; ls",
            "grep -q x a && rm a; ls",
            "test -f a || rm a",
            "if x; then rm a; fi",
            "clean() {\n rm a\n}\necho",
            "ls # then: rm a",
            "ssh host bash -s <<'EOF'\nrm a\nEOF",
            "rm a | cat",
            "rm -rf *",
            "rm -rf .",
            "cd - && rm a",
            "git rm --cached a",
            "git mv -n a b",
            "git checkout main",
            "git restore --staged a.rs",
            "echo 'rm a; rm b'",
            "rm $(ls)",
        ] {
            assert_eq!(effects(script, false), [], "{script}");
        }
        assert_eq!(effects("grep -q x a && rm a; ls", true), []);
    }

    #[test]
    fn commits_are_made_and_taken_back() {
        let check = |script: &str, commits: bool, amends: bool, takes_back: usize| {
            let expected = History {
                commits,
                amends,
                takes_back,
            };
            assert_eq!(history(script), expected, "{script}");
        };
        let message = "git add . && git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"";
        check(message, true, false, 0);
        check("git -C app commit -qm x", true, false, 0);
        check("git commit -m x 2>&1 | tail -3", true, false, 0);
        check("git commit --amend --no-edit", true, true, 0);
        check("git reset --soft HEAD~2", false, false, 2);
        check("git reset HEAD^^", false, false, 2);
        for script in [
            "git reset --hard origin/main",
            "git reset HEAD~1 -- src/a.rs",
            "git reset HEAD~1 src/a.rs",
            "git push || git reset --soft HEAD~1",
            "cat > undo.md <<'EOF'\ngit reset --hard HEAD~1\nEOF",
            "tail app.log",
            "echo git commit",
            "cd /tmp/x && git init && git commit -m x",
            "git init repo && cd repo && git commit -m x",
        ] {
            check(script, false, false, 0);
        }
        check(
            "git commit -m x; git commit --amend --no-edit",
            true,
            false,
            0,
        );
    }
}
