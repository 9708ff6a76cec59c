//! What can go wrong on the command line, and how it is shown.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use context::coded::{CodeEntry, Coded, ErrorCode};
use history::HistoryError;

use crate::console::{Palette, Tone};
use lab::figures;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {}", path.display(), reason(source))]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is larger than the program takes in.
    #[error(
        "{} is {} large; the limit is {}",
        path.display(), figures::bytes(*size), figures::bytes(*limit)
    )]
    TooLarge {
        /// The file, or `-`.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// There is nothing in a file.
    #[error("{} is empty", path.display())]
    Empty {
        /// The file, or `-`.
        path: PathBuf,
    },
    /// A folder was given where a file is needed.
    #[error("{} is a folder", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// No file below a folder looks like a session.
    #[error("no session files (*.jsonl, *.json, *.traj) in {}", path.display())]
    NothingInFolder {
        /// The folder.
        path: PathBuf,
    },
    /// None of the files could be used.
    #[error("none of the {files} given files holds a session that can be used")]
    NothingUsable {
        /// How many there were.
        files: usize,
    },
    /// A session was asked for by a number that does not exist.
    #[error("there is no session {asked}: {} holds {held}", path.display())]
    NoSuchSession {
        /// The file.
        path: PathBuf,
        /// The number asked for, from 1.
        asked: usize,
        /// How many sessions the file holds.
        held: usize,
    },
    /// A file holds several sessions, and the command works on one.
    #[error("{} holds {held} sessions", path.display())]
    SeveralSessions {
        /// The file.
        path: PathBuf,
        /// How many.
        held: usize,
    },
    /// A store has no conversation of that id, or not of that tenant.
    #[error("no conversation {id} in {}", path.display())]
    NoSuchConversation {
        /// The store.
        path: PathBuf,
        /// The id.
        id: history::ConversationId,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {}", path.display(), reason(source))]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {}", reason(source))]
    Unlistenable {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The demo finds too little to read.
    #[error(
        "{} holds too little text for the demo: {found_files} files, {}",
        path.display(), figures::bytes(*found_bytes)
    )]
    TooLittleText {
        /// The folder.
        path: PathBuf,
        /// Text files found.
        found_files: usize,
        /// Their size together.
        found_bytes: u64,
    },
    /// The demo broke off.
    #[error("the demo broke off: {reason}")]
    DemoBroken {
        /// Why.
        reason: String,
    },
    /// A program has no process of this name.
    #[error("{} has no process `{asked}`", path.display())]
    NoSuchProcess {
        /// The program.
        path: PathBuf,
        /// The name.
        asked: String,
        /// The processes that it has.
        held: Vec<String>,
    },
    /// Standard output cannot be written to.
    #[error("cannot write to standard output: {}", reason(source))]
    Output {
        /// What the system says.
        source: io::Error,
    },
    /// The program that read our output has closed it (`| head`). Not an error.
    #[error("the reader of standard output has gone")]
    ReaderLeft,
    /// Something that another crate reports.
    #[error("{message}")]
    Reported {
        /// Its code.
        code: ErrorCode,
        /// What it says.
        message: String,
        /// Where: a file, and a line where there is one.
        place: Option<String>,
        /// Its hint.
        hint: Option<String>,
        /// What the program exits with.
        exit: Exit,
    },
}

/// What the program exits with. The numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done,
    /// It failed while it ran: a file or a pipe cannot be read or written.
    Failed,
    /// The command line or the input was not understood.
    NotUnderstood,
    /// It was done, without some of the files.
    Partial,
}

impl Exit {
    /// The number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::NotUnderstood => 2,
            Self::Partial => 3,
        }
    }
}

/// The table of this crate's codes.
pub const CODES: &[CodeEntry] = &[
    entry(
        "E0001",
        "a file or folder cannot be read",
        "Check the path and its permissions.",
    ),
    entry(
        "E0002",
        "a file is larger than the program takes in",
        "Give the session's own file; a session is rarely above 100 MB.",
    ),
    entry(
        "E0003",
        "a file is empty",
        "The product may not have written it yet.",
    ),
    entry(
        "E0004",
        "a folder stands where a file is needed",
        "Give one file, or use `ebbtide replay`, which takes folders.",
    ),
    entry(
        "E0005",
        "a folder holds no session files",
        "Session files end in .jsonl, .json or .traj.",
    ),
    entry(
        "E0006",
        "none of the given files can be used",
        "The lines above say why for each.",
    ),
    entry(
        "E0007",
        "a file holds no session with that number",
        "`ebbtide inspect FILE` lists the sessions of a file.",
    ),
    entry(
        "E0008",
        "a file cannot be written",
        "Check that the folder exists and may be written to.",
    ),
    entry(
        "E0009",
        "the demo finds too little text to read",
        "Run it in a source tree, or name one with --dir.",
    ),
    entry(
        "E0010",
        "standard output cannot be written to",
        "Check the disk, or where the output is piped to.",
    ),
    entry(
        "E0011",
        "a file holds several sessions, and one must be named",
        "Name one with --session N; `ebbtide inspect FILE` lists them.",
    ),
    entry(
        "E0012",
        "an address cannot be listened on",
        "Another program may use the port: name a free one, or port 0 for any.",
    ),
    entry(
        "E0013",
        "the demo broke off",
        "This is a fault of Ebbtide, not of yours; please report it with the message.",
    ),
    entry(
        "E0014",
        "a program has no process of that name",
        "Name one that it declares with --process NAME, or one of a module, such as `Mem.prepared`.",
    ),
    entry(
        "E0015",
        "a store has no conversation of that id",
        "The dashboard and the header `x-ebbtide-conversation` tell the ids; nothing was removed.",
    ),
];

