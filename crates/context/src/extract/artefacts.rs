//! Changes that the agent made to its environment: files, commands, commits, and the errors on the way.

use std::collections::HashMap;

use super::command_line::{self, Bare, Core, ShellState};
use super::commands;
use super::files::{self, File};
use super::folder::Folder;
use super::purposes::only_looks;
use super::steps::{Action, Step};
use super::verdicts::{Failed, Verdicts};
use crate::summary::one_line;

/// The longest command or line of output that is quoted whole, in bytes.
const LINE: usize = 180;
/// The most errors, and the most failed commands, that may still end.
const REMEMBERED: usize = 256;
/// The most files that were only read.
const READ: usize = 8;

/// A command and its outcomes.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    /// The line that ran it last.
    pub line: String,
    pub runs: usize,
    /// The changes of folder and settings in front of it.
    place: ShellState,
    pub failed: bool,
    is_refused: bool,
    /// True if it only shows something.
    pub only_looks: bool,
    told: Option<String>,
    /// The commands that have to work before its failure is over.
    open: Vec<Bare>,
    /// The tests that have to pass before it is.
    tests: Failed,
    /// The step that ran it last.
    pub last: usize,
}

/// An error and what ended it.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub line: String,
    at: String,
    /// The commands that have to work before it is over.
    open: Vec<Bare>,
    /// The tests that have to pass before it is.
    tests: Failed,
    /// The turn of the call that failed.
    pub turn: usize,
    /// The turn in which the same thing worked.
    pub ended: Option<usize>,
    /// True if it was a merge that a commit concluded.
    is_concluded: bool,
}

/// Everything that was done.
#[derive(Clone, Debug, Default)]
pub(super) struct Artefacts {
    /// The folder in which most of the files are.
    pub folder: Folder,
    /// Changed files, the newest last.
    pub files: Vec<File>,
    /// Files that were only read, the newest first.
    pub read: Vec<String>,
    /// Commands, the newest last.
    pub commands: Vec<Command>,
    /// Commits as `branch hash message`, the newest last.
    pub commits: Vec<String>,
    /// Errors, the newest last.
    pub troubles: Vec<Trouble>,
}

