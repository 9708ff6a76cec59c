//! The script of the demo: the user's tasks, and the model's answers to them.
//!
//! The user has a source tree reviewed file by file. The simulated provider sends the scripted answers;
//! the agent really runs the tools. The answers are built from the files, so that they have realistic
//! lengths and identifiers, and refer back to files read long before.

use std::collections::VecDeque;

use context::figures::plural;
use serde_json::json;
use sim::Say;

use super::definitions::{Definition, definitions, longest};
use super::tree::{Area, SourceFile, Tree};

/// Lines per read.
const PART: usize = 60;
/// Reads per file.
const PARTS: usize = 3;
/// Files up to this many lines are read together with the next one.
const SMALL_FILE: usize = 30;
/// Definitions that the model names when it thinks about a file.
const NAMED: usize = 14;

/// Pinned by `#pin` lines in the user's first message.
const PINS: [&str; 2] = [
    "Write each finding on one line: path:line: description.",
    "Do not change any file; only read.",
];
/// Pinned by a line in the user's third message.
const LATER_PIN: &str = "A definition without a comment is a finding too.";
/// Pinned over HTTP, in the run with the gateway.
pub const HTTP_PIN: &str = "The review is for release 2.4; ignore generated files.";

/// A message of the user, with the model's answers up to the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The user's message.
    pub ask: String,
    /// A short description, for the display.
    pub about: String,
    /// The texts that the message pins.
    pub pins: Vec<&'static str>,
    /// The model's answers, one per request.
    pub steps: VecDeque<Vec<Say>>,
}

/// A definition that the model reported, to refer back to.
struct Reported<'a> {
    path: &'a str,
    definition: Definition<'a>,
}

/// Generates the tasks.
pub struct Script<'a> {
    tree: &'a Tree,
    reported: Vec<Reported<'a>>,
    tasks: usize,
}

impl<'a> Script<'a> {
    pub const fn new(tree: &'a Tree) -> Self {
        Self {
            tree,
            reported: Vec::new(),
            tasks: 0,
        }
    }

    /// The first task: the pins, and a listing of the folder.
    pub fn greet(&self) -> Task {
        let [first, second] = PINS;
        let files = self.tree.files.len();
        let lines: usize = self.tree.files.iter().map(lines).sum();
        Task {
            ask: format!(
                "Please review this source tree, folder by folder. After each folder, tell me what \
                 it contains and which definition is the longest.\n#pin {first}\n#pin {second}\nI \
                 prefer short answers."
            ),
            about: "start of the review".to_owned(),
            pins: PINS.to_vec(),
            steps: VecDeque::from([
                vec![
                    Say::Think(
                        "I will look at the top of the tree first to see which folders there are, \
                         and then go through them one by one."
                            .to_owned(),
                    ),
                    Say::Text("I will list the files first.".to_owned()),
                    call("list_files", json!({ "path": "." })),
                ],
                vec![Say::Text(format!(
                    "The tree has {files} text files with {lines} lines. I will review it folder by \
                     folder."
                ))],
            ]),
        }
    }

    /// The review of one area. Passes count from 1; each reads further down the files.
    pub fn review(&mut self, area: &Area<'a>, pass: usize) -> Task {
        self.tasks += 1;
        let mut steps = VecDeque::new();
        let mut rest = area.files;
        while let Some((file, after)) = rest.split_first() {
            let neighbour = after
                .first()
                .filter(|next| lines(file) <= SMALL_FILE && lines(next) <= SMALL_FILE);
            match neighbour {
                Some(next) => self.read_both(file, next, &mut steps),
                None => self.read(file, pass, &mut steps),
            }
            let done = 1 + usize::from(neighbour.is_some());
            rest = rest.get(done..).unwrap_or_default();
        }
        steps.push_back(self.report(area));
        let mut ask = ask(area, pass);
        let mut pins = Vec::new();
        if self.tasks == 2 {
            ask.push_str(&format!("\n#pin {LATER_PIN}"));
            pins.push(LATER_PIN);
        }
        Task {
            ask,
            about: format!("{}, {}", area.folder, plural(area.files.len(), "file")),
            pins,
            steps,
        }
    }

    /// The last task: a question about a pin and about the first findings.
    pub fn close(&self) -> Task {
        let first: Vec<String> = self.reported.iter().take(3).map(finding).collect();
        let answer = format!(
            "Each finding is one line, path:line: description. The first three were:\n{}",
            first.join("\n")
        );
        Task {
            ask: "That is enough. Which format did I ask for, and what were the first three findings?"
                .to_owned(),
            about: "last question".to_owned(),
            pins: Vec::new(),
            steps: VecDeque::from([vec![Say::Text(answer)]]),
        }
    }