const fn entry(code: &'static str, meaning: &'static str, remedy: &'static str) -> CodeEntry {
    CodeEntry {
        code: ErrorCode::new(code),
        meaning,
        remedy,
    }
}

impl Failure {
    /// A failure of standard output; a reader that left is told apart.
    pub fn from_stdout(source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderLeft
        } else {
            Self::Output { source }
        }
    }

    /// What another crate reports about `path`: input that was not understood.
    pub fn reported(problem: &dyn Coded, path: &Path) -> Self {
        Self::Reported {
            code: problem.code(),
            message: problem.to_string(),
            place: Some(path.display().to_string()),
            hint: problem.hint(),
            exit: Exit::NotUnderstood,
        }
    }

    /// What another crate reports about what was asked for.
    pub fn refused(problem: &dyn Coded) -> Self {
        Self::Reported {
            code: problem.code(),
            message: problem.to_string(),
            place: None,
            hint: problem.hint(),
            exit: Exit::NotUnderstood,
        }
    }

    /// What a store says: what stands in its way while it runs, or that it is not one that can be used.
    pub fn of_store(problem: &HistoryError, path: &Path) -> Self {
        let exit = match problem {
            HistoryError::NotAStore { .. } | HistoryError::Newer { .. } => Exit::NotUnderstood,
            _ => Exit::Failed,
        };
        Self::Reported {
            code: problem.code(),
            message: problem.to_string(),
            place: Some(path.display().to_string()),
            hint: problem.hint(),
            exit,
        }
    }

    /// What the program exits with.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::ReaderLeft => Exit::Done,
            Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::Unlistenable { .. }
            | Self::DemoBroken { .. }
            | Self::Output { .. } => Exit::Failed,
            Self::Reported { exit, .. } => *exit,
            _ => Exit::NotUnderstood,
        }
    }

    /// As it is shown: code and message, then where, then what to do.
    pub fn render(&self, palette: Palette) -> String {
        let label = palette.paint(Tone::Bad, &format!("error[{}]", self.code()));
        let mut out = format!("{label}: {self}");
        if let Self::Reported {
            place: Some(place), ..
        } = self
        {
            out.push_str(&format!("\n  --> {place}"));
        }
        if let Some(hint) = self.hint() {
            out.push_str(&format!("\n{}: {hint}", palette.paint(Tone::Good, "hint")));
        }
        out
    }
}

impl Coded for Failure {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::Unreadable { .. } => "E0001",
            Self::TooLarge { .. } => "E0002",
            Self::Empty { .. } => "E0003",
            Self::IsFolder { .. } => "E0004",
            Self::NothingInFolder { .. } => "E0005",
            Self::NothingUsable { .. } => "E0006",
            Self::NoSuchSession { .. } => "E0007",
            Self::Unwritable { .. } => "E0008",
            Self::SeveralSessions { .. } => "E0011",
            Self::Unlistenable { .. } => "E0012",
            Self::DemoBroken { .. } => "E0013",
            Self::NoSuchProcess { .. } => "E0014",
            Self::NoSuchConversation { .. } => "E0015",
            Self::TooLittleText { .. } => "E0009",
            Self::Output { .. } | Self::ReaderLeft => "E0010",
            Self::Reported { code, .. } => return *code,
        })
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Reported { hint, .. } => hint.clone(),
            Self::NoSuchSession { held, .. } => Some(format!("give a number from 1 to {held}")),
            Self::NoSuchProcess { held, .. } if !held.is_empty() => Some(format!(
                "it has {}; name one with --process",
                held.join(", ")
            )),
            other => CODES
                .iter()
                .find(|entry| entry.code == other.code())
                .map(|entry| entry.remedy.to_owned()),
        }
    }
}

/// The system's reason in plain words, without its error number.
fn reason(source: &io::Error) -> String {
    let text = match source.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => source.to_string(),
    };
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{CODES, Failure};
    use crate::console::Palette;
    use crate::environment::Colour;
    use std::io;
    use std::path::PathBuf;

    #[test]
    fn code_and_message_then_what_to_do() {
        let failure = Failure::Unreadable {
            path: PathBuf::from("gone.jsonl"),
            source: io::Error::from(io::ErrorKind::NotFound),
        };
        insta::assert_snapshot!(failure.render(Palette::new(Colour::Plain)), @r"
        error[E0001]: cannot read gone.jsonl: it does not exist
        hint: Check the path and its permissions.
        ");
    }

    #[test]
    fn codes_are_in_order_and_unique() {
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
    }
}
