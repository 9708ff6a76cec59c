//! What commands were for, in the agent's words: many clients let it describe each command.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::artefacts::shown_command;
use super::fields::clip;
use super::steps::Step;

/// The longest description that is told whole, in bytes.
const LONGEST: usize = 120;
/// Programs that only show something.
const LOOKERS: [&str; 24] = [
    "ag", "awk", "bat", "cat", "date", "df", "diff", "du", "echo", "egrep", "env", "file", "find",
    "grep", "head", "jq", "less", "ls", "pwd", "rg", "tail", "tree", "wc", "which",
];
/// Commands of `git` that only show something.
const GIT_LOOKERS: [&str; 7] = ["blame", "diff", "grep", "log", "ls-files", "show", "status"];

/// The descriptions of commands that did not fail and did more than show something, newest first. The same command is
/// told again only where its description names something new.
pub(super) fn purposes<'s>(
    steps: impl DoubleEndedIterator<Item = &'s Step<'s>>,
) -> impl Iterator<Item = String> {
    let mut told: HashMap<String, HashSet<&str>> = HashMap::new();
    steps.rev().filter_map(move |step| {
        let script = step.script().filter(|_| !step.failed())?;
        let line = shown_command(&script);
        let purpose = step.arguments.get("description").and_then(Value::as_str)?;
        if only_looks(&line) {
            return None;
        }
        let newer = told.get(&program(&line));
        let is_new = newer.is_none_or(|newer| {
            let mut words = purpose.split_whitespace();
            words.any(|word| is_name(word) && !newer.contains(word))
        });
        let known = told.entry(program(&line)).or_default();
        known.extend(purpose.split_whitespace());
        is_new.then(|| clip(purpose, LONGEST))
    })
}

/// The words of a command line that say what runs: `git push`, `go test`, `npm run lint`.
fn program(line: &str) -> String {
    let mut words = line
        .split_whitespace()
        .filter(|word| !word.starts_with('-'));
    let mut out: Vec<&str> = words.by_ref().take(2).collect();
    if out.last() == Some(&"run") {
        out.extend(words.next());
    }
    out.join(" ")
}

/// Returns true if a word of a description names something: `#172`, `gemini.go`, `TestImport`.
fn is_name(word: &str) -> bool {
    let mut letters = word
        .trim_matches(|it: char| !it.is_alphanumeric() && it != '#')
        .chars();
    let first = letters.next();
    first.is_some_and(|it| !it.is_alphabetic()) || letters.any(|it| !it.is_lowercase())
}

/// Returns true if a command line only shows something, as far as its beginning tells.
fn only_looks(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let looks = match program {
        "git" => words.next().is_some_and(|it| GIT_LOOKERS.contains(&it)),
        _ => LOOKERS.contains(&program),
    };
    looks && !line.contains('>')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::steps::steps;
    use crate::extract::tests::{call, placed, result};
    use crate::turn::Outcome;

    /// Checks what is told of commands with these descriptions, each of which ended well.
    #[track_caller]
    fn check(commands: &[(&str, &str)], expected: &[&str]) {
        let drafts = commands.iter().flat_map(|(command, description)| {
            let arguments = serde_json::json!({"command": command, "description": description});
            [
                call("Bash", &arguments.to_string()),
                result("ok", Outcome::Succeeded),
            ]
        });
        let turns = placed(drafts);
        let steps = steps(&turns);
        assert_eq!(purposes(steps.iter()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_commands_were_for_is_told_newest_first() {
        check(
            &[
                ("cd /srv/app && git merge origin/main", "Merge main"),
                ("gh pr comment 172 --body x", "Comment on PR #172"),
                ("gh pr comment 162 --body x", "Comment on PR #162"),
            ],
            &["Comment on PR #162", "Comment on PR #172", "Merge main"],
        );
    }

    #[test]
    fn the_same_command_is_told_again_only_where_it_names_something_new() {
        check(
            &[
                ("npm run lint", "Run the linter"),
                ("npm run test", "Run TestImport"),
                ("npm run lint -- --fix", "Run the linter again"),
                ("npm run test", "Run all tests"),
            ],
            &["Run all tests", "Run the linter again", "Run TestImport"],
        );
    }

    #[test]
    fn commands_that_only_show_something_are_not_told() {
        check(
            &[
                ("git status", "Check the state"),
                ("grep -rn retry src | head", "Find retries"),
                ("ls -la", "List files"),
                ("echo 4711 > port", "Write the port"),
            ],
            &["Write the port"],
        );
    }

    #[test]
    fn commands_that_failed_are_not_told() {
        let turns = placed([
            call("Bash", r#"{"command":"make","description":"Build all"}"#),
            result("make: *** [all] Error 1", Outcome::Failed),
            call("Bash", r#"{"command":"make"}"#),
            result("done", Outcome::Succeeded),
        ]);
        let steps = steps(&turns);
        assert_eq!(purposes(steps.iter()).count(), 0);
    }
}
