//! The errors of the command line: their codes, exit statuses and printed form.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use context::coded::{self, Coded, ErrorCode};
use history::HistoryError;

use crate::console::{Palette, Tone};
use lab::figures;

/// The reason a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("cannot read {}: {}", path.display(), reason(source))]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{} is {}; the limit is {}",
        path.display(), figures::bytes(*size), figures::bytes(*limit)
    )]
    TooLarge {
        path: PathBuf,
        /// Bytes; for standard input, the bytes read before the program stopped.
        size: u64,
        limit: u64,
    },
    #[error("{} is empty", .0.display())]
    Empty(PathBuf),
    #[error("{} is a folder", .0.display())]
    IsFolder(PathBuf),
    #[error("no session files (*.jsonl, *.json, *.traj) in {}", .0.display())]
    NothingInFolder(PathBuf),
    #[error("none of the {files} files contains a usable session")]
    NothingUsable { files: usize },
    #[error("{} has no session {asked}; it holds {held}", path.display())]
    NoSuchSession {
        path: PathBuf,
        /// Counted from 1.
        asked: usize,
        held: usize,
    },
    #[error("{} holds {held} sessions", path.display())]
    SeveralSessions { path: PathBuf, held: usize },
    /// The gateway's settings name no file.
    #[error("the gateway keeps its history in memory, so there is no store file")]
    NoStore,
    /// A command that reads a store creates none.
    #[error("there is no store at {}", .0.display())]
    NoStoreThere(PathBuf),
    /// A copy overwrites nothing.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The store has no such conversation, or it belongs to another tenant.
    #[error("no conversation {id} in {}", path.display())]
    NoSuchConversation {
        path: PathBuf,
        id: history::ConversationId,
    },
    #[error("cannot write {}: {}", path.display(), reason(source))]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("cannot listen on {address}: {}", reason(source))]
    Unlistenable {
        address: SocketAddr,
        source: io::Error,
    },
    #[error(
        "{} contains too little text for the demo: {}, {}",
        path.display(), figures::plural(*found_files, "file"), figures::bytes(*found_bytes)
    )]
    TooLittleText {
        path: PathBuf,
        found_files: usize,
        found_bytes: u64,
    },
    #[error("cannot start the async runtime: {}", reason(.0))]
    NoRuntime(io::Error),
    #[error("cannot run `{command}`: {}", reason(source))]
    NotStarted { command: String, source: io::Error },
    /// A gateway runs already, with another value of a setting that was given.
    #[error(
        "a gateway runs at {address} already, {}",
        match there {
            Some(there) => format!("with `{setting} {there}`"),
            None => format!("and `{setting}` cannot change it"),
        }
    )]
    RunsOtherwise {
        address: String,
        /// The option, or the setting's key.
        setting: String,
        /// Its value there, if it tells it.
        there: Option<String>,
    },
    /// A gateway runs already and does not tell its settings.
    #[error("a gateway runs at {address} already, and its settings are not known: {reason}")]
    Mute { address: String, reason: String },
    /// The demo cannot run with an option.
    #[error("the demo {what}")]
    NotInDemo { what: String, instead: String },
    #[error("the demo failed: {0}")]
    DemoBroken(String),
    #[error("{} has no process `{asked}`", path.display())]
    NoSuchProcess {
        path: PathBuf,
        asked: String,
        /// The processes that the program declares.
        held: Vec<String>,
    },
    #[error("cannot write to standard output: {}", reason(.0))]
    Output(io::Error),
    /// The reader of standard output has closed the pipe (`| head`). Not an error.
    #[error("the reader closed standard output")]
    BrokenPipe,
    /// A problem that another crate reports.
    #[error("{message}")]
    Reported {
        code: ErrorCode,
        message: String,
        /// A file, a file with a line, a flag or a variable.
        place: Option<String>,
        hint: Option<String>,
        exit: Exit,
    },
}

/// The exit status. The numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// A run-time failure: a file or a pipe cannot be read or written.
    Failed,
    /// The command line or the input is invalid.
    Invalid,
    /// Success, except that some of the files were skipped.
    Partial,
    /// The status of a wrapped command.
    Passed(u8),
}

impl Exit {
    pub const fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Invalid => 2,
            Self::Partial => 3,
            Self::Passed(code) => code,
        }
    }
}