impl Artefacts {
    /// Reads the steps.
    pub fn of(steps: &[Step<'_>]) -> Self {
        let mut out = Self::default();
        let mut files: HashMap<String, File> = HashMap::new();
        let mut read: HashMap<String, usize> = HashMap::new();
        let mut ran = Ran::default();
        for (number, step) in steps.iter().enumerate() {
            let actions = step.actions();
            let runs = actions.iter().any(|it| matches!(it, Action::Ran(_)));
            let is_script = step.writes_documents();
            let fails = failure(step);
            for action in &actions {
                let mut failure = fails.clone();
                match action {
                    Action::Wrote(path, _) | Action::Changed(path) | Action::Deleted(path) => {
                        if is_script {
                            // A script that fails may have written its files.
                            let refusal = step.refusal(path).map(clipped);
                            failure = refusal.or_else(|| failure.filter(|_| !runs));
                        }
                        let file = files.entry(path.clone()).or_default();
                        path.clone_into(&mut file.path);
                        file.take(action, (step, failure.clone()), number);
                    }
                    // A search of the whole folder reads no file.
                    Action::Read(path) if path.trim_start_matches(['.', '/']).is_empty() => {}
                    Action::Read(path) => {
                        read.insert(path.clone(), number);
                    }
                    Action::Ran(script) => {
                        ran.take(script, step, number);
                        if step.result.is_some() && !step.failed() {
                            let is_quiet = !step.reports_an_error();
                            for effect in commands::effects(script, is_quiet) {
                                files::take(&mut files, effect, number);
                            }
                        }
                    }
                    Action::Other => {}
                }
                out.follow(action, step, failure);
            }
            out.take_commits(step);
        }
        out.commits.dedup();
        out.files = newest_last(files.into_values(), |file| file.last);
        drop_known(&mut read, &out.files);
        let newest = newest_last(read.into_iter(), |(_, last)| *last);
        let newest = newest.into_iter().rev().take(READ);
        out.read = newest.map(|(path, _)| path).collect();
        let changed = out.files.iter().map(|file| &*file.path);
        out.folder = Folder::of(changed.chain(out.read.iter().map(String::as_str)));
        out.commands = newest_last(ran.commands.into_values(), |command| command.last);
        out
    }

    /// Takes the commits that a step reports. Tools print anything, so the step must have run a command that commits.
    fn take_commits(&mut self, step: &Step<'_>) {
        let Some(result) = step.result.filter(|_| !step.is_refused()) else {
            return;
        };
        let history = match step.script() {
            Some(script) => commands::history(&script),
            None => commands::History {
                commits: step.call.own_name().contains("commit"),
                ..commands::History::default()
            },
        };
        let told = result.text.lines().filter(|_| history.commits);
        let new: Vec<String> = told.filter_map(commit).collect();
        if !step.failed() {
            let amended = usize::from(history.amends && !new.is_empty());
            let gone = history.takes_back + amended;
            self.commits
                .truncate(self.commits.len().saturating_sub(gone));
        }
        self.commits.extend(new);
    }

    /// Notes an error, or the end of one. `failure` is the line that tells why the action failed.
    fn follow(&mut self, action: &Action, step: &Step<'_>, failure: Option<String>) {
        let at = match action {
            Action::Wrote(path, _)
            | Action::Changed(path)
            | Action::Deleted(path)
            | Action::Read(path) => path.clone(),
            Action::Ran(line) => command_line::shown(line),
            Action::Other => step.call.name.to_string(),
        };
        let core = match action {
            Action::Ran(script) => Some(Core::of(script)),
            _ => None,
        };
        let verdicts = match (action, &core) {
            (Action::Ran(script), Some(core)) => verdicts((script, core), step),
            _ => Verdicts::default(),
        };
        for it in self.troubles.iter_mut().filter(|it| it.ended.is_none()) {
            it.ended = it.tests.passed_in(&verdicts).then_some(step.turn);
        }
        if let Some(line) = failure {
            let only_looked = step.script().is_some_and(|it| only_looks(&it));
            // A refusal is no error, and what was only looked for leaves none behind.
            if line.is_empty() || step.is_refused() || only_looked {
                return;
            }
            let open = core.map_or_else(Vec::new, |core| core.open(step.left_conflicts()));
            // The newest wording of an error that goes on.
            let is_same = |it: &Trouble| it.at == at || !open.is_empty() && it.open == open;
            self.troubles
                .retain(|it| it.ended.is_some() || !is_same(it));
            if self.troubles.len() >= REMEMBERED {
                self.troubles.remove(0);
            }
            self.troubles.push(Trouble {
                line,
                at,
                open,
                tests: verdicts.into_failed(),
                turn: step.turn,
                ended: None,
                is_concluded: false,
            });
        } else if step.result.is_some() {
            let worked = core.as_ref().map(|core| worked(step, core));
            let worked = worked.unwrap_or_default();
            let error = core.as_ref().and_then(|core| goes_on(step, core));
            if let (Some(error), Some(core)) = (error, &core) {
                let open = core.open(false);
                let mut same = self.troubles.iter_mut();
                let same = same.find(|it| it.ended.is_none() && it.open == open);
                if let Some(it) = same {
                    it.line = clipped(error);
                    it.turn = step.turn;
                }
            }
            for it in self.troubles.iter_mut().filter(|it| it.ended.is_none()) {
                let is_over = match action {
                    Action::Ran(script) => {
                        let over = settle(&mut it.open, (script, &worked));
                        it.is_concluded = over == Some(Over::Concluded);
                        over.is_some()
                    }
                    _ => it.at == at,
                };
                it.ended = is_over.then_some(step.turn);
            }
        }
    }
}

/// The commands that ran, by what each is.
#[derive(Debug, Default)]
struct Ran {
    commands: HashMap<String, Command>,
    /// Those whose failure is not over, the newest first.
    failed: Vec<String>,
}

impl Ran {
    fn take(&mut self, script: &str, step: &Step<'_>, number: usize) {
        let core = Core::of(script);
        if self.go_on((script, &core), step, number) {
            return;
        }
        let line = command_line::shown(script);
        // What may hide a failure does not stand for the whole output.
        let mut key = match core.hides || core.is_whole_script() {
            true => line.clone(),
            false => core.text(),
        };
        let place = core.place();
        let before = self.commands.get(&key);
        if before.is_some_and(|it| it.place.is_apart(place)) {
            key = place.before(&key);
        }
        let verdicts = verdicts((script, &core), step);
        self.failed.retain(|other| {
            let command = self.commands.get(other);
            let passed = command.is_some_and(|it| it.tests.passed_in(&verdicts));
            // Its own runs are counted.
            if passed && *other != key {
                self.commands.remove(other);
            }
            !passed
        });
        let command = self.commands.entry(key.clone()).or_default();
        command.line = line;
        command.only_looks = only_looks(script);
        command.take((step, &core), number);
        command.tests = verdicts.into_failed();
        self.failed.retain(|it| *it != key);
        if command.failed {
            self.failed.truncate(REMEMBERED - 1);
            self.failed.insert(0, key);
        }
        self.end(script, &worked(step, &core));
    }

