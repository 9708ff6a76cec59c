//! Files that the agent wrote, changed, removed or moved.

use std::collections::HashMap;

use super::commands::{self, Effect};
use super::steps::{self, Action, Step};

/// The state of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub path: String,
    written: Option<usize>,
    changes: usize,
    is_deleted: bool,
    /// The path that it was moved to.
    moved_to: Option<String>,
    /// The names that its changes declare, the newest last.
    names: Vec<String>,
    /// The line that tells why the last change failed.
    failure: Option<String>,
    /// The step that touched it last.
    pub last: usize,
}

impl File {
    pub fn take(
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
        self.moved_to = None;
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
            _ => {
                self.changes += 1;
                self.is_deleted = false;
            }
        }
    }

    /// Returns true if the file stands where systems keep files that nobody needs for long.
    pub fn is_temporary(&self) -> bool {
        commands::is_temporary(&self.path)
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        steps::file_name(&self.path)
    }

    /// Returns true if a change of it did not fail.
    pub const fn is_changed(&self) -> bool {
        self.written.is_some() || self.changes > 0
    }

    /// Returns true if it is not there any more.
    pub const fn is_gone(&self) -> bool {
        self.is_deleted || self.moved_to.is_some()
    }

    /// Returns true if the path names this file, or a folder that it is in. Of a relative path, only the end of the
    /// file's path is compared.
    fn is_at(&self, path: &str) -> bool {
        let is_absolute = path.starts_with(['/', '~']);
        match self.path.strip_prefix(path) {
            Some(rest) if is_absolute => rest.is_empty() || rest.starts_with('/'),
            _ if is_absolute => false,
            _ => {
                let before = self.path.strip_suffix(path);
                before.is_some_and(|it| it.is_empty() || it.ends_with('/'))
            }
        }
    }

    /// `src/a.rs: written (120 lines), then changed once`, with this path.
    pub fn short_state(&self, path: &str) -> String {
        self.told(path, 0)
    }

    /// `src/a.rs: written (120 lines), then changed once: load, Row`, with this path.
    pub fn state(&self, path: &str) -> String {
        /// The most names.
        const NAMES: usize = 6;
        self.told(path, NAMES)
    }

    fn told(&self, path: &str, most: usize) -> String {
        let times = match self.changes {
            1 => "changed once".to_owned(),
            many => format!("changed {many} times"),
        };
        let made = self.written.map(|lines| match lines {
            0 => "created".to_owned(),
            1 => "written (1 line)".to_owned(),
            many => format!("written ({many} lines)"),
        });
        if let Some(to) = &self.moved_to {
            return format!("{path}: moved to {to}");
        }
        let mut state = match (self.is_deleted, made, self.changes) {
            (true, ..) => return format!("{path}: deleted"),
            (_, Some(made), 0) => made,
            (_, Some(made), _) => format!("{made}, then {times}"),
            (_, None, 0) => "not changed".to_owned(),
            (_, None, _) => times,
        };
        let newest = self.names.iter().rev().take(most);
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

/// Changes the state of the files that a command of a step removed, moved or restored. What the same step wrote, it may
/// have written afterwards.
pub(super) fn take(files: &mut HashMap<String, File>, effect: Effect, number: usize) {
    let at = |files: &HashMap<String, File>, path: &str| {
        if files.contains_key(path) {
            return vec![path.to_owned()];
        }
        let found = files.values().filter(|file| file.is_at(path));
        let found: Vec<String> = found.map(|file| file.path.clone()).collect();
        // A relative path that several files end with names one of them, or none.
        let is_known = found.len() < 2 || path.starts_with(['/', '~']);
        if is_known { found } else { Vec::new() }
    };
    match effect {
        Effect::Removed(path) => {
            for path in at(files, &path) {
                if let Some(file) = files.get_mut(&path).filter(|file| file.last < number) {
                    file.is_deleted = true;
                    file.last = number;
                }
            }
        }
        Effect::Moved(from, to) => {
            let here = |file: &&mut File| file.moved_to.as_ref() == Some(&from);
            if let Some(file) = files.values_mut().find(here) {
                // Moved on, or back.
                file.moved_to = (!file.is_at(&to)).then_some(to);
                file.last = number;
                return;
            }
            // Of a folder, the paths inside it stay the same.
            if let [path] = at(files, &from).as_slice()
                && let Some(file) = files.get_mut(path).filter(|file| file.last < number)
            {
                file.moved_to = Some(to.clone());
                file.last = number;
            }
            for path in at(files, &to) {
                if let Some(file) = files.get_mut(&path).filter(|file| file.is_at(&to)) {
                    file.is_deleted = false;
                    file.moved_to = None;
                }
            }
        }
        Effect::Restored(path) => {
            for path in at(files, &path) {
                files.remove(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::counter::Heuristic;
    use crate::extract::artefacts::Artefacts;
    use crate::extract::extract;
    use crate::extract::steps::steps;
    use crate::extract::tests::{call, placed, result};
    use crate::summary::Field;
    use crate::turn::Outcome;
    use crate::units::Tokens;

    #[test]
    fn files_that_a_command_removes_or_moves_are_told_so() {
        let write = |path: &str| {
            let input = serde_json::json!({ "file_path": path, "content": "a\nb\n" });
            [
                call("Write", &input.to_string()),
                result("written", Outcome::Succeeded),
            ]
        };
        let run = |command: &str| {
            let input = serde_json::json!({ "command": command });
            [
                call("Bash", &input.to_string()),
                result("", Outcome::Succeeded),
            ]
        };
        let states = |command: &str| {
            let before = ["/p/a.md", "/p/b/a.md", "/p/c.rs"].map(write);
            let turns = placed(before.into_iter().chain([run(command)]).flatten());
            let mut states: Vec<String> = (Artefacts::of(&steps(&turns)).files.iter())
                .filter(|file| file.written == Some(2))
                .map(|file| file.short_state(&file.path))
                .filter(|state| !state.ends_with("(2 lines)"))
                .collect();
            states.sort();
            states
        };
        assert_eq!(states("rm -f /p/a.md; ls"), ["/p/a.md: deleted"]);
        let back = "mv /p/c.rs /p/d.rs && make; mv /p/d.rs /p/c.rs";
        assert!(states(back).is_empty());
        let again = "rm -f /p/a.md\ncat > /p/a.md <<'EOF'\na\nb\nEOF";
        assert!(states(again).is_empty());
        assert_eq!(states("rm -r /p/b"), ["/p/b/a.md: deleted"]);
        assert_eq!(states("git rm c.rs"), ["/p/c.rs: deleted"]);
        assert_eq!(states("git mv c.rs d.rs"), ["/p/c.rs: moved to d.rs"]);
        assert!(states("rm a.md").is_empty(), "two have this name");
        assert!(states("cd x && rm c.rs").is_empty());
    }

    #[test]
    fn tools_name_files_and_texts_in_many_ways() {
        let opencode = r#"{"filePath":"/p/rows.rs","oldString":"a","newString":"fn load() {}"}"#;
        let gemini = r#"{"absolute_path":"/p/order.rs","content":"fn order() {}\n"}"#;
        let turns = placed([
            call("edit", opencode),
            result("ok", Outcome::Succeeded),
            call("write_file", gemini),
            result("ok", Outcome::Succeeded),
        ]);
        let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
        assert_eq!(
            summary.entries(Field::Done),
            [
                "/p/order.rs: written (1 line): order",
                "/p/rows.rs: changed once: load",
            ]
        );
    }
}
