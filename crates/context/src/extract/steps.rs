//! The steps of an agent: each call with its result, and what the call does, by the form of its arguments.

use std::collections::HashMap;

use serde_json::Value;

use super::command_line;
use super::here_documents::{self, Document};
use super::messages::{
    echoes, is_code_line, is_log, is_trailer, names_a_line, names_a_place, names_error, reports,
    sums_up,
};
use super::secrets::{HIDDEN, shows_secrets};
use super::verdicts::passed;
use crate::refusal::{BY_THE_USER, BY_WORDS, refusal, reported};
use crate::turn::{Outcome, ToolCall, ToolResult, Turn};

/// Names under which tools take a path.
pub(super) const PATHS: [&str; 9] = [
    "file_path",
    "filePath",
    "absolute_path",
    "notebookPath",
    "path",
    "notebook_path",
    "filename",
    "target_file",
    "file",
];
/// Names under which tools that only search take what they look for.
pub(super) const SOUGHT: [&str; 3] = ["pattern", "regex", "glob"];
/// Names under which tools take the whole content of a file.
pub(super) const CONTENTS: [&str; 4] = ["content", "contents", "file_text", "new_source"];
/// Names under which tools take the text that a change removes, and the text that takes its place.
pub(super) const OLD: [&str; 4] = ["old_string", "oldString", "oldText", "old_str"];
pub(super) const NEW: [&str; 4] = ["new_string", "newString", "newText", "new_str"];
/// Names under which tools take a change of a file.
pub(super) const CHANGES: [&str; 12] = [
    "old_string",
    "new_string",
    "oldString",
    "newString",
    "edits",
    "diff",
    "patch",
    "oldText",
    "newText",
    "old_str",
    "new_str",
    "insert_text",
];
/// The tags around a refusal of Claude Code itself.
const REFUSAL: (&str, &str) = ("<tool_use_error>", "</tool_use_error>");
/// Names under which tools take a command line.
pub(super) const COMMANDS: [&str; 3] = ["command", "cmd", "script"];
/// Phrases with which tools report that a command failed.
const EXITS: [&str; 4] = [
    "exit code",
    "exit status",
    "exited with code",
    "returned non-zero",
];

/// Reasons for which a shell does not write a file.
const REFUSED: [&str; 7] = [
    "permission denied",
    "no such file or directory",
    "is a directory",
    "not a directory",
    "read-only file system",
    "no space left on device",
    "directory nonexistent",
];

/// A call, and its result where it has one.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    /// The index of the turn that calls.
    pub turn: usize,
    pub call: &'a ToolCall,
    /// The arguments; `Null` where they are no JSON.
    pub arguments: Value,
    pub result: Option<&'a ToolResult>,
}

/// The effect of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A file was written with so many lines.
    Wrote(String, usize),
    /// A file was changed.
    Changed(String),
    /// A file was deleted.
    Deleted(String),
    /// A file was read.
    Read(String),
    /// A command was run.
    Ran(String),
    /// Something else.
    Other,
}

/// The steps of `turns`, in order. Of two calls with one id, a result belongs to the newest unanswered one.
pub(crate) fn steps(turns: &[Turn]) -> Vec<Step<'_>> {
    let mut out: Vec<Step<'_>> = Vec::new();
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    for (turn, it) in turns.iter().enumerate() {
        for result in it.results() {
            let waiting = open.get_mut(result.call.as_str()).and_then(Vec::pop);
            if let Some(step) = waiting.and_then(|at| out.get_mut(at)) {
                step.result = Some(result);
            }
        }
        for call in it.calls() {
            open.entry(call.id.as_str()).or_default().push(out.len());
            out.push(Step {
                turn,
                call,
                arguments: serde_json::from_str(&call.arguments).unwrap_or(Value::Null),
                result: None,
            });
        }
    }
    out
}

impl From<Document> for Action {
    fn from(document: Document) -> Self {
        match document.appends {
            true => Self::Changed(document.path),
            false => Self::Wrote(document.path, document.text.lines().count()),
        }
    }
}