    /// Takes a run behind a filter that reports errors where the same failed before: the newest words of a failure that
    /// is not over.
    fn go_on(&mut self, (script, core): (&str, &Core), step: &Step<'_>, number: usize) -> bool {
        let Some(error) = goes_on(step, core) else {
            return false;
        };
        let open = core.open(false);
        let mut failed = self.failed.iter();
        let same = failed.find(|key| self.commands.get(*key).is_some_and(|it| it.open == open));
        let Some(command) = same.and_then(|key| self.commands.get_mut(key)) else {
            return false;
        };
        command.line = command_line::shown(script);
        command.runs += 1;
        command.last = number;
        command.told = Some(clipped(error));
        true
    }

    /// Ends the failures that are over with what worked.
    fn end(&mut self, script: &str, worked: &[&Bare]) {
        self.failed.retain(|key| {
            let Some(command) = self.commands.get_mut(key) else {
                return false;
            };
            let over = settle(&mut command.open, (script, worked));
            match over {
                // It names the branch.
                Some(Over::Concluded) => {
                    command.failed = false;
                    command.told = Some("concluded by a commit".to_owned());
                }
                Some(Over::Worked) => {
                    self.commands.remove(key);
                }
                None => {}
            }
            over.is_none()
        });
    }
}

/// The verdicts on tests in the output of a command.
fn verdicts(script: (&str, &Core), step: &Step<'_>) -> Verdicts {
    let output = step.result.map_or("", |it| &*it.text);
    Verdicts::of(script, output)
}

/// The commands that worked in a step.
fn worked<'c>(step: &Step<'_>, core: &'c Core) -> Vec<&'c Bare> {
    match step.result.is_none() || step.failed() {
        true => Vec::new(),
        false => {
            let has_passed = core.only_tests() && step.ends_with_passed_tests();
            core.worked(step.may_have_failed() && !has_passed)
        }
    }
}

/// The line with which a run behind a filter goes on to report errors.
fn goes_on<'s>(step: &'s Step<'_>, core: &Core) -> Option<&'s str> {
    step.error_behind_a_filter()
        .filter(|_| core.hides_its_end())
}

/// How a failure ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// The same worked.
    Worked,
    /// A commit concluded a merge that left conflicts.
    Concluded,
}

