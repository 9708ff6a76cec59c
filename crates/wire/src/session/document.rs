//! A file with its sessions.

use std::fmt;

use context::TokenCounter;

use super::detect::{GEMINI, Sniffed, sniff, unsupported};
use super::error::{LoadError, code};
use super::layout::Layout;
use super::lines::{Line, split};
use super::recording::Recorded;
use super::{Format, Problem, Session, claude_code, codex, conversations, copilot, lists, pi};

/// A file with its sessions. It keeps the bytes of the file, so that turns
/// can be written again in the same format.
#[derive(Clone, Debug)]
pub struct Document {
    /// The sessions, in the order of the file. A log with subagents has the main conversation first.
    /// In tau-bench's and similar files, each transcript is a session; in LongMemEval's, each haystack
    /// is one, its chats one after the other: one memory has to hold them all.
    pub sessions: Vec<Session>,
    pub(super) source: Source,
}

/// The bytes of a file and the ranges of each session's turns.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) bytes: Vec<u8>,
    pub(super) lines: Vec<Line>,
    /// One for each session.
    pub(super) layouts: Vec<Layout>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({} bytes)", self.bytes.len())
    }
}

/// Reads a transcript; its format is told from its content. `title` names it for people, usually the
/// file's stem. Broken parts of the file are reported in [`Session::problems`] and skipped.
///
/// # Errors
///
/// An empty file, an unknown format, or a file without any message.
pub fn load(bytes: &[u8], title: &str, counter: &dyn TokenCounter) -> Result<Document, LoadError> {
    let lines = split(bytes);
    if is_blank(bytes) {
        return Err(LoadError::Empty);
    }
    if let Some(product) = unsupported(bytes, &lines) {
        return Err(LoadError::Unsupported(product));
    }
    match sniff(bytes, &lines).ok_or(LoadError::UnknownFormat)? {
        Sniffed::Log(format) => log(format, bytes, lines, title, counter),
        Sniffed::Lists(_, found) if lists::are_gemini(bytes, &lines, &found) => {
            Err(LoadError::Unsupported(GEMINI))
        }
        Sniffed::Lists(format, found) => {
            let recorded = lists::load(bytes, &lines, found, format, (title, counter));
            document(bytes, lines, recorded)
        }
    }
}

/// Reads a transcript of a known format, also where its beginning does not show it.
///
/// # Errors
///
/// Those of [`load`], without the unknown format.
pub fn load_as(
    format: Format,
    bytes: &[u8],
    title: &str,
    counter: &dyn TokenCounter,
) -> Result<Document, LoadError> {
    let lines = split(bytes);
    if is_blank(bytes) {
        return Err(LoadError::Empty);
    }
    log(format, bytes, lines, title, counter)
}

fn log(
    format: Format,
    bytes: &[u8],
    lines: Vec<Line>,
    title: &str,
    counter: &dyn TokenCounter,
) -> Result<Document, LoadError> {
    let recorded = match format {
        Format::ClaudeCode => claude_code::load(bytes, &lines, title, counter),
        Format::Codex => codex::load(bytes, &lines, title, counter),
        Format::Pi => pi::load(bytes, &lines, title, counter),
        Format::Copilot => copilot::load(bytes, &lines, title, counter),
        Format::OpenAiChat | Format::Anthropic | Format::LangChain => {
            let found = conversations::find(bytes, &lines);
            lists::load(bytes, &lines, found, format, (title, counter))
        }
    };
    document(bytes, lines, recorded)
}

fn is_blank(bytes: &[u8]) -> bool {
    let content = bytes.get(super::lines::content_start(bytes)..);
    content
        .unwrap_or_default()
        .iter()
        .all(u8::is_ascii_whitespace)
}

/// Keeps the sessions that have turns; the problems of the others go to the first.
fn document(
    bytes: &[u8],
    lines: Vec<Line>,
    recorded: Vec<Recorded>,
) -> Result<Document, LoadError> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut layouts = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    for Recorded { session, layout } in recorded {
        if session.turns.is_empty() && session.compactions.is_empty() {
            problems.extend(session.problems);
        } else {
            sessions.push(session);
            layouts.push(layout);
        }
    }
    let Some(first) = sessions.first_mut() else {
        let mut broken = problems
            .iter()
            .filter(|problem| problem.code == code::BROKEN);
        return Err(match broken.next() {
            Some(first) => LoadError::NothingReadable {
                broken: broken.count() + 1,
                first: first.line,
            },
            None => LoadError::NoMessages,
        });
    };
    first.problems.extend(problems);
    first.problems.sort_by_key(|problem| problem.line);
    Ok(Document {
        sessions,
        source: Source {
            bytes: bytes.to_vec(),
            lines,
            layouts,
        },
    })
}