impl Step<'_> {
    /// The effects of the call: several for a patch of several files.
    pub fn actions(&self) -> Vec<Action> {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| self.arguments.get(name));
            found.and_then(Value::as_str)
        };
        let has = |names: &[&str]| names.iter().any(|name| self.arguments.get(name).is_some());
        if let Some(path) = text(&PATHS) {
            let path = path.to_owned();
            return vec![match text(&CONTENTS) {
                Some(content) => Action::Wrote(path, content.lines().count()),
                None if has(&CHANGES) => Action::Changed(path),
                None if has(&COMMANDS) => Action::Other,
                None => Action::Read(path),
            }];
        }
        let command = self.command();
        let patch = command.as_deref().unwrap_or(&self.call.arguments);
        if is_patch(patch) {
            let unescaped = patch.replace("\\n", "\n");
            return unescaped.lines().filter_map(patched).collect();
        }
        let Some(command) = command else {
            return vec![Action::Other];
        };
        let (documents, rest) = here_documents::split(&command);
        let mut out: Vec<Action> = documents.into_iter().map(Action::from).collect();
        if out.is_empty() {
            out.push(Action::Ran(command));
        } else if !rest.is_empty() {
            out.push(Action::Ran(rest));
        }
        out
    }

    /// The script that the call has a shell run.
    pub fn script(&self) -> Option<String> {
        let is_file = PATHS.iter().any(|name| self.arguments.get(name).is_some());
        self.command().filter(|it| !is_file && !is_patch(it))
    }

    /// Returns true if the call is a search that may print the numbers of lines.
    pub fn numbers_lines(&self) -> bool {
        let asked = SOUGHT.iter().any(|name| self.arguments.get(name).is_some());
        let is_option = |word: &str| {
            let letters = word.strip_prefix('-').unwrap_or_default();
            !letters.starts_with('-') && letters.contains('n') || word == "--line-number"
        };
        let numbers = |script: String| {
            let mut words = script.split_whitespace();
            let program = words.find(|word| ["grep", "egrep", "fgrep", "rg", "ag"].contains(word));
            program.is_some_and(|it| matches!(it, "rg" | "ag") || words.any(is_option))
        };
        asked || self.script().is_some_and(numbers)
    }

    /// Returns true if the call changes files, and does nothing else.
    pub fn changes(&self) -> bool {
        let is_change = |action: &Action| {
            matches!(
                action,
                Action::Wrote(..) | Action::Changed(_) | Action::Deleted(_)
            )
        };
        self.actions().iter().all(is_change)
    }

    /// The path of the file that the call is about.
    pub fn file(&self) -> Option<String> {
        match self.subject()? {
            Action::Wrote(path, _)
            | Action::Changed(path)
            | Action::Deleted(path)
            | Action::Read(path) => Some(path),
            Action::Ran(_) | Action::Other => None,
        }
    }

    /// The beginning of the command that the call runs; empty where it runs none.
    pub fn program(&self) -> String {
        /// The longest beginning of a command, in bytes.
        const LONGEST: usize = 32;
        let mut out = String::new();
        let Some(Action::Ran(line)) = self.subject() else {
            return out;
        };
        for word in command_line::shown(&line).split_whitespace() {
            if out.len() + word.len() >= LONGEST || word.starts_with(['|', '&', '2', '>', '…']) {
                break;
            }
            out.push_str(if out.is_empty() { "" } else { " " });
            out.push_str(word);
        }
        out
    }

    fn subject(&self) -> Option<Action> {
        let mut actions = self.actions();
        // What a script prints is its commands', not that of the files it writes.
        let ran = actions.iter().position(|it| matches!(it, Action::Ran(_)));
        actions.drain(ran.unwrap_or(0)..).next()
    }

    /// Returns true if the call only reads the file at this path: besides the path it has numbers, and at most
    /// the word `view`. A search has its pattern as well.
    pub fn reads(&self, path: &str) -> bool {
        let is_path = |name: &str| PATHS.contains(&name);
        let says_more = |(name, value): (&String, &Value)| match value {
            Value::String(text) => !is_path(name) && text != "view" && text != "read",
            _ => false,
        };
        let fields = self.arguments.as_object();
        self.names(path)
            && self.command().is_none_or(|command| command == "view")
            && !fields.is_some_and(|fields| fields.iter().any(says_more))
    }

    /// Returns true if the call names this path and changes nothing there: as an argument of its own, or as a
    /// word of a command. A relative path also names a file by the end of its absolute path.
    pub fn names(&self, path: &str) -> bool {
        let is_it = |named: &str| ends_in(named, path);
        let named = PATHS.iter().filter_map(|name| self.arguments.get(name));
        if named.filter_map(Value::as_str).any(is_it) {
            let changes = CONTENTS.iter().chain(&CHANGES);
            return !changes
                .clone()
                .any(|name| self.arguments.get(name).is_some());
        }
        let quotes = ['\'', '"', '`', ';'];
        self.command().is_some_and(|command| {
            let (documents, _) = here_documents::split(&command);
            if documents.iter().any(|it| is_it(&it.path)) {
                return false;
            }
            let mut words = command.split_whitespace();
            words.any(|word| is_it(word.trim_matches(quotes)))
        })
    }

    /// Returns true if the call is a script that writes files by here-documents.
    pub fn writes_documents(&self) -> bool {
        self.script()
            .is_some_and(|it| !here_documents::split(&it).0.is_empty())
    }

    /// The line of the result with which a shell refuses to write the file at this path.
    pub fn refusal(&self, path: &str) -> Option<&str> {
        let name = file_name(path).to_lowercase();
        self.result?.text.lines().find(|line| {
            let line = line.trim_end().to_lowercase();
            line.match_indices(&name).any(|(at, _)| {
                let before = line.get(..at).unwrap_or_default();
                let after = line.get(at + name.len()..).unwrap_or_default();
                let reason = after.strip_prefix(": ");
                let is_after =
                    || reason.is_some_and(|it| REFUSED.iter().any(|no| it.starts_with(no)));
                // As zsh says it.
                let is_before = || {
                    after.is_empty() && REFUSED.iter().any(|no| before.contains(&format!("{no}: ")))
                };
                before.ends_with(['/', ' ']) && (is_after() || is_before())
            })
        })
    }

    /// The names that the text of a change, or of a new file at this path, declares, in its order.
    pub fn declares(&self, path: &str) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let fields = CONTENTS.iter().chain(&CHANGES);
        let mut open: Vec<&Value> = fields.filter_map(|name| self.arguments.get(name)).collect();
        let mut add = |text: &str| {
            for name in text.lines().filter_map(declared) {
                if !out.iter().any(|it| it == name) {
                    out.push(name.to_owned());
                }
            }
        };
        if let Some(script) = self.script() {
            let (documents, _) = here_documents::split(&script);
            let own = documents.iter().filter(|it| it.path == path);
            own.for_each(|it| add(&it.text));
        }
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => add(text),
                Value::Array(values) => open.extend(values),
                Value::Object(members) => open.extend(members.values()),
                _ => {}
            }
        }
        out
    }

    /// Returns true if an argument of this name is the command line.
    pub fn is_command(&self, key: &str) -> bool {
        COMMANDS.contains(&key)
    }

    /// The command line that the call runs.
    fn command(&self) -> Option<String> {
        let value = COMMANDS.iter().find_map(|name| self.arguments.get(name))?;
        match value {
            Value::String(text) => Some(text.clone()),
            // `["bash", "-lc", "make"]`: what the shell is given.
            Value::Array(words) => Some(words.last()?.as_str()?.to_owned()),
            _ => None,
        }
    }

    /// Returns true if the tool reported a failure, or a command that ended with one.
    pub fn failed(&self) -> bool {
        self.result.is_some_and(|result| {
            let text = &*result.text;
            let has_failed = result.outcome == Outcome::Failed || exit_code(text) > 0;
            has_failed && !self.found_nothing() || ends_failed(text) || self.is_refused()
        })
    }

    /// Returns true if the user refused the call.
    pub fn is_refused(&self) -> bool {
        self.result.is_some_and(|it| refusal(it).is_some()) || self.is_refused_by_words()
    }

    /// Returns true if a change was refused as its result says. Programs can print the same, and files can hold it.
    fn is_refused_by_words(&self) -> bool {
        self.result.is_some_and(|it| reported(it).is_some()) && self.changes()
    }

    /// The last line of the result that is not empty.
    pub fn last_line(&self) -> Option<&str> {
        let mut lines = self.result?.text.lines();
        lines.rfind(|line| !line.trim().is_empty())
    }

    /// Returns true if the output is empty or a line of it reports an error, other than that there are none. A pipe may
    /// have left lines out.
    pub fn may_have_failed(&self) -> bool {
        self.result.is_none_or(|it| it.text.trim().is_empty()) || self.reports_an_error()
    }

    /// Returns true if a line of the output reports an error, other than that there are none.
    pub fn reports_an_error(&self) -> bool {
        let text = self.result.map_or("", |it| &*it.text);
        text.lines().any(|it| reports(it) || names_a_place(it))
    }

    /// Returns true if the last line is the verdict of Go or pytest on all tests: they passed.
    pub fn ends_with_passed_tests(&self) -> bool {
        let last = self.last_line().unwrap_or_default();
        let last = last.trim_matches(|it: char| it == '=' || it.is_whitespace());
        let mut words = last.split_whitespace();
        let first = words.next().unwrap_or_default();
        let second = words.next().unwrap_or_default();
        let third = words.next().unwrap_or_default();
        let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
        let is_pytest = is_number(first) && matches!(second, "passed" | "passed,");
        // TAP numbers each test.
        let is_go = first == "ok" && !is_number(second) && !third.is_empty();
        let has_failed = last.contains("failed") || last.contains("error");
        is_go || is_pytest && last.contains(" in ") && !has_failed
    }

    /// The line that reports an error in the output of a filter: the command in front of it goes on to fail.
    pub fn error_behind_a_filter(&self) -> Option<&str> {
        const WORDS: [&str; 6] = ["error", "fail", "failed", "fatal", "fatal error", "panic"];
        let begins = |line: &str| {
            let lower = line.trim_start_matches(['-', ' ']).to_lowercase();
            let first = lower.split([':', '[', '(']).next().unwrap_or_default();
            WORDS.contains(&first.trim_end())
        };
        let mut lines = self.result?.text.lines().map(bare);
        let told = lines.find(|line| begins(line) || names_a_place(line));
        told.filter(|_| !self.failed() && !self.ends_with_passed_tests())
    }

    /// Returns true if `git` says that a commit is to conclude a merge.
    pub fn left_conflicts(&self) -> bool {
        let text = self.result.map_or("", |it| &*it.text);
        let signs = [
            "fix conflicts and then commit",
            "unmerged files",
            "MERGE_HEAD exists",
        ];
        signs.iter().any(|it| text.contains(it))
    }

    /// Returns true if the call is a search that found nothing, which shells report as a failure.
    fn found_nothing(&self) -> bool {
        let text = self.result.map_or("", |it| &*it.text);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        exit_code(text) == 1
            && lines.all(|line| is_exit(line) || line.trim() == "(no output)")
            && self.script().is_some_and(|it| command_line::searches(&it))
    }

    /// The line of the result that tells most: of a failure the first that names an error, else the verdict on a test
    /// that the command names, or the last.
    pub fn telling_line(&self) -> Option<&str> {
        /// The longest line that is taken for a message, in bytes: a longer one is code that a program prints with it.
        const MESSAGE: usize = 500;
        /// A longer line is a message all the same if it names an error in so many bytes.
        const BEGIN: usize = 120;
        let result = self.result?;
        if self.is_refused_by_words() {
            return Some(BY_WORDS);
        }
        if self.is_refused() {
            return Some(BY_THE_USER);
        }
        if shows_secrets(self) {
            return Some(HIDDEN);
        }
        let lines = || {
            let lines = without_reminder(&result.text).lines().map(bare);
            let lines = lines.filter(|line| !is_trailer(line));
            lines.filter(|line| line.chars().filter(|it| it.is_alphanumeric()).count() >= 4)
        };
        if !self.failed() {
            let script = self.script().unwrap_or_default();
            let is_chosen = |line: &&str| passed(line).is_some_and(|name| stands_in(&script, name));
            // The newest commit stands first.
            let newest = lines().next().filter(|_| is_log(&script));
            let verdict = lines().rfind(is_chosen).or(newest);
            return verdict
                .or_else(|| lines().rfind(|line| !echoes(line)))
                .or_else(|| lines().next_back());
        }
        if result.text.trim_start().starts_with(REFUSAL.0) {
            return lines().next();
        }
        let is_code = |line: &&str| exit_code(line) > 0;
        let begin = |line: &str, most: usize| {
            let end = line.floor_char_boundary(most.min(line.len()));
            line.get(..end).unwrap_or_default().to_lowercase()
        };
        let errors = || lines().filter(|line| !is_code(line));
        let messages = || errors().filter(|line| line.len() <= MESSAGE);
        let is_named = |line: &&str| names_error(&line.to_lowercase());
        messages()
            .find(|line| is_named(line) && !sums_up(line) && !is_code_line(line))
            .or_else(|| messages().find(|line| names_a_place(line)))
            .or_else(|| messages().find(|line| names_a_line(line)))
            .or_else(|| messages().find(is_named))
            .or_else(|| errors().find(|line| names_error(&begin(line, BEGIN))))
            .or_else(|| {
                errors()
                    .find(|line| !echoes(line))
                    .filter(|_| tells_errors_first(&result.text))
            })
            .or_else(|| errors().next_back())
            .or_else(|| lines().next())
    }
}