    /// Reads a file in parts, then searches for the uses of its longest definition.
    fn read(&mut self, file: &'a SourceFile, pass: usize, steps: &mut VecDeque<Vec<Say>>) {
        let path = &file.path;
        let all = lines(file).div_ceil(PART).max(1);
        let first = (pass - 1) * PARTS % all;
        let found = definitions(&file.text);
        for part in first..all.min(first + PARTS) {
            let (from, to) = (part * PART + 1, ((part + 1) * PART).min(lines(file)));
            let seen = found.iter().filter(|one| one.line < from);
            let thought = format!(
                "{path} has {} lines. {} I will read lines {from} to {to} and note each definition, \
                 its comment and its length.",
                lines(file),
                named("The lines above define", seen),
            );
            steps.push_back(vec![
                Say::Think(thought),
                Say::Text(format!("Reading {path}, lines {from} to {to}.")),
                read_call(path, from),
            ]);
        }
        self.follow_up(file, steps);
    }

    /// Reads two small files at once.
    fn read_both(
        &mut self,
        file: &'a SourceFile,
        next: &'a SourceFile,
        steps: &mut VecDeque<Vec<Say>>,
    ) {
        steps.push_back(vec![
            Say::Think("Both files are small, so I can read them together.".to_owned()),
            Say::Text(format!("Reading {} and {}.", file.path, next.path)),
            read_call(&file.path, 1),
            read_call(&next.path, 1),
        ]);
        self.follow_up(file, steps);
        self.follow_up(next, steps);
    }

    /// Searches for the uses of the longest definition in a file.
    fn follow_up(&mut self, file: &'a SourceFile, steps: &mut VecDeque<Vec<Say>>) {
        let found = definitions(&file.text);
        let Some(definition) = longest(&found) else {
            return;
        };
        let (path, name) = (&file.path, definition.name);
        let bare = found.iter().filter(|one| !one.commented);
        let thought = format!(
            "{} {} The longest is {name} at line {} with {} lines; I should see where it is used \
             before I judge it.",
            named(&format!("{path} defines"), found.iter()),
            named("These have no comment:", bare),
            definition.line,
            definition.lines,
        );
        steps.push_back(vec![
            Say::Think(thought),
            Say::Text(format!(
                "The longest definition in {path} is {name}. Where is it used?"
            )),
            call("search", json!({ "pattern": name })),
        ]);
        self.reported.push(Reported { path, definition });
    }

    /// The last answer of a task: its findings, and an earlier one for comparison.
    fn report(&self, area: &Area<'a>) -> Vec<Say> {
        let here = |reported: &&Reported<'_>| area.files.iter().any(|f| f.path == reported.path);
        let findings: Vec<String> = self.reported.iter().filter(here).map(finding).collect();
        let files = plural(area.files.len(), "file");
        let mut answer = format!("{}: {files}.\n{}", area.folder, findings.join("\n"));
        if let Some(earlier) = self.reported.get(self.reported.len() / 2) {
            answer.push_str(&format!(
                "\nFor comparison, from earlier: {}",
                finding(earlier)
            ));
        }
        vec![Say::Text(answer)]
    }
}

fn ask(area: &Area<'_>, pass: usize) -> String {
    let names: Vec<&str> = area.files.iter().map(|file| file.path.as_str()).collect();
    let next = if pass > 1 {
        "again, further down"
    } else {
        "next"
    };
    format!("Review {} {next}: {}.", area.folder, names.join(", "))
}

/// Lists definitions with their lines after `lead`; empty if there are none.
fn named<'d>(lead: &str, found: impl Iterator<Item = &'d Definition<'d>>) -> String {
    let names: Vec<String> = found
        .take(NAMED)
        .map(|one| format!("{} (line {}, {} lines)", one.name, one.line, one.lines))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("{lead} {}.", names.join(", "))
    }
}

fn call(name: &str, input: serde_json::Value) -> Say {
    let name = name.to_owned();
    Say::Call { name, input }
}

fn read_call(path: &str, from: usize) -> Say {
    call(
        "read_file",
        json!({ "path": path, "offset": from, "limit": PART }),
    )
}

/// A finding in the format that the user pinned.
fn finding(reported: &Reported<'_>) -> String {
    let Reported { path, definition } = reported;
    format!(
        "{path}:{}: {} has {} lines",
        definition.line, definition.name, definition.lines
    )
}

fn lines(file: &SourceFile) -> usize {
    file.text.lines().count()
}
