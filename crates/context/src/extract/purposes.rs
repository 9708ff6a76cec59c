//! The purposes of commands, in the agent's words: many clients let it describe each command.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::clip::clip;
use super::command_line::{QUOTED, without_quotes, without_redirections};
use super::steps::Step;

/// The longest description that is told whole, in bytes.
const LONGEST: usize = 200;
/// Programs that only show something.
const LOOKERS: [&str; 33] = [
    "ag", "awk", "bat", "cat", "cd", "column", "cut", "date", "df", "diff", "du", "echo", "egrep",
    "fgrep", "file", "find", "grep", "head", "jq", "less", "ls", "nl", "ps", "pwd", "rg", "sort",
    "stat", "tail", "tr", "tree", "uniq", "wc", "which",
];
/// Commands of `git` that only show something.
const GIT_LOOKERS: [&str; 16] = [
    "blame",
    "cat-file",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "reflog",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];
/// Commands of `gh` that only show something, behind what they show: `gh pr view`.
const GH_LOOKERS: [&str; 5] = ["checks", "diff", "list", "status", "view"];
/// Options of `git` in front of its command that take a value.
const GIT_VALUES: [&str; 2] = ["-C", "-c"];
/// Arguments with which a program that shows something does more.
const DOES_MORE: [&str; 4] = ["-delete", "-exec", "-execdir", "-ok"];
/// The descriptions of commands before the turn `told` that ended well and did more than show something, newest first.
/// The same command is told again only where its description names something new; from `told` on, the last steps tell
/// it.
pub(super) fn purposes<'s>(
    steps: &'s [Step<'_>],
    told: usize,
) -> impl Iterator<Item = String> + 's {
    let mut newer: HashMap<String, HashSet<&str>> = HashMap::new();
    steps.iter().rev().filter_map(move |step| {
        let purpose = step.arguments.get("description").and_then(Value::as_str)?;
        let script = step.script()?;
        let is_told = step.turn >= told;
        let has_ended_well = step.result.is_some() && !step.failed();
        let text = clip(purpose, LONGEST);
        if !(has_ended_well || is_told) || !text.contains(char::is_alphanumeric) {
            return None;
        }
        let program = program(&script)?;
        let named = newer.get(&program);
        let is_new = named.is_none_or(|named| names(purpose).any(|name| !named.contains(name)));
        newer.entry(program).or_default().extend(names(purpose));
        (is_new && !is_told).then_some(text)
    })
}

/// The words that say what a script runs: `git push`, `go test`, `npm run lint`, `gh pr create`. Of several commands the
/// last counts; `None` if all of them only show something.
fn program(script: &str) -> Option<String> {
    let (bare, is_whole) = bare(script);
    let mut parts = bare.rsplit(['&', '|', ';', '\n', '(', ')']);
    let part = parts.find(|part| !looks(part));
    // What is not read may do anything.
    let part = part.or_else(|| (!is_whole).then_some(&*bare))?;
    let is_command = |word: &str| {
        let is_part = |it: char| it.is_ascii_lowercase() || ['-', ':', '_'].contains(&it);
        word.chars().all(is_part)
    };
    let mut words = behind_settings(part);
    let first = words.next().unwrap_or_default();
    let mut rest = without_options(first, words);
    let second = rest.next().unwrap_or_default();
    let third = rest
        .next()
        .filter(|it| is_command(second) && is_command(it));
    Some([first, second, third.unwrap_or_default()].join(" "))
}

/// Returns true if all commands of a script only show something.
pub(super) fn only_looks(script: &str) -> bool {
    program(script).is_none()
}

/// The words of a command line without what stands in front of the program.
fn behind_settings(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split_whitespace();
    words.skip_while(|word| ["sudo", "env", "time"].contains(word) || word.contains('='))
}

/// The words behind a program without its options.
fn without_options<'w>(
    program: &str,
    words: impl Iterator<Item = &'w str>,
) -> impl Iterator<Item = &'w str> {
    let is_git = program == "git";
    let mut is_value = false;
    words.filter(move |word| {
        let was_value = std::mem::replace(&mut is_value, is_git && GIT_VALUES.contains(word));
        !was_value && !word.starts_with('-')
    })
}

/// The words of a description that name something: `#172`, `gemini.go`, `TestImport`.
fn names(purpose: &str) -> impl Iterator<Item = &str> {
    let words = purpose.split_whitespace();
    let words = words.map(|word| word.trim_matches(|it: char| !it.is_alphanumeric() && it != '#'));
    words.filter(|word| {
        let inner = word
            .char_indices()
            .filter(|&(at, it)| at > 0 || !it.is_alphabetic());
        let mut inner = inner.map(|(_, it)| it);
        inner.any(|it| it.is_uppercase() || it.is_numeric() || ['_', '.', '/', '#'].contains(&it))
    })
}

/// Returns true if one command only shows something.
fn looks(part: &str) -> bool {
    let mut words = behind_settings(part);
    let program = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let is_looker = match program {
        "git" => {
            let command = without_options(program, rest.iter().copied()).next();
            command.is_some_and(|it| GIT_LOOKERS.contains(&it))
        }
        "gh" => rest.get(1).is_some_and(|it| GH_LOOKERS.contains(it)),
        // Settings alone.
        "" => true,
        "sed" => rest.first() == Some(&"-n"),
        "sort" => !rest.contains(&"-o"),
        _ => LOOKERS.contains(&program),
    };
    is_looker && !part.contains('>') && !rest.iter().any(|it| DOES_MORE.contains(it))
}