/// Returns true if a script names a test, and not only part of a word.
fn stands_in(script: &str, name: &str) -> bool {
    /// The fewest letters of a name that is no common word.
    const LEAST: usize = 4;
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    name.len() >= LEAST
        && script.match_indices(name).any(|(at, _)| {
            let (before, behind) = (script.get(..at), script.get(at + name.len()..));
            let before = before.and_then(|it| it.chars().next_back());
            !is_part(before) && !is_part(behind.and_then(|it| it.chars().next()))
        })
}

/// Returns true if a path is the other one, or ends in it.
pub(super) fn ends_in(path: &str, end: &str) -> bool {
    let front = path.strip_suffix(end).filter(|_| !end.is_empty());
    front.is_some_and(|it| it.is_empty() || it.ends_with('/'))
}

/// Returns true if the name of a file would make a quotation from it pass for another's words.
pub(super) fn passes_for_another(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    matches!(&*lower, "user" | "assistant" | "earlier summary") || lower.starts_with("the user")
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

fn is_patch(text: &str) -> bool {
    text.contains("*** Begin Patch")
}

/// The name that a line of code declares: `load` for `pub async fn load(path: &Path)`.
pub(super) fn declared(line: &str) -> Option<&str> {
    /// Words that may stand in front of the word that declares.
    const BEFORE: [&str; 12] = [
        "pub",
        "export",
        "default",
        "async",
        "static",
        "public",
        "private",
        "protected",
        "abstract",
        "final",
        "unsafe",
        "declare",
    ];
    /// Words that declare.
    const WORDS: [&str; 10] = [
        "fn",
        "func",
        "function",
        "def",
        "class",
        "struct",
        "enum",
        "trait",
        "interface",
        "type",
    ];
    let mut rest = line.trim_start_matches(['+', ' ', '\t']);
    loop {
        let (word, behind) = rest.split_once(' ')?;
        let plain = word.split('(').next().unwrap_or(word);
        rest = behind.trim_start();
        if WORDS.contains(&word) {
            break;
        }
        if !BEFORE.contains(&plain) {
            return None;
        }
    }
    // The receiver of a method in Go.
    if let Some(receiver) = rest.strip_prefix('(') {
        rest = receiver.split_once(')')?.1.trim_start();
    }
    let end = rest
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(rest.len());
    // "type of" in prose declares nothing.
    let is_code = rest
        .get(end..)?
        .trim_start()
        .starts_with(['(', '{', '<', ':', '=', '[', ';'])
        || line.trim_end().ends_with(['{', '(', ';', ':']);
    rest.get(..end).filter(|name| name.len() >= 3 && is_code)
}

/// Returns true if a name is that of an argument whose text is quoted without it.
pub(super) fn is_key(name: &str) -> bool {
    let keys = PATHS
        .iter()
        .chain(&CONTENTS)
        .chain(&CHANGES)
        .chain(&COMMANDS);
    keys.into_iter().any(|key| *key == name)
}

/// A readable call as the last steps tell it: `Bash: make` for `Bash command: make`.
pub(super) fn without_command_key(call: &str) -> String {
    let (name, rest) = call.split_once(' ').unwrap_or((call, ""));
    let mut keys = COMMANDS.iter();
    match keys.find_map(|key| rest.strip_prefix(key)?.strip_prefix(": ")) {
        Some(line) => format!("{name}: {line}"),
        None => call.to_owned(),
    }
}

/// Returns true if a line of a readable call only points at a place (a path, a number, a flag) or holds raw data.
pub(super) fn points(line: &str) -> bool {
    let Some((key, value)) = line.split_once(": ") else {
        return false;
    };
    let key = key.rsplit(' ').next().unwrap_or(key);
    PATHS.contains(&key)
        || value.starts_with(['[', '{'])
        || matches!(value, "true" | "false")
        || value.bytes().all(|it| it.is_ascii_digit())
}

/// Returns true if a line of a readable call holds a list or an object in JSON.
pub(super) fn is_raw(line: &str) -> bool {
    let value = line.split_once(": ").map_or(line, |(_, value)| value);
    ["[{", "[\"", "{\""]
        .iter()
        .any(|begins| value.starts_with(begins))
}

/// Returns true if a readable call runs a command or changes a file: what only looks leaves nothing behind.
pub(super) fn acts(call: &str) -> bool {
    let first = call.lines().next().unwrap_or_default();
    let named = |name: &str| {
        let key = format!(" {name}: ");
        first.contains(&key) || call.contains(&format!("\n{}", key.trim_start()))
    };
    COMMANDS
        .iter()
        .chain(&CONTENTS)
        .chain(&CHANGES)
        .any(|name| named(name))
}

/// The beginning of a readable call up to the line that names its file or its command: what stands first differs
/// from client to client.
pub(super) fn headline(call: &str) -> &str {
    /// The longest beginning, in bytes.
    const LONGEST: usize = 320;
    let mut end = 0;
    for line in call.split_inclusive('\n') {
        end += line.len();
        let names = |name: &str| {
            let key = format!("{name}: ");
            line.starts_with(&key) || line.contains(&format!(" {key}"))
        };
        if end > LONGEST {
            break;
        }
        if PATHS.iter().chain(&COMMANDS).any(|name| names(name)) {
            return call.get(..end).unwrap_or_default().trim_end();
        }
    }
    call.lines().next().unwrap_or_default()
}

/// Returns true if the last line of an output says that it failed. A pipe hides the exit code of what stands in
/// front of it.
fn ends_failed(text: &str) -> bool {
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    let word = last.and_then(|line| line.split_whitespace().next());
    word.is_some_and(|word| matches!(word.trim_end_matches(':'), "FAIL" | "FAILED" | "FAILURE"))
}

/// A line or a whole result without the tags around a refusal, which tell nothing.
pub(super) fn bare(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix(REFUSAL.0).unwrap_or(text);
    text.strip_suffix(REFUSAL.1).unwrap_or(text).trim()
}

/// A result without the reminders that a client put behind it.
fn without_reminder(text: &str) -> &str {
    let mut out = text.trim_end();
    while out.ends_with("</system-reminder>") {
        let Some(at) = out.rfind("<system-reminder") else {
            break;
        };
        out = out.get(..at).unwrap_or_default().trim_end();
    }
    out
}

/// Returns true if a line says no more than that a command failed, such as `Exit code 1`.
pub(super) fn is_exit(line: &str) -> bool {
    exit_code(line) > 0 && line.split_whitespace().count() <= 4
}

/// Returns true if a result tells apart what a command wrote to its standard error, as Claude Code does: `Exit code 1`,
/// the errors, a blank line, and the rest.
fn tells_errors_first(text: &str) -> bool {
    let (first, behind) = text.split_once('\n').unwrap_or((text, ""));
    is_exit(first) && !behind.starts_with('\n') && behind.contains("\n\n")
}

/// The exit code that a result reports; 0 where it reports none. Only the first and the last lines count: a log in
/// between may tell of others.
fn exit_code(text: &str) -> u32 {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let ends = [lines.next(), lines.next_back()];
    let code = |line: &str| {
        let lower = line.to_lowercase();
        let (at, phrase) = EXITS
            .iter()
            .find_map(|phrase| Some((lower.find(phrase)?, phrase)))?;
        let rest = lower.get(at + phrase.len()..)?;
        let rest = rest.trim_start_matches([':', ' ', '=', '(']);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    ends.into_iter().flatten().find_map(code).unwrap_or(0)
}

/// The effect of a line such as `*** Update File: src/a.rs`.
fn patched(line: &str) -> Option<Action> {
    let (verb, path) = line.strip_prefix("*** ")?.split_once(" File: ")?;
    let path = path.trim().to_owned();
    match verb {
        "Add" => Some(Action::Wrote(path, 0)),
        "Update" => Some(Action::Changed(path)),
        "Delete" => Some(Action::Deleted(path)),
        _ => None,
    }
}
