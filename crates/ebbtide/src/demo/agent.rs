//! The scripted agent: what its user asks, which tools it calls, what it writes about what it found.
//!
//! The tools' results are what the tools would have given on the real files. What the agent writes
//! refers back to what it read earlier, as agents do; that is what makes forgetting visible.

use serde_json::json;

use super::Made;
use super::findings::{Commented, Definition, definitions, longest};
use super::transcript::{Exchange, Transcript};
use super::tree::{Area, SourceFile, Tree};

/// Lines that one read shows.
const READ_LINES: usize = 200;
/// Files up to this many lines are read together with the next one.
const SMALL_FILE: usize = 60;
/// Matches that one search shows.
const MATCHES: usize = 15;
/// Lines of the list that a check shows.
const CHECK_LINES: usize = 25;

/// What the agent remembers of a definition that it reported.
struct Reported<'a> {
    path: &'a str,
    definition: Definition<'a>,
}

/// The agent with the log of its session.
pub struct Agent<'a> {
    tree: &'a Tree,
    log: Transcript,
    reported: Vec<Reported<'a>>,
    notes: usize,
    files: usize,
    requests: usize,
}

impl<'a> Agent<'a> {
    /// An agent that has not said anything.
    #[must_use]
    pub fn new(tree: &'a Tree) -> Self {
        Self {
            tree,
            log: Transcript::new(),
            reported: Vec::new(),
            notes: 0,
            files: 0,
            requests: 0,
        }
    }

