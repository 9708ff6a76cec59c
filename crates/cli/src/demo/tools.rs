//! The agent's tools: list, read and search the files in one folder.
//!
//! They write nothing, read nothing outside the folder, even through symbolic links, and bound the size
//! of every result.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::tree::{FILE_LIMIT, Tree};

/// Entries per listing.
const ENTRIES: usize = 120;
/// Lines per read.
const LINES: usize = 200;
/// Matches per search.
const MATCHES: usize = 12;
/// Characters per matching line.
const LINE: usize = 120;
/// Characters per result.
const RESULT: usize = 6_000;

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub text: String,
    /// True if the text is an error message.
    pub failed: bool,
}

/// The folder that the tools can access.
pub struct Workspace {
    root: PathBuf,
    /// The relative paths of its text files, in search order.
    files: Vec<String>,
}

impl Workspace {
    pub fn of(tree: &Tree) -> Self {
        Self {
            root: tree.real().to_owned(),
            files: tree.files.iter().map(|file| file.path.clone()).collect(),
        }
    }

    /// The tool declarations for the model.
    pub fn declarations() -> Value {
        let text = |about: &str| json!({ "type": "string", "description": about });
        let number = |about: &str| json!({ "type": "integer", "description": about });
        let tool = |name: &str, about: &str, properties: Value, required: &[&str]| {
            json!({
                "name": name,
                "description": about,
                "input_schema": {
                    "type": "object", "properties": properties, "required": required,
                },
            })
        };
        json!([
            tool(
                "list_files",
                "Lists the entries of a folder. Names of folders end in a slash.",
                json!({ "path": text("The folder, relative to the root; `.` for the root.") }),
                &["path"],
            ),
            tool(
                "read_file",
                "Reads lines of a text file, with line numbers.",
                json!({
                    "path": text("The file, relative to the root."),
                    "offset": number("The first line to read, from 1."),
                    "limit": number("The number of lines, at most 200."),
                }),
                &["path"],
            ),
            tool(
                "search",
                "Finds the lines that contain a text, as path:line: text.",
                json!({ "pattern": text("The literal text; case matters.") }),
                &["pattern"],
            ),
        ])
    }

    /// Runs a tool.
    pub fn call(&self, name: &str, input: &Value) -> ToolOutput {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let result = match name {
            "list_files" => self.list(text("path")),
            "read_file" => self.read(
                text("path"),
                number(input, "offset"),
                number(input, "limit"),
            ),
            "search" => self.search(text("pattern")),
            _ => Err(format!("there is no tool named {name}")),
        };
        let (text, failed) = match result {
            Ok(text) => (text, false),
            Err(reason) => (format!("error: {reason}"), true),
        };
        ToolOutput {
            text: bounded(text),
            failed,
        }
    }

    /// Resolves a path and all symbolic links. Fails if the target is outside the folder.
    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let unreadable = |error: io::Error| format!("{path}: {}", error.kind());
        let real = fs::canonicalize(self.root.join(path)).map_err(unreadable)?;
        if real.starts_with(&self.root) {
            Ok(real)
        } else {
            Err(format!("{path} is outside the folder"))
        }
    }

    fn list(&self, path: &str) -> Result<String, String> {
        let folder = self.inside(path)?;
        let unreadable = |error: io::Error| format!("{path}: {}", error.kind());
        let mut names: Vec<String> = fs::read_dir(folder)
            .map_err(unreadable)?
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                (!name.starts_with('.')).then(|| if folder { name + "/" } else { name })
            })
            .collect();
        names.sort();
        let more = names.len().saturating_sub(ENTRIES);
        names.truncate(ENTRIES);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        Ok(names.join("\n"))
    }

    fn read(&self, path: &str, offset: usize, limit: usize) -> Result<String, String> {
        let text = self.text(path)?;
        let limit = if limit == 0 { LINES } else { limit.min(LINES) };
        let lines = text.lines().enumerate();
        let shown: Vec<String> = lines
            .skip(offset.max(1) - 1)
            .take(limit)
            .map(|(index, line)| format!("{:>5}  {line}", index + 1))
            .collect();
        if shown.is_empty() {
            return Err(format!("{path} has no line {offset}"));
        }
        Ok(shown.join("\n"))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        let file = self.inside(path)?;
        let unreadable = |error: io::Error| format!("{path}: {}", error.kind());
        let size = fs::metadata(&file).map_err(unreadable)?.len();
        if size > FILE_LIMIT {
            return Err(format!("{path} is too large: {size} bytes"));
        }
        fs::read_to_string(&file).map_err(unreadable)
    }

    fn search(&self, pattern: &str) -> Result<String, String> {
        if pattern.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let mut found = Vec::new();
        for path in &self.files {
            // A file may have vanished since the folder was listed.
            let Ok(text) = self.text(path) else { continue };
            let matching = text.lines().enumerate();
            let matching = matching.filter(|(_, line)| line.contains(pattern));
            for (index, line) in matching {
                if found.len() == MATCHES {
                    found.push("and more".to_owned());
                    return Ok(found.join("\n"));
                }
                let line: String = line.trim().chars().take(LINE).collect();
                found.push(format!("{path}:{}: {line}", index + 1));
            }
        }
        Ok(if found.is_empty() {
            "no match".to_owned()
        } else {
            found.join("\n")
        })
    }
}

