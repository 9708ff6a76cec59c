//! What the user asks, and what the model answers: a review of a source tree, file by file.
//!
//! The simulated provider says what stands here, task by task. What the tools return is not scripted:
//! the agent runs them. What the model writes is made from the files, so that it is as long and as full
//! of names as a model's own words, and refers back to what was read long before.

use std::collections::VecDeque;

use serde_json::json;
use sim::Say;

use super::findings::{Commented, Definition, definitions, longest};
use super::tree::{Area, SourceFile, Tree};

/// Lines that one read asks for.
const PART: usize = 60;
/// Parts of a file that are read before the next file.
const PARTS: usize = 3;
/// Files up to this many lines are read together with the next one.
const SMALL_FILE: usize = 30;
/// Definitions that the model names when it thinks about a file.
const NAMED: usize = 14;

/// Pinned by lines of the user's first message.
const PINS: [&str; 2] = [
    "Every finding is one line: path:line: what was found.",
    "Change no file; only read.",
];
/// Pinned by a line of the user's third message.
const LATER_PIN: &str = "A definition without a comment is a finding too.";
/// Pinned over HTTP, where there is a gateway to take it.
pub const HTTP_PIN: &str = "The review is for release 2.4; generated files do not count.";

/// Something that the user asks, with what the model says until it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The user's words.
    pub ask: String,
    /// What it is about, for the one who watches.
    pub about: String,
    /// What the user pins with it.
    pub pins: Vec<&'static str>,
    /// The model's answers, one a request.
    pub steps: VecDeque<Vec<Say>>,
}

/// What the model remembers of a definition that it reported.
struct Reported<'a> {
    path: &'a str,
    definition: Definition<'a>,
}

/// Makes one task after the other.
pub struct Script<'a> {
    tree: &'a Tree,
    reported: Vec<Reported<'a>>,
    tasks: usize,
}

impl<'a> Script<'a> {
    /// A script for the files of this tree.
    pub const fn new(tree: &'a Tree) -> Self {
        Self {
            tree,
            reported: Vec::new(),
            tasks: 0,
        }
    }

    /// The first task: what must not be forgotten, and a look around.
    pub fn greet(&self) -> Task {
        let [first, second] = PINS;
        let files = self.tree.files.len();
        let lines: usize = self.tree.files.iter().map(lines).sum();
        Task {
            ask: format!(
                "I need a review of this source tree, folder by folder. Tell me at the end of each \
                 folder what is in it and which definition is the longest.\n#pin {first}\n#pin \
                 {second}\nI prefer short answers."
            ),
            about: "the review begins".to_owned(),
            pins: PINS.to_vec(),
            steps: VecDeque::from([
                vec![
                    Say::Think(
                        "I will look at the top of the tree first, so that I know which folders \
                         there are, and then go through them one after the other."
                            .to_owned(),
                    ),
                    Say::Text("I will list the files first.".to_owned()),
                    call("list_files", json!({ "path": "." })),
                ],
                vec![Say::Text(format!(
                    "The tree has {files} text files with {lines} lines. I will go through it folder \
                     by folder."
                ))],
            ]),
        }
    }

    /// The review of one area, the `pass`th time from 1.
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
            about: format!("{}, {} files", area.folder, area.files.len()),
            pins,
            steps,
        }
    }

    /// The last task: what was pinned and what was reported first.
    pub fn close(&self) -> Task {
        let first: Vec<String> = self.reported.iter().take(3).map(finding).collect();
        let answer = format!(
            "Findings are one line each, path:line: what was found. The first three were:\n{}",
            first.join("\n")
        );
        Task {
            ask: "That is enough. How were findings to be written, and which were the first three?"
                .to_owned(),
            about: "the last question".to_owned(),
            pins: Vec::new(),
            steps: VecDeque::from([vec![Say::Text(answer)]]),
        }
    }

    /// Reads a file in parts, then looks for the users of its longest definition.
    fn read(&mut self, file: &'a SourceFile, pass: usize, steps: &mut VecDeque<Vec<Say>>) {
        let path = &file.path;
        let all = lines(file).div_ceil(PART).max(1);
        let first = (pass - 1) * PARTS % all;
        let found = definitions(&file.text);
        for part in first..all.min(first + PARTS) {
            let (from, to) = (part * PART + 1, ((part + 1) * PART).min(lines(file)));
            let seen = found.iter().filter(|one| one.line < from);
            let thought = format!(
                "{path} has {} lines. {} I read lines {from} to {to} and note what they define, \
                 whether it has a comment, and how long it is.",
                lines(file),
                named("Above them stand", seen),
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
            Say::Think("Both are small, so that I can read them together.".to_owned()),
            Say::Text(format!("Reading {} and {}.", file.path, next.path)),
            read_call(&file.path, 1),
            read_call(&next.path, 1),
        ]);
        self.follow_up(file, steps);
        self.follow_up(next, steps);
    }

    /// Searches for the users of the longest definition of a file.
    fn follow_up(&mut self, file: &'a SourceFile, steps: &mut VecDeque<Vec<Say>>) {
        let found = definitions(&file.text);
        let Some(definition) = longest(&found) else {
            return;
        };
        let (path, name) = (&file.path, definition.name);
        let bare = found.iter().filter(|one| one.commented == Commented::No);
        let thought = format!(
            "{} {} The longest is {name} at line {} with {} lines; I should see who uses it before \
             I judge it.",
            named(&format!("{path} defines"), found.iter()),
            named("Without a comment are", bare),
            definition.line,
            definition.lines,
        );
        steps.push_back(vec![
            Say::Think(thought),
            Say::Text(format!(
                "The longest definition of {path} is {name}. Who uses it?"
            )),
            call("search", json!({ "pattern": name })),
        ]);
        self.reported.push(Reported { path, definition });
    }

    /// The end of a task: its findings, and one from long before for comparison.
    fn report(&self, area: &Area<'a>) -> Vec<Say> {
        let here = |reported: &&Reported<'_>| area.files.iter().any(|f| f.path == reported.path);
        let findings: Vec<String> = self.reported.iter().filter(here).map(finding).collect();
        let mut answer = format!("{}: {} files.", area.folder, area.files.len());
        for finding in &findings {
            answer.push_str(&format!("\n{finding}"));
        }
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
    format!("Look at {} {next}: {}.", area.folder, names.join(", "))
}

/// `lead` and the names of definitions with their lines; nothing where there are none.
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

/// A finding as the user wants it: path:line: what was found.
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