/// Takes what worked in a script from what has to work. `None` if something is left of it, or nothing was there.
fn settle(open: &mut Vec<Bare>, (script, worked): (&str, &[&Bare])) -> Option<Over> {
    if open.is_empty() {
        return None;
    }
    open.iter_mut().for_each(|it| it.follow(script));
    let is_covered = |it: &Bare| worked.iter().any(|worked| worked.covers(it));
    let over = match open.iter().any(|it| it.has_conflicts() && is_covered(it)) {
        true => Over::Concluded,
        false => Over::Worked,
    };
    open.retain(|it| !is_covered(it));
    open.is_empty().then_some(over)
}

/// The line that tells why a step failed: empty where no line tells.
fn failure(step: &Step<'_>) -> Option<String> {
    let line = || step.telling_line().map(clipped).unwrap_or_default();
    step.failed().then(line)
}

/// Leaves out files that were changed too, and relative paths of what an absolute one names, or lies in.
fn drop_known(read: &mut HashMap<String, usize>, files: &[File]) {
    let is_whole = |path: &&str| path.starts_with(['/', '~']);
    let all = files.iter().map(|file| &*file.path);
    let all = all.chain(read.keys().map(String::as_str));
    let whole: Vec<String> = all.filter(is_whole).map(|it| format!("{it}/")).collect();
    read.retain(|path, _| {
        let end = format!("/{}/", path.trim_start_matches("./").trim_end_matches('/'));
        let is_known = files.iter().any(|file| file.path == *path);
        !is_known && (is_whole(&&**path) || !whole.iter().any(|it| it.contains(&end)))
    });
}

impl Command {
    fn take(&mut self, (step, core): (&Step<'_>, &Core), number: usize) {
        self.runs += 1;
        self.last = number;
        core.place().clone_into(&mut self.place);
        self.failed = step.failed();
        self.is_refused = step.is_refused();
        // A later run of something else does not take a refusal back.
        self.open = match self.is_refused {
            true => Vec::new(),
            false => core.open(step.left_conflicts()),
        };
        self.told = step
            .telling_line()
            .or_else(|| step.last_line())
            .map(clipped);
    }

    /// `` `make test` (3 runs) failed ``.
    pub fn outcome(&self) -> String {
        let runs = match self.runs {
            1 => String::new(),
            many => format!(" ({many} runs)"),
        };
        // A command that did not fail need not have gone well: a pipe hides its exit code.
        let outcome = match (self.is_refused, self.failed) {
            (true, _) => " was refused by the user",
            (false, true) => " failed",
            (false, false) => "",
        };
        format!("`{}`{runs}{outcome}", self.line)
    }

    /// `` `make test` (3 runs) failed: LINE ``.
    pub fn state(&self) -> String {
        if self.is_refused {
            return self.outcome();
        }
        let told = self.told.as_deref().unwrap_or("no output");
        format!("{}: {told}", self.outcome())
    }
}

impl Trouble {
    /// `make: LINE`.
    pub fn headline(&self) -> String {
        format!("{}: {}", self.at, self.line)
    }

    /// `make: LINE (turn 12; the same worked in turn 15)`, with the numbers that turns have by their index.
    pub fn state(&self, number: impl Fn(usize) -> usize) -> String {
        let (headline, turn) = (self.headline(), number(self.turn));
        match self.ended {
            Some(ended) => {
                let how = match self.is_concluded {
                    true => "concluded",
                    false => "the same worked",
                };
                format!("{headline} (turn {turn}; {how} in turn {})", number(ended))
            }
            None => format!("{headline} (turn {turn}; not seen to work since)"),
        }
    }
}

fn newest_last<T>(items: impl Iterator<Item = T>, last: impl Fn(&T) -> usize) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_by_key(last);
    items
}

/// A line whole, or its beginning with a mark.
pub(super) fn clipped(line: &str) -> String {
    let line = one_line(line);
    if line.len() <= LINE {
        return line;
    }
    let end = line.floor_char_boundary(LINE - 4);
    let start = line.get(..end).unwrap_or_default();
    let whole = start.rsplit_once(' ').map_or(start, |(whole, _)| whole);
    format!("{whole} …")
}