fn number(input: &Value, key: &str) -> usize {
    let number = input.get(key).and_then(Value::as_u64).unwrap_or(0);
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Cuts a result to [`RESULT`] characters.
fn bounded(text: String) -> String {
    match text.char_indices().nth(RESULT) {
        Some((end, _)) => format!("{}\n(truncated)", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{ToolOutput, Tree, Workspace};
    use serde_json::{Value, json};
    use std::fs;

    /// A folder with a file in it and one beside it.
    fn folders() -> (tempfile::TempDir, Workspace) {
        let outer = tempfile::tempdir().expect("a temporary folder");
        let inner = outer.path().join("inner");
        fs::create_dir_all(inner.join("src")).expect("a folder");
        fs::write(outer.path().join("secret.txt"), "secret").expect("a file");
        fs::write(inner.join("src/a.rs"), "one\ntwo\nthree\n").expect("a file");
        #[cfg(unix)]
        std::os::unix::fs::symlink(outer.path().join("secret.txt"), inner.join("link.txt"))
            .expect("a link");
        let workspace = Workspace::of(&Tree::read(&inner).expect("a tree"));
        (outer, workspace)
    }

    #[track_caller]
    fn check(name: &str, input: &Value, expected: &str, failed: bool) {
        let (_outer, workspace) = folders();
        let text = expected.to_owned();
        assert_eq!(workspace.call(name, input), ToolOutput { text, failed });
    }

    #[test]
    fn the_tools_do_what_they_say() {
        check("list_files", &json!({ "path": "src" }), "a.rs", false);
        let input = json!({ "path": "src/a.rs", "offset": 2, "limit": 1 });
        check("read_file", &input, "    2  two", false);
        check(
            "search",
            &json!({ "pattern": "wo" }),
            "src/a.rs:2: two",
            false,
        );
        check("search", &json!({ "pattern": "secret" }), "no match", false);
    }

    #[test]
    fn mistakes_are_answered() {
        let input = json!({ "path": "src/a.rs", "offset": 9 });
        check("read_file", &input, "error: src/a.rs has no line 9", true);
        check(
            "read_file",
            &json!({ "path": "b" }),
            "error: b: entity not found",
            true,
        );
        check("rm", &json!({}), "error: there is no tool named rm", true);
        check("search", &json!({}), "error: the pattern is empty", true);
    }

    #[test]
    fn nothing_outside_is_read() {
        let out = "is outside the folder";
        for path in ["../secret.txt", "src/../../secret.txt"] {
            let expected = format!("error: {path} {out}");
            check("read_file", &json!({ "path": path }), &expected, true);
        }
        check(
            "list_files",
            &json!({ "path": ".." }),
            &format!("error: .. {out}"),
            true,
        );
        #[cfg(unix)]
        check(
            "read_file",
            &json!({ "path": "link.txt" }),
            &format!("error: link.txt {out}"),
            true,
        );
    }
}