context::error_codes! {
    /// The error codes of this crate.
    pub CODES:
    UNREADABLE = "E0001", "a file or folder cannot be read",
        "Check the path and its permissions.";
    TOO_LARGE = "E0002", "a file exceeds the size limit",
        "Pass the session file itself; sessions rarely exceed 100 MB.";
    EMPTY = "E0003", "a file is empty",
        "The client may not have written it yet.";
    IS_FOLDER = "E0004", "a folder was given where a file is required",
        "Pass one file, or use `ebbtide replay`, which accepts folders.";
    NOTHING_IN_FOLDER = "E0005", "a folder contains no session files",
        "Session files end in .jsonl, .json or .traj.";
    NOTHING_USABLE = "E0006", "none of the given files can be used",
        "The lines above give the reason for each file.";
    NO_SUCH_SESSION = "E0007", "a file has no session with that number",
        "`ebbtide inspect FILE` lists the sessions in a file.";
    UNWRITABLE = "E0008", "a file cannot be written",
        "Check that the folder exists and is writable.";
    TOO_LITTLE_TEXT = "E0009", "the demo folder contains too little text",
        "The demo takes about 20 kB of text by default. Run it in a source tree, or name one with --dir.";
    OUTPUT = "E0010", "standard output cannot be written",
        "Check for a full disk, and check where the output is piped.";
    SEVERAL_SESSIONS = "E0011", "a file holds several sessions, and the command needs one",
        "Select one with --session N; `ebbtide inspect FILE` lists them.";
    UNLISTENABLE = "E0012", "the program cannot listen on an address",
        "Choose another port, or 0 for any free one: this one may be taken, or (below 1024) reserved for the system.";
    DEMO_BROKEN = "E0013", "the demo failed",
        "This is a bug in Ebbtide. Please report it and include the message.";
    NO_SUCH_PROCESS = "E0014", "a program has no process with that name",
        "Name a process that it declares with --process NAME, or one of a module, such as `Mem.prepared`.";
    NO_SUCH_CONVERSATION = "E0015", "a store has no conversation with that ID",
        "The dashboard and the `x-ebbtide-conversation` header show the IDs. Nothing was deleted.";
    NO_RUNTIME = "E0016", "the async runtime cannot start",
        "Check the limits on threads and open files (`ulimit -a`).";
    NOT_STARTED = "E0017", "a command cannot be run",
        "Check its name, and that it is on the PATH.";
    NO_STORE = "E0018", "the settings name no store file",
        "Name the file with --store PATH.";
    RUNS_OTHERWISE = "E0019", "a gateway with other settings runs at that address",
        "Leave the option or setting out to use that gateway, or add `--listen 127.0.0.1:0` for one of the command's own.";
    NOT_IN_DEMO = "E0026", "the demo cannot run with an option",
        "`ebbtide demo --help` lists what it takes.";
    NO_STORE_THERE = "E0027", "there is no store at a path",
        "Check the path given with --store; `ebbtide config` shows the gateway's.";
    EXISTS = "E0028", "a new file would overwrite an existing one",
        "Choose another name for the new file. Nothing was changed.";
}

impl Failure {
    /// Wraps an error from reading `path`.
    pub fn unreadable(path: &Path) -> impl Fn(io::Error) -> Self {
        |source| Self::Unreadable {
            path: path.to_owned(),
            source,
        }
    }

    /// Wraps an error from writing `path`.
    pub fn unwritable(path: &Path) -> impl Fn(io::Error) -> Self {
        |source| Self::Unwritable {
            path: path.to_owned(),
            source,
        }
    }

