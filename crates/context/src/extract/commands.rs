//! What shell commands do to files and to the history of git, as far as a summary tells it.

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

/// The effects of a script, if it did not fail. A script that binds its commands is not taken apart, and of commands
/// behind `||` none may have run.
pub(super) fn effects(script: &str) -> Vec<Effect> {
    let mut out = Vec::new();
    let mut folder = Some(String::new());
    for command in commands(script).iter().filter(|it| it.must_run) {
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
            ["git", name, rest @ ..] | [name, rest @ ..] => (*name, rest),
            [] => continue,
        };
        if named == "restore" && rest.iter().any(|it| *it == "--staged" || *it == "-S") {
            continue;
        }
        let operands = rest.iter().filter(|it| !it.starts_with('-'));
        let operands: Vec<String> = operands
            .filter(|it| !it.contains(['*', '?', '$', '<', '>']))
            .filter_map(|it| inside(folder.as_deref(), it))
            .collect();
        match (named, operands.as_slice()) {
            ("rm" | "unlink", _) => out.extend(operands.into_iter().map(Effect::Removed)),
            ("mv", [from, to]) => out.push(Effect::Moved(from.clone(), to.clone())),
            ("restore", _) => out.extend(operands.into_iter().map(Effect::Restored)),
            _ => {}
        }
    }
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
    /// The number of newest commits that it takes back first.
    pub takes_back: usize,
}

/// The part of a script in the history of git. A repository in a temporary folder, and one that the script itself
/// creates, are no part of the work.
pub(super) fn history(script: &str) -> History {
    let mut out = History::default();
    let mut is_scratch = false;
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
                out.takes_back += match *name {
                    "commit" => usize::from(rest.contains(&"--amend")),
                    "reset" => rest.iter().find_map(|it| before(it)).unwrap_or(0),
                    _ => 0,
                };
            }
            _ => {}
        }
    }
    out
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

/// A command of a script.
struct Command {
    words: Vec<String>,
    /// False behind `||`, and in a script that binds its commands.
    must_run: bool,
}

fn commands(script: &str) -> Vec<Command> {
    let (masked, is_whole) = without_quotes(script);
    let masked = without_redirections(&masked);
    let must_run = is_whole && !masked.lines().any(binds);
    let mut out = Vec::new();
    let mut at = 0;
    let mut is_alternative = false;
    for part in masked.split(['\n', ';', '&', '|']) {
        let range = at..at + part.len();
        at = range.end + 1;
        // Between two signs of `&&` and `||` stands nothing.
        let behind = masked.get(at..).unwrap_or_default();
        let text = script.get(range).unwrap_or_default();
        let words = text
            .split_whitespace()
            .map(|it| it.trim_matches(['"', '\'']));
        let words = words.skip_while(|it| IN_FRONT.contains(it));
        let words: Vec<String> = words.map(str::to_owned).collect();
        if !words.is_empty() {
            out.push(Command {
                words,
                must_run: must_run && !is_alternative,
            });
            let sign = masked.get(at - 1..).unwrap_or_default();
            is_alternative = sign.starts_with("||") || is_alternative && behind.starts_with('&');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Effect, History, effects, history};

    #[test]
    fn files_are_removed_moved_and_restored() {
        let removed = |path: &str| Effect::Removed(path.to_owned());
        assert_eq!(
            effects("cd app && rm -f a.md ./b.md 2>/dev/null; ls"),
            [removed("app/a.md"), removed("app/b.md")]
        );
        assert_eq!(effects("git rm -r 'old'"), [removed("old")]);
        assert_eq!(
            effects("git mv a.rs b.rs"),
            [Effect::Moved("a.rs".to_owned(), "b.rs".to_owned())]
        );
        let restored = [Effect::Restored("a.rs".to_owned())];
        assert_eq!(effects("git checkout -- a.rs"), restored);
        assert_eq!(effects("git restore a.rs"), restored);
        for script in [
            "test -f a || rm a",
            "test -f a || echo no && rm a",
            "if x; then rm a; fi",
            "rm -rf *",
            "rm -rf .",
            "cd - && rm a",
            "git checkout main",
            "git restore --staged a.rs",
            "echo 'rm a; rm b'",
            "rm $(ls)",
        ] {
            assert_eq!(effects(script), [], "{script}");
        }
    }

    #[test]
    fn commits_are_made_and_taken_back() {
        let check = |script: &str, commits: bool, takes_back: usize| {
            let expected = History {
                commits,
                takes_back,
            };
            assert_eq!(history(script), expected, "{script}");
        };
        check(
            "git add . && git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"",
            true,
            0,
        );
        check("git -C app commit -qm x", true, 0);
        check("git commit --amend --no-edit", true, 1);
        check("git reset --soft HEAD~2", false, 2);
        check("git reset HEAD^^", false, 2);
        check("git reset --hard origin/main", false, 0);
        check("tail app.log", false, 0);
        check("echo git commit", false, 0);
        check("cd /tmp/x && git init && git commit -m x", false, 0);
        check("git init repo && cd repo && git commit -m x", false, 0);
    }
}