/// A script without comments and redirections that keep nothing, with `_` for each quotation, and true if that is all
/// of it.
fn bare(script: &str) -> (String, bool) {
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let lines = script.lines().filter(|line| !is_comment(line));
    let script = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let (masked, is_whole) = without_quotes(&script);
    let mut letters: Vec<char> = without_redirections(&masked).chars().collect();
    letters.dedup_by(|letter, before| *letter == QUOTED && *before == QUOTED);
    let shown = letters
        .iter()
        .map(|it| if *it == QUOTED { '_' } else { *it });
    (shown.collect(), is_whole)
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
        let told = turns.len();
        assert_eq!(purposes(&steps, told).collect::<Vec<_>>(), expected);
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
                ("npm run lint", "Run the linter, don't fix"),
                ("npm run test", "Run TestImport, then stop"),
                ("npm run lint -- --fix", "Run the linter again"),
                ("npm run test", "运行所有测试"),
                ("CI=1 npm run test -- all", "Run all tests again (#7)"),
                ("npm run test", "Run all tests for #7, again"),
            ],
            &[
                "Run all tests for #7, again",
                "Run the linter again",
                "Run TestImport, then stop",
            ],
        );
    }

    #[test]
    fn what_the_last_steps_tell_is_not_repeated() {
        let call = |arguments: &str| [call("Bash", arguments), result("ok", Outcome::Succeeded)];
        let turns = placed(
            [
                call(r#"{"command":"make","description":"Build all"}"#),
                call(r#"{"command":"./deploy","description":"Deploy"}"#),
                call(r#"{"command":"make","description":"Build again"}"#),
            ]
            .concat(),
        );
        let steps = steps(&turns);
        assert_eq!(purposes(&steps, 4).collect::<Vec<_>>(), ["Deploy"]);
    }

    #[test]
    fn different_commands_of_one_program_are_told() {
        let commands = [
            ("gh pr create --fill", "Create the pull request"),
            ("gh pr merge", "Merge the pull request"),
            ("docker compose down -v", "Delete the volumes"),
            ("docker compose up -d", "Start the services"),
            ("git -C /r commit -m x", "Commit the loader fix"),
            ("git -C /r push", "Push the branch"),
            ("CI=1 npm run build", "Build the bundle"),
            ("CI=1 npm test", "Run all tests"),
            ("sudo systemctl stop db", "Stop the database"),
            ("sudo systemctl start web", "Start the web server"),
            ("python seed.py", "Seed the database"),
            ("python train.py", "Train the model"),
            ("npm run test:unit", "Run the unit tests"),
            ("npm run db:migrate", "Migrate the database"),
            ("make t1 2>&1 | tail -3", "Make the first target"),
            ("git add -A && git stash", "Put everything aside"),
        ];
        let told: Vec<&str> = commands.iter().rev().map(|it| it.1).collect();
        check(&commands, &told);
    }

    #[test]
    fn commands_that_only_show_something_are_not_told() {
        for script in [
            "git status",
            "git -C /r --no-pager log -3",
            "grep -rn 'retry|wait' src 2>/dev/null | head",
            "cd /srv/app; ls -la 2>&1",
            "(cd x && ls)",
            "awk '$1 > 5' a.txt",
            "sed -n 1,20p a.rs",
            "# Where's it?\nfind . -name '*.rs' | wc -l",
            "env | sort",
            "ls x 2> /dev/null; echo a >&2",
            "find . \\\n -name x",
            "BASE=x git merge-base main HEAD && git rev-parse HEAD",
            "gh pr view 90 --comments 2>/dev/null | head",
        ] {
            assert_eq!(program(script), None, "{script}");
        }
        for script in [
            "echo 4711 > port",
            "git status && git add -A && git push",
            "find . -name '*.bak' -delete",
            "env CI=1 ./deploy.sh",
            "echo y | ./install.sh",
            "cat dump.sql | psql prod",
            "echo '== deploy =='\n./deploy.sh",
            "sed -i s/a/b/ a.rs",
            "# Don't wait\n./deploy.sh",
            "echo it\\'s time && ./deploy.sh",
            "git add -A && git commit -m \"$(cat <<'EOF'\nDon't\nEOF\n)\"",
            "cd \"/Users/me/My App\" && \"./build.sh\"",
            "\"/opt/my app/deploy.sh\"",
            "echo \"$(git push)\"",
            "echo 'never closed",
            "sort -o a a",
            "gh pr merge 90",
            "gh api repos/a/b/pulls -f body=x",
        ] {
            assert!(program(script).is_some(), "{script}");
        }
    }

    #[test]
    fn commands_that_did_not_end_well_are_not_told() {
        let turns = placed([
            call("Bash", r#"{"command":"make","description":"Build all"}"#),
            result("make: *** [all] Error 1", Outcome::Failed),
            call("Bash", r#"{"command":"make"}"#),
            result("done", Outcome::Succeeded),
            call("Bash", r#"{"command":"make all","description":" "}"#),
            result("done", Outcome::Succeeded),
            call("Bash", r#"{"command":"./deploy","description":"Deploy"}"#),
        ]);
        let steps = steps(&turns);
        assert_eq!(purposes(&steps, turns.len()).count(), 0);
    }
}
