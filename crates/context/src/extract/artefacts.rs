//! Changes that the agent made to its environment: files, commands, commits, and the errors on the way.

use std::collections::HashMap;

use super::folder::Folder;
use super::steps::{Action, Step};
use crate::summary::one_line;

/// The longest command or line of output that is quoted whole, in bytes.
const LINE: usize = 180;
/// The most files that were only read.
const READ: usize = 8;

/// The state of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub path: String,
    written: Option<usize>,
    changes: usize,
    is_deleted: bool,
    /// The names that its changes declare, the newest last.
    names: Vec<String>,
    /// The line that tells why the last change failed.
    failure: Option<String>,
    /// The step that touched it last.
    pub last: usize,
}

/// A command and its outcomes.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub line: String,
    pub runs: usize,
    pub failed: bool,
    told: Option<String>,
    /// The step that ran it last.
    pub last: usize,
}

/// An error and what ended it.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub line: String,
    at: String,
    /// The turn of the call that failed.
    pub turn: usize,
    /// The turn in which the same thing worked.
    pub ended: Option<usize>,
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
        let mut commands: HashMap<String, Command> = HashMap::new();
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
                    Action::Ran(line) => {
                        let line = shown_command(line);
                        let command = commands.entry(line.clone()).or_insert(Command {
                            line,
                            runs: 0,
                            failed: false,
                            told: None,
                            last: number,
                        });
                        command.take(step, number);
                    }
                    Action::Other => {}
                }
                out.follow(action, step, failure);
            }
            let told = step.result.iter().flat_map(|result| result.text.lines());
            out.commits.extend(told.filter_map(commit));
        }
        out.commits.dedup();
        out.files = newest_last(files.into_values(), |file| file.last);
        read.retain(|path, _| !out.files.iter().any(|file| file.path == *path));
        let newest = newest_last(read.into_iter(), |(_, last)| *last);
        let newest = newest.into_iter().rev().take(READ);
        out.read = newest.map(|(path, _)| path).collect();
        let changed = out.files.iter().map(|file| &*file.path);
        out.folder = Folder::of(changed.chain(out.read.iter().map(String::as_str)));
        out.commands = newest_last(commands.into_values(), |command| command.last);
        out
    }

    /// Notes an error, or the end of one. `failure` is the line that tells why the action failed.
    fn follow(&mut self, action: &Action, step: &Step<'_>, failure: Option<String>) {
        let at = match action {
            Action::Wrote(path, _)
            | Action::Changed(path)
            | Action::Deleted(path)
            | Action::Read(path) => path.clone(),
            Action::Ran(line) => shown_command(line),
            Action::Other => step.call.name.to_string(),
        };
        let same = |it: &&mut Trouble| it.at == at && it.ended.is_none();
        if let Some(line) = failure {
            if line.is_empty() {
                return;
            }
            // The newest wording of an error that goes on.
            self.troubles.retain(|it| it.at != at || it.ended.is_some());
            self.troubles.push(Trouble {
                line,
                at,
                turn: step.turn,
                ended: None,
            });
        } else if step.result.is_some()
            && let Some(ended) = self.troubles.iter_mut().find(same)
        {
            ended.ended = Some(step.turn);
        }
    }
}

/// The line that tells why a step failed: empty where no line tells.
fn failure(step: &Step<'_>) -> Option<String> {
    let line = || step.telling_line().map(clipped).unwrap_or_default();
    step.failed().then(line)
}

impl File {
    fn take(
        &mut self,
        action: &Action,
        (step, failure): (&Step<'_>, Option<String>),
        number: usize,
    ) {
        self.last = number;
        if failure.is_some() {
            self.failure = failure.filter(|line| !line.is_empty());
            return;
        }
        self.failure = None;
        let names = step.declares(&self.path);
        self.names.retain(|name| !names.contains(name));
        self.names.extend(names);
        match action {
            Action::Wrote(_, lines) => {
                self.written = Some(*lines);
                self.changes = 0;
                self.is_deleted = false;
            }
            Action::Deleted(_) => self.is_deleted = true,
            _ => self.changes += 1,
        }
    }

    /// Returns true if the file stands where systems keep files that nobody needs for long.
    pub fn is_temporary(&self) -> bool {
        let path = self.path.strip_prefix("/private").unwrap_or(&self.path);
        ["/tmp/", "/var/tmp/", "/var/folders/"]
            .iter()
            .any(|folder| path.starts_with(folder))
    }

    /// `src/a.rs: written (120 lines), then changed once: load, Row`, with this path.
    pub fn state(&self, path: &str) -> String {
        /// The most names.
        const NAMES: usize = 6;
        let times = match self.changes {
            1 => "changed once".to_owned(),
            many => format!("changed {many} times"),
        };
        let made = self.written.map(|lines| match lines {
            0 => "created".to_owned(),
            1 => "written (1 line)".to_owned(),
            many => format!("written ({many} lines)"),
        });
        let mut state = match (self.is_deleted, made, self.changes) {
            (true, ..) => "deleted".to_owned(),
            (_, Some(made), 0) => made,
            (_, Some(made), _) => format!("{made}, then {times}"),
            (_, None, 0) => "not changed".to_owned(),
            (_, None, _) => times,
        };
        let newest = self.names.iter().rev().take(NAMES);
        let newest: Vec<&str> = newest.map(String::as_str).collect();
        if !newest.is_empty() {
            state = format!("{state}: {}", newest.join(", "));
        }
        if let Some(failure) = &self.failure {
            state = format!("{state}; the last change failed: {failure}");
        }
        format!("{path}: {state}")
    }
}

impl Command {
    fn take(&mut self, step: &Step<'_>, number: usize) {
        self.runs += 1;
        self.last = number;
        self.failed = step.failed();
        self.told = step.telling_line().map(clipped);
    }

    /// `` `make test` (3 runs) failed ``.
    pub fn outcome(&self) -> String {
        let runs = match self.runs {
            1 => String::new(),
            many => format!(" ({many} runs)"),
        };
        // A command that did not fail need not have gone well: a pipe hides its exit code.
        let outcome = if self.failed { " failed" } else { "" };
        format!("`{}`{runs}{outcome}", self.line)
    }

    /// `` `make test` (3 runs) failed: LINE ``.
    pub fn state(&self) -> String {
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
                let ended = number(ended);
                format!("{headline} (turn {turn}; the same worked in turn {ended})")
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

/// The line of a command that says what it does: without a change of folder or environment in front, one line.
pub(super) fn shown_command(command: &str) -> String {
    let command = command.trim();
    let mut behind = command;
    // A script that does nothing else is shown as it is.
    while let Some((_, rest)) = ["cd ", "export "]
        .iter()
        .any(|word| behind.starts_with(word))
        .then(|| behind.split_once("&&"))
        .flatten()
    {
        behind = rest.trim_start_matches(['\\', '\n', ' ']);
    }
    let behind = if behind.is_empty() { command } else { behind };
    let first = behind.lines().next().unwrap_or_default().trim();
    match first == behind {
        true => clipped(first),
        false => format!("{} …", clipped(first).trim_end_matches(" …")),
    }
}

/// A line whole, or its beginning with a mark.
fn clipped(line: &str) -> String {
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