/// The commit that a line of `git commit` reports: `[main 1a2b3c4] Message`.
fn commit(line: &str) -> Option<String> {
    let (inside, message) = line.trim().strip_prefix('[')?.split_once("] ")?;
    let (branch, hash) = inside.rsplit_once(' ')?;
    let is_hash =
        hash.len() >= 7 && hash.len() <= 40 && hash.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash.then(|| {
        format!(
            "{hash} on {}: {}",
            branch.trim_end_matches(" (root-commit)"),
            clipped(message)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::Artefacts;
    use crate::extract::steps::steps;
    use crate::extract::tests::{call, placed, result};
    use crate::turn::Outcome;

    /// Reads commands with their output, where that of a failure begins with `Exit code`.
    fn read(commands: &[(&str, &str)]) -> Artefacts {
        let turns = placed(commands.iter().flat_map(|(command, output)| {
            let outcome = match output.starts_with("Exit code") {
                true => Outcome::Failed,
                false => Outcome::Succeeded,
            };
            let arguments = serde_json::json!({ "command": command });
            [
                call("Bash", &arguments.to_string()),
                result(output, outcome),
            ]
        }));
        Artefacts::of(&steps(&turns))
    }

    #[track_caller]
    fn check_open(commands: &[(&str, &str)], expected: &[&str]) {
        let done = read(commands);
        let open = done.troubles.iter().filter(|it| it.ended.is_none());
        let open: Vec<String> = open.map(super::Trouble::headline).collect();
        assert_eq!(open, expected);
    }

    #[test]
    fn the_same_command_behind_another_pipe_ends_an_error() {
        let failed = ("go test ./... -v | tail -100", "--- PASS: TestA\nFAIL");
        check_open(
            &[
                failed,
                ("cd app && go test ./... 2>&1 | tail -5", "ok app 0.2s"),
            ],
            &[],
        );
        let one = ("go test ./... -run TestA -v", "Exit code 1\nFAIL TestA");
        check_open(&[one, ("go test ./...", "ok app 0.2s")], &[]);
        check_open(
            &[
                ("npm test", "Exit code 1\nError: a"),
                ("npm test | tail -1", "5 passed, 0 failed"),
            ],
            &[],
        );
    }

    #[test]
    fn a_test_that_passes_ends_its_failure_whatever_ran_it() {
        let one = "go test -v -run 'TestA|TestB' ./rows";
        let failed = "Exit code 1\n--- PASS: TestB\n--- FAIL: TestA\nFAIL\tapp/rows\t0.2s";
        let passed = (
            "go test -v -run TestA ./...",
            "--- PASS: TestA\nok  \tapp/rows\t0.1s",
        );
        check_open(&[(one, failed), passed], &[]);
        assert!(
            read(&[(one, failed), passed])
                .commands
                .iter()
                .all(|it| !it.failed)
        );
        let other = (
            "go test -v -run TestB ./...",
            "--- PASS: TestB\nok  \tapp/rows\t0.1s",
        );
        let headline = format!("{one}: --- FAIL: TestA");
        check_open(&[(one, failed), other], &[&headline]);
    }

    #[test]
    fn more_of_the_same_ends_an_error() {
        for (failed, worked) in [
            ("cargo test", "cargo test --all"),
            ("cargo build", "cargo build --workspace --all-targets -j 4"),
            ("pytest tests/ -q", "python -m pytest tests/"),
            ("make", "make -j4"),
            ("npm run build", "npm run build --silent"),
        ] {
            check_open(&[(failed, "Exit code 1\nerror: a"), (worked, "done")], &[]);
        }
        let headline = ["cargo test --all: error: a"];
        check_open(
            &[
                ("cargo test --all", "Exit code 1\nerror: a"),
                ("cargo test", "done"),
            ],
            &headline,
        );
    }

    #[test]
    fn a_commit_is_one_that_git_made() {
        let commits = |commands: &[(&str, &str)]| read(commands).commits;
        let line = "[main 1a2b3c4] Load rows";
        assert_eq!(
            commits(&[("git add -A && git commit -m x", line)]),
            ["1a2b3c4 on main: Load rows"]
        );
        assert!(commits(&[("tail app.log", "[worker 12345678] Job finished")]).is_empty());
        assert!(commits(&[("cd /tmp/try && git init && git commit -m x", line)]).is_empty());
        let reset = ("git reset --hard HEAD~1", "HEAD is now at 0d0d0d0");
        assert!(commits(&[("git commit -m x", line), reset]).is_empty());
    }

    #[test]
    fn a_refusal_is_no_error() {
        let refused = "Exit code: the user said:\nno";
        let done = read(&[("git push", refused)]);
        assert_eq!(done.troubles.len(), 1, "tools print anything");
        let turns = placed([
            call("Bash", r#"{"command":"git push"}"#),
            result("The user denied this operation.", Outcome::Failed),
        ]);
        let done = Artefacts::of(&steps(&turns));
        assert!(done.troubles.is_empty(), "{:?}", done.troubles);
        let told: Vec<String> = done.commands.iter().map(super::Command::state).collect();
        assert_eq!(told, ["`git push` was refused by the user"]);
    }

    #[test]
    fn what_may_hide_a_failure_ends_none() {
        let failed = ("make", "Exit code 2\nmake: *** [all] Error 2");
        let headline = ["make: make: *** [all] Error 2"];
        check_open(&[failed, ("make 2>&1 | grep -c ok", "12")], &headline);
        check_open(&[failed, ("make || true", "done")], &headline);
        check_open(
            &[failed, ("make | tail -1", "make: *** [all] Error 2")],
            &headline,
        );
        check_open(&[failed, ("make install", "done")], &headline);
        check_open(&[failed, ("echo make", "make")], &headline);
        let filtered = ("make | head -5", "FAIL: rows");
        let headline = ["make | head -5: FAIL: rows"];
        check_open(&[filtered, ("make | head -5", "cc a.c")], &headline);
        check_open(&[filtered, ("make", "done")], &[]);
    }

    #[test]
    fn a_command_is_told_once_with_its_newest_outcome() {
        let done = read(&[
            (
                "make 2>&1 | tail -20",
                "Exit code 2\nmake: *** [all] Error 2",
            ),
            ("make | grep -c ok", "12"),
            ("make | tail -5", "built 7 targets"),
        ]);
        let told: Vec<String> = done.commands.iter().map(super::Command::state).collect();
        assert_eq!(
            told,
            [
                "`make | grep -c ok`: 12",
                "`make | tail -5` (2 runs): built 7 targets"
            ]
        );
        assert!(done.troubles.iter().all(|it| it.ended.is_some()));
    }

    #[test]
    fn a_pipe_proves_nothing_where_its_output_may_report_an_error() {
        let failed = ("make", "Exit code 2\nlink error");
        let open = ["make: link error"];
        for output in [
            "",
            "a.ts(3,1): error TS2304\n 12 | foo()",
            "make: *** [a] 2\nleft",
            "# a\n./b.go:12:5: declared and not used: x",
        ] {
            check_open(&[failed, ("make | tail -3", output)], &open);
            check_open(&[failed, ("make | tail -3 && ./run", output)], &open);
        }
        check_open(
            &[failed, ("make | tail -3", "errors.c built, 0 errors")],
            &[],
        );
    }

    #[test]
    fn a_failure_is_told_in_its_newest_words() {
        let failed = ("make", "Exit code 2\nError: a is missing");
        let later = ("make 2>&1 | head -5", "Error: b is missing\nstop");
        check_open(&[failed, later], &["make: Error: b is missing"]);
        for fine in [
            "✓ shows error banner\n12 passed",
            "src/a.c:3:5: warning: unused x",
        ] {
            let done = read(&[failed, ("make | head -5", fine)]);
            assert_eq!(done.troubles[0].headline(), "make: Error: a is missing");
        }
        let commands = read(&[failed, later]).commands;
        let told: Vec<String> = commands.iter().map(super::Command::state).collect();
        assert_eq!(
            told,
            ["`make | head -5` (2 runs) failed: Error: b is missing"]
        );
    }

    #[test]
    fn tests_say_that_they_passed_behind_a_filter() {
        let failed = ("go test ./a", "Exit code 1\n--- FAIL: TestX");
        let logs = "INFO error=none error a";
        for (line, last) in [
            ("go test ./a -v | tail -3", "ok  \ta\t0.1s"),
            ("go test ./a | tail", "= 5 passed, 1 warning in 2.1s ="),
        ] {
            check_open(&[failed, (line, &format!("{logs}\n{last}"))], &[]);
        }
        for (line, last) in [
            ("go test ./a | tail", "FAIL"),
            ("go test ./a | tail", "= 1 failed, 5 passed in 2.1s ="),
            ("go test ./a | tail", "== 5 passed, 2 errors in 1.2s =="),
            ("go test ./a | tail", "5 passed (6.4s)"),
            ("go test ./a | tail", "ok 3 b"),
            ("go test ./a | tail && ./run", "ok  \ta\t0.1s"),
        ] {
            let done = read(&[failed, (line, &format!("{logs}\n{last}"))]);
            assert!(done.troubles.iter().any(|it| it.ended.is_none()), "{last}");
        }
    }

    #[test]
    fn a_commit_concludes_a_merge_that_left_conflicts() {
        let conflict = "Exit code 1\nCONFLICT (content): Merge conflict in a.rs\n\
                        Automatic merge failed; fix conflicts and then commit the result.";
        let merge = ("git merge topic", conflict);
        let commit = (
            "git add a.rs && git commit -m \"Merge\"",
            "[main 1a2b3c4] Merge",
        );
        let told = |steps: &[(&str, &str)]| -> Vec<String> {
            let commands = read(steps).commands;
            let merges = commands.iter().map(super::Command::state);
            merges.filter(|it| it.contains("topic")).collect()
        };
        check_open(&[merge, commit], &[]);
        assert_eq!(
            told(&[merge, commit]),
            ["`git merge topic`: concluded by a commit"]
        );
        let abort = ("git merge --abort", "");
        assert!(told(&[merge, abort, commit])[0].contains("failed"));
        for abort in ["git merge --abort; git status", "git reset -q --hard"] {
            assert!(told(&[merge, (abort, "ok"), commit])[0].contains("failed"));
        }
        let again = (
            "git merge topic",
            "Exit code 128\nerror: Merging is not possible because you have unmerged files.",
        );
        check_open(&[merge, again, commit], &[]);
        let two = ("git merge topic && git merge other", conflict);
        assert!(told(&[two, commit])[0].contains("failed"));
        let refused = ("git merge topic", "Exit code 1\nerror: Your local changes");
        assert!(told(&[refused, commit])[0].contains("failed"));
    }

    #[test]
    fn the_same_command_in_another_folder_is_another_one() {
        let done = read(&[
            ("cd a && npm test", "Exit code 1\nError: rows"),
            ("cd b && npm test", "all passed"),
            ("npm test", "all passed"),
        ]);
        let told: Vec<String> = done.commands.iter().map(super::Command::state).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(done.troubles[0].ended, Some(4));
    }

    #[test]
    fn many_failures_are_read_in_time() {
        let steps: Vec<(String, &str)> = (0..4_000)
            .map(|at| {
                (
                    format!("make t{at}"),
                    if at % 2 == 0 {
                        "Exit code 2\nError: a"
                    } else {
                        "ok"
                    },
                )
            })
            .collect();
        let steps: Vec<(&str, &str)> = steps.iter().map(|(line, told)| (&**line, *told)).collect();
        let done = read(&steps);
        assert_eq!((done.commands.len(), done.troubles.len()), (4_000, 256));
    }
}