    /// Wraps an error from standard output; a closed pipe becomes [`Failure::BrokenPipe`].
    pub fn from_stdout(source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Output(source)
        }
    }

    /// Wraps a problem that another crate reports, as invalid input without a place.
    pub fn of(problem: &dyn Coded) -> Self {
        Self::Reported {
            code: problem.code(),
            message: problem.to_string(),
            place: None,
            hint: problem.hint(),
            exit: Exit::Invalid,
        }
    }

    /// Wraps a store's error. A file that is no store is invalid input, all else a run-time failure.
    pub fn of_store(problem: &HistoryError, path: &Path) -> Self {
        let exit = match problem {
            HistoryError::NotAStore { .. } | HistoryError::Newer { .. } => Exit::Invalid,
            _ => Exit::Failed,
        };
        Self::of(problem).at(&path.display()).exiting(exit)
    }

    /// Adds the place to a reported problem.
    pub fn at(mut self, location: &dyn std::fmt::Display) -> Self {
        if let Self::Reported { place, .. } = &mut self {
            *place = Some(location.to_string());
        }
        self
    }

    /// Sets the hint of a reported problem.
    pub fn hinting(mut self, said: String) -> Self {
        if let Self::Reported { hint, .. } = &mut self {
            *hint = Some(said);
        }
        self
    }

    /// Sets the exit status of a reported problem.
    pub fn exiting(mut self, status: Exit) -> Self {
        if let Self::Reported { exit, .. } = &mut self {
            *exit = status;
        }
        self
    }

    pub const fn exit(&self) -> Exit {
        match self {
            Self::BrokenPipe => Exit::Success,
            Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::Unlistenable { .. }
            | Self::NoRuntime(_)
            | Self::NotStarted { .. }
            | Self::DemoBroken(_)
            | Self::NoStoreThere(_)
            | Self::Exists(_)
            | Self::Output(_) => Exit::Failed,
            Self::Reported { exit, .. } => *exit,
            _ => Exit::Invalid,
        }
    }

    /// Renders the message and the code on one line that names the file, for lists.
    pub fn in_a_line(&self) -> String {
        let code = self.code();
        match self {
            Self::Reported {
                place: Some(place), ..
            } => format!("{place}: {self} ({code})"),
            _ => format!("{self} ({code})"),
        }
    }

    /// Renders the code and message, then the place, then the hint.
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
        match self {
            Self::Unreadable { .. } => UNREADABLE,
            Self::TooLarge { .. } => TOO_LARGE,
            Self::Empty(_) => EMPTY,
            Self::IsFolder(_) => IS_FOLDER,
            Self::NothingInFolder(_) => NOTHING_IN_FOLDER,
            Self::NothingUsable { .. } => NOTHING_USABLE,
            Self::NoSuchSession { .. } => NO_SUCH_SESSION,
            Self::Unwritable { .. } => UNWRITABLE,
            Self::SeveralSessions { .. } => SEVERAL_SESSIONS,
            Self::Unlistenable { .. } => UNLISTENABLE,
            Self::DemoBroken(_) => DEMO_BROKEN,
            Self::NoSuchProcess { .. } => NO_SUCH_PROCESS,
            Self::NoSuchConversation { .. } => NO_SUCH_CONVERSATION,
            Self::NoRuntime(_) => NO_RUNTIME,
            Self::NotStarted { .. } => NOT_STARTED,
            Self::NoStore => NO_STORE,
            Self::NoStoreThere(_) => NO_STORE_THERE,
            Self::Exists(_) => EXISTS,
            Self::RunsOtherwise { .. } | Self::Mute { .. } => RUNS_OTHERWISE,
            Self::NotInDemo { .. } => NOT_IN_DEMO,
            Self::TooLittleText { .. } => TOO_LITTLE_TEXT,
            Self::Output(_) | Self::BrokenPipe => OUTPUT,
            Self::Reported { code, .. } => *code,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Reported { hint, .. } => hint.clone(),
            Self::Mute { .. } => Some(
                "Leave out the options; if it asks for its token, set EBBTIDE_ADMIN_TOKEN."
                    .to_owned(),
            ),
            Self::NotInDemo { instead, .. } => Some(instead.clone()),
            Self::Unlistenable { source, address }
                if source.kind() == io::ErrorKind::AddrNotAvailable =>
            {
                Some(format!(
                    "No network interface of this machine has the address {}. Use 127.0.0.1 for this \
                     machine only, or 0.0.0.0 for all interfaces.",
                    address.ip()
                ))
            }
            Self::NoSuchSession { held, .. } => Some(format!("Choose a number from 1 to {held}.")),
            Self::NoSuchProcess { held, .. } if !held.is_empty() => Some(format!(
                "It has {}. Choose one with --process.",
                held.join(", ")
            )),
            other => coded::remedy(CODES, other.code()),
        }
    }
}

/// The operating system's reason, without its error number.
fn reason(source: &io::Error) -> String {
    let text = match source.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
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
    fn code_message_and_hint_are_rendered() {
        let failure = Failure::Unreadable {
            path: PathBuf::from("gone.jsonl"),
            source: io::Error::from(io::ErrorKind::NotFound),
        };
        insta::assert_snapshot!(failure.render(Palette::new(Colour::Plain)), @r"
        error[E0001]: cannot read gone.jsonl: no such file or folder
        hint: Check the path and its permissions.
        ");
    }

    #[test]
    fn codes_are_in_order_and_unique() {
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
    }
}