    /// About how many tokens the session holds.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.log.tokens()
    }

    /// The session as it is.
    #[must_use]
    pub fn finish(self) -> Made {
        Made {
            log: self.log.finish(),
            files: self.files,
        }
    }

    /// The first request, with what must not be forgotten.
    pub fn greet(&mut self) {
        self.log.user(
            "I need a review of this source tree, folder by folder. Keep your findings in NOTES.md \
             and tell me at the end of each folder what is in it and what is the longest \
             definition.\n\
             #pin Write to NOTES.md only; change no other file.\n\
             #pin Every finding is one line: path:line: what was found.\n\
             I prefer short answers.",
        );
        let listing: Vec<String> = self
            .tree
            .files
            .iter()
            .map(|file| format!("{:>8}  {}", file.text.len(), file.path))
            .collect();
        let shown = listing.iter().take(120).cloned().collect::<Vec<_>>();
        self.log.step(
            "I will list the files first.",
            vec![Exchange {
                tool: "list_files",
                arguments: json!({ "path": "." }),
                result: format!("{} files\n{}", listing.len(), shown.join("\n")),
                failed: false,
            }],
        );
        self.log.assistant(&format!(
            "The tree has {} text files. I will go through it folder by folder and write findings \
             to NOTES.md as path:line: what was found.",
            listing.len()
        ));
    }

    /// A request to review one area, and everything the agent does for it.
    pub fn review(&mut self, area: &Area<'a>, pass: usize) {
        self.requests += 1;
        self.ask(area, pass);
        let mut rest = area.files;
        while let Some((file, after)) = rest.split_first() {
            let neighbour = after
                .first()
                .filter(|next| lines(file) <= SMALL_FILE && lines(next) <= SMALL_FILE);
            self.read(file, neighbour, pass);
            rest = after;
            if neighbour.is_some() {
                rest = rest.split_first().map_or(&[], |(_, after)| after);
            }
        }
        self.check(area);
        self.report(area);
    }

    /// The last request: what stands in the pins and what was reported first.
    pub fn close(&mut self) {
        self.log.user(
            "That is enough. Which were the first three findings, and how were findings to be \
             written?",
        );
        let first: Vec<String> = self.reported.iter().take(3).map(finding).collect();
        self.log.assistant(&format!(
            "Findings are one line each, path:line: what was found, in NOTES.md. The first three \
             were:\n{}",
            first.join("\n")
        ));
    }

    /// The user's words. Every third request asks about something reported long before.
    fn ask(&mut self, area: &Area<'a>, pass: usize) {
        let folder = area.folder;
        let names: Vec<&str> = area.files.iter().map(|file| file.path.as_str()).collect();
        let again = if pass > 1 {
            "again, more carefully"
        } else {
            "next"
        };
        let task = format!("Look at {folder} {again}: {}.", names.join(", "));
        let earlier = self.earlier().map(|reported| {
            let Reported { path, definition } = reported;
            (finding(reported), format!("{} in {path}", definition.name))
        });
        match (self.requests % 3, earlier) {
            (0, Some((answer, asked))) => {
                self.log.user(&format!(
                    "Before you go on: in which line is {asked}, and how long is it?"
                ));
                self.log.assistant(&format!("From my notes: {answer}"));
                self.log.user(&task);
            }
            (1, _) if self.requests > 3 => self.log.user(&format!(
                "{task} Please always say which definitions have no comment; I decided that each \
                 needs one."
            )),
            _ => self.log.user(&task),
        }
    }

    /// A definition that was reported about half of the session ago.
    fn earlier(&self) -> Option<&Reported<'a>> {
        self.reported.get(self.reported.len() / 2)
    }

    /// Reads a file, or two small ones at once, and follows up on its longest definition.
    fn read(&mut self, file: &'a SourceFile, neighbour: Option<&'a SourceFile>, pass: usize) {
        let both = [Some(file), neighbour];
        let exchanges: Vec<Exchange> = both
            .into_iter()
            .flatten()
            .map(|file| read_file(file, pass))
            .collect();
        self.files += exchanges.len();
        let names: Vec<&str> = both
            .into_iter()
            .flatten()
            .map(|file| file.path.as_str())
            .collect();
        self.log
            .step(&format!("Reading {}.", names.join(" and ")), exchanges);
        for file in both.into_iter().flatten() {
            let Some(definition) = longest(&definitions(&file.text)) else {
                continue;
            };
            let reported = Reported {
                path: &file.path,
                definition,
            };
            self.follow_up(&reported);
            self.reported.push(reported);
        }
    }

    /// Searches for a definition's users and notes it.
    fn follow_up(&mut self, reported: &Reported<'a>) {
        let name = reported.definition.name;
        let search = Exchange {
            tool: "search",
            arguments: json!({ "pattern": name }),
            result: search(self.tree, name),
            failed: false,
        };
        self.notes += 1;
        let line = finding(reported);
        let note = Exchange {
            tool: "append_note",
            arguments: json!({ "path": "NOTES.md", "line": line }),
            result: format!("NOTES.md: {} lines", self.notes),
            failed: false,
        };
        self.log.step(
            &format!(
                "The longest definition of {} is {name}. Who uses it?",
                reported.path
            ),
            vec![search, note],
        );
    }

    /// Runs a check over the area: definitions without a comment. Finding some is a failure, as with
    /// any check.
    fn check(&mut self, area: &Area<'a>) {
        let bare: Vec<String> = area
            .files
            .iter()
            .flat_map(|file| {
                definitions(&file.text)
                    .into_iter()
                    .filter(|found| found.commented == Commented::No)
                    .map(|found| {
                        format!(
                            "{}:{}: {} has no comment",
                            file.path, found.line, found.name
                        )
                    })
            })
            .collect();
        let shown: Vec<String> = bare.iter().take(CHECK_LINES).cloned().collect();
        let result = if bare.is_empty() {
            "every definition has a comment".to_owned()
        } else {
            format!(
                "{}\nerror: {} definitions without a comment",
                shown.join("\n"),
                bare.len()
            )
        };
        self.log.step(
            &format!("Checking the comments in {}.", area.folder),
            vec![Exchange {
                tool: "run",
                arguments: json!({ "command": format!("check-comments {}", area.folder) }),
                result,
                failed: !bare.is_empty(),
            }],
        );
    }

    /// The answer to the request: its files, and something from the request before for comparison.
    fn report(&mut self, area: &Area<'a>) {
        let here = self
            .reported
            .iter()
            .filter(|reported| area.files.iter().any(|file| file.path == reported.path));
        let longest_here = here.max_by_key(|reported| reported.definition.lines);
        let mut answer = format!("{} is done: {} files.", area.folder, area.files.len());
        if let Some(reported) = longest_here {
            answer.push_str(&format!(
                " The longest definition is {}.",
                finding(reported)
            ));
        }
        if let Some(earlier) = self.earlier() {
            answer.push_str(&format!(
                " For comparison, from earlier: {}.",
                finding(earlier)
            ));
        }
        self.log.assistant(&answer);
    }
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

/// The lines that a read shows: the first ones, at a second pass the next ones, and so on, from the
/// beginning again where the file has no more.
fn read_file(file: &SourceFile, pass: usize) -> Exchange {
    let windows = lines(file).div_ceil(READ_LINES).max(1);
    let offset = (pass - 1) % windows * READ_LINES;
    let shown: Vec<String> = file
        .text
        .lines()
        .enumerate()
        .skip(offset)
        .take(READ_LINES)
        .map(|(index, line)| format!("{:>5}  {line}", index + 1))
        .collect();
    Exchange {
        tool: "read_file",
        arguments: json!({ "path": file.path, "offset": offset + 1, "limit": READ_LINES }),
        result: shown.join("\n"),
        failed: false,
    }
}

/// The lines of the tree in which a word occurs.
fn search(tree: &Tree, word: &str) -> String {
    let mut matches = tree.files.iter().flat_map(|file| {
        file.text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(word))
            .map(|(index, line)| format!("{}:{}: {}", file.path, index + 1, shortened(line)))
    });
    let mut shown: Vec<String> = matches.by_ref().take(MATCHES).collect();
    let more = matches.count();
    if more > 0 {
        shown.push(format!("and {more} more matches"));
    }
    shown.join("\n")
}

/// A line as a search shows it.
fn shortened(line: &str) -> String {
    line.trim().chars().take(160).collect()
}
