//! The deeds behind an agent's calls, as fingerprints.

use serde_json::Value;

use crate::extract::steps::{Action, Step};
use crate::extract::tasks::{State, changed, list};
use crate::identifiers::{self, Kind};

/// Commands that show a file.
const READERS: [&str; 8] = ["cat", "head", "tail", "sed", "nl", "bat", "less", "more"];
/// Commands that search.
const SEARCHERS: [&str; 6] = ["grep", "egrep", "fgrep", "rg", "ag", "ack"];
/// Names under which tools take what to search for.
const SOUGHT: [&str; 5] = ["pattern", "query", "regex", "search", "search_term"];
/// The most identifiers of one search.
const WORDS: usize = 8;

/// A deed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// A file was read, or a part of it. `part` and `whole` are equal for all of it.
    Read { file: u32, part: u32, whole: u32 },
    /// A file was written, or changed in a place; `whole` is set where all of it was written.
    Wrote { file: u32, whole: Option<u32> },
    /// Identifiers were searched for.
    Searched(Vec<String>),
    /// This command line failed.
    Failed(u32, String),
    /// A command did not fail.
    Worked(u32),
    /// A task was closed.
    Closed(u32),
    /// A task is open. Its text, where that is told.
    Opened(u32, String),
}

/// The fingerprint of some texts.
pub(super) fn print(texts: &[&str]) -> u32 {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update(&[0]);
    }
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// The deeds of a step.
pub(super) fn deeds(step: &Step<'_>) -> Vec<Deed> {
    if let Some(sought) = sought(step) {
        return vec![Deed::Searched(words(sought))];
    }
    let tasks = tasks(step);
    if !tasks.is_empty() {
        return tasks;
    }
    let failed = step.failed();
    let actions = step.actions();
    // A script that fails may have written its files.
    let is_script = actions.iter().any(|it| matches!(it, Action::Ran(_)));
    let of = |action: Action| match action {
        Action::Read(path) if step.reads(&path) && !failed => Some(read(step, &path)),
        Action::Wrote(path, _) if !failed || is_script => Some(Deed::Wrote {
            file: file(&path),
            whole: Some(print(&["read", &path])),
        }),
        Action::Changed(path) | Action::Deleted(path) if !failed || is_script => {
            Some(Deed::Wrote {
                file: file(&path),
                whole: None,
            })
        }
        Action::Ran(command) => ran(command.trim(), failed, step.result.is_some()),
        _ => None,
    };
    actions.into_iter().filter_map(of).collect()
}

fn file(path: &str) -> u32 {
    print(&["file", path])
}

/// The reading of a file by a tool. Numbers among the arguments say which part.
fn read(step: &Step<'_>, path: &str) -> Deed {
    let whole = print(&["read", path]);
    let mut range = String::new();
    for (name, value) in step.arguments.as_object().into_iter().flatten() {
        if matches!(value, Value::Number(_) | Value::Array(_)) {
            range.push_str(&format!("{name}={value} "));
        }
    }
    let part = match range.as_str() {
        "" => whole,
        range => print(&["read", path, range]),
    };
    Deed::Read {
        file: file(path),
        part,
        whole,
    }
}

/// The deed of a command line. Only its beginning is looked at; a change of folder in front does not count.
fn ran(command: &str, failed: bool, is_answered: bool) -> Option<Deed> {
    let line = match command.strip_prefix("cd ") {
        Some(rest) => rest.split_once("&&").map_or(command, |(_, rest)| rest),
        None => command,
    };
    let line = line.trim();
    let mut parts = line.split_whitespace();
    let first = parts.next()?;
    if SEARCHERS.contains(&first) || line.starts_with("git grep ") {
        return Some(Deed::Searched(words(searched_for(line))));
    }
    let whole = print(&["read", line]);
    if READERS.contains(&first) && !line.contains('>') && !line.contains(" -i") {
        let path = parts.rfind(|word| word.contains(['/', '.']));
        let file = file(path.unwrap_or_default().trim_matches(['\'', '"']));
        let read = Deed::Read {
            file,
            part: whole,
            whole,
        };
        return (!failed).then_some(read);
    }
    let run = print(&["run", line]);
    match (is_answered, failed) {
        (false, _) => None,
        (true, true) => Some(Deed::Failed(run, line.to_owned())),
        (true, false) => Some(Deed::Worked(run)),
    }
}

/// The first argument of a search command that is no flag.
fn searched_for(line: &str) -> &str {
    let mut rest = line.strip_prefix("git ").unwrap_or(line);
    while let Some((_, behind)) = rest.split_once(char::is_whitespace) {
        rest = behind.trim_start();
        if let Some(quote) = rest.chars().next().filter(|it| matches!(it, '\'' | '"')) {
            let inside = rest.get(1..).unwrap_or_default();
            return inside.split(quote).next().unwrap_or_default();
        }
        if !rest.starts_with('-') {
            return rest.split_whitespace().next().unwrap_or_default();
        }
    }
    ""
}

/// The query of a search tool's call.
fn sought<'s>(step: &'s Step<'_>) -> Option<&'s str> {
    let named = SOUGHT.iter().find_map(|name| step.arguments.get(name));
    named.and_then(Value::as_str)
}

/// The identifiers of a search: what is a name, an id or a path.
fn words(sought: &str) -> Vec<String> {
    let is_one = |kind: Kind| matches!(kind, Kind::Name | Kind::Hex | Kind::Path | Kind::Email);
    let found = identifiers::scan(sought).filter(|found| is_one(found.kind));
    found
        .take(WORDS)
        .map(|found| found.text.to_owned())
        .collect()
}

/// The states of tasks that a call gives.
fn tasks(step: &Step<'_>) -> Vec<Deed> {
    let deed = |state: State, task: u32, text: &str| match state {
        State::Closed => Deed::Closed(task),
        State::Open | State::Doing => Deed::Opened(task, text.to_owned()),
    };
    if let Some(list) = list(&step.arguments) {
        let told = list.iter();
        let told = told.map(|task| deed(task.state, print(&["task", &task.text]), &task.text));
        return told.collect();
    }
    let status = step.arguments.get("status").and_then(Value::as_str);
    let one = status.and_then(State::of).zip(changed(&step.arguments));
    one.map(|(state, id)| deed(state, print(&["task id", &id]), ""))
        .into_iter()
        .collect()
}
