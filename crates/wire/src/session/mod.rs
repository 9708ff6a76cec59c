//! Transcripts on disk: what was said in a session, and everything odd about the file it was read from.

use context::coded::ErrorCode;
use context::{Text, TokenCounter, Tokens, Turn};

mod blocks;
mod claude_code;
mod detect;
mod error;
mod lines;
mod pi;
mod recording;
mod scalar;

pub use detect::detect;
pub use error::{CODES, LoadError, RenderError};

/// The format of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Claude Code's JSON Lines.
    ClaudeCode,
    /// Codex rollout JSON Lines.
    Codex,
    /// pi's JSON Lines.
    Pi,
    /// A list of OpenAI chat messages, bare or under `messages`, `traj` or `history`.
    OpenAiChat,
    /// A list of Anthropic messages, bare or as a request body.
    Anthropic,
    /// LangChain's message dumps, both forms.
    LangChain,
}

/// One session: a conversation in the order in which the model saw it.
#[derive(Clone, Debug)]
pub struct Session {
    /// The format it was read from.
    pub format: Format,
    /// A name for people: the file's stem, and the transcript's number where a file holds several.
    pub title: String,
    /// The model that the session names last.
    pub model: Option<String>,
    /// What was said. The product's own summaries are not here but in `compactions`.
    pub turns: Vec<Turn>,
    /// Where the product compacted by itself.
    pub compactions: Vec<Compaction>,
    /// The usage that the provider reported, in order.
    pub usage: Vec<ReportedUsage>,
    /// What is broken or odd in the file.
    pub problems: Vec<Problem>,
}

/// A compaction that the recording product did by itself.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// It stands before the turn with this index.
    pub before: usize,
    /// The context size that the product reports for the moment before.
    pub tokens_before: Option<Tokens>,
    /// The summary that replaced what stood before.
    pub summary: Text,
}

/// Usage as the provider reported it for one assistant turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedUsage {
    /// The index of the assistant turn.
    pub turn: usize,
    /// Input tokens that were neither read from nor written to the cache.
    pub input: Tokens,
    /// Output tokens.
    pub output: Tokens,
    /// Input tokens read from the cache.
    pub cache_read: Tokens,
    /// Input tokens written to the cache.
    pub cache_write: Tokens,
}

/// Something broken or odd in a file. It is reported and skipped; it never stops the reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1; for a file that is one JSON value, the number of the message.
    pub line: usize,
    /// The stable code.
    pub code: ErrorCode,
    /// What is wrong, without any text of the conversation.
    pub message: String,
}

/// A file with the sessions that are in it. It keeps the bytes it was read from, so that what is
/// shown of a session can be written again in the same format.
#[derive(Clone, Debug)]
pub struct Document {
    /// The sessions, in the order of the file. A log with subagents has the main conversation first.
    pub sessions: Vec<Session>,
    #[expect(dead_code, reason = "kept for writing")]
    source: Source,
}

/// The bytes of a file and where the turns of each session stand in them.
#[derive(Clone)]
#[expect(dead_code, reason = "kept for writing")]
struct Source {
    bytes: Vec<u8>,
    lines: Vec<lines::Line>,
    /// For each session, for each turn, the pieces it stands in.
    pieces: Vec<Vec<Vec<usize>>>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({} bytes)", self.bytes.len())
    }
}

/// Reads a transcript; its format is told from its content. `title` names it for people, usually the
/// file's stem. What is broken in a part of the file is reported in [`Session::problems`] and skipped.
///
/// # Errors
///
/// Where nothing can be read at all: an empty file, an unknown format, a file without any message.
pub fn load(bytes: &[u8], title: &str, counter: &dyn TokenCounter) -> Result<Document, LoadError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(LoadError::Empty);
    }
    let format = detect(bytes).ok_or(LoadError::UnknownFormat)?;
    load_as(format, bytes, title, counter)
}

/// Reads a transcript whose format is known.
///
/// # Errors
///
/// As [`load`], without the unknown format.
pub fn load_as(
    format: Format,
    bytes: &[u8],
    title: &str,
    counter: &dyn TokenCounter,
) -> Result<Document, LoadError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(LoadError::Empty);
    }
    let lines = lines::split(bytes);
    let recorded = match format {
        Format::ClaudeCode => claude_code::load(bytes, &lines, title, counter),
        Format::Pi => pi::load(bytes, &lines, title, counter),
        _ => return Err(LoadError::UnknownFormat),
    };
    document(bytes, lines, recorded)
}

/// Keeps the sessions in which something was said; the problems of the others go to the first.
fn document(
    bytes: &[u8],
    lines: Vec<lines::Line>,
    recorded: Vec<recording::Recorded>,
) -> Result<Document, LoadError> {
    let said_nothing =
        |session: &Session| session.turns.is_empty() && session.compactions.is_empty();
    let mut sessions = Vec::new();
    let mut pieces = Vec::new();
    let mut problems = Vec::new();
    for recorded in recorded {
        if said_nothing(&recorded.session) {
            problems.extend(recorded.session.problems);
        } else {
            sessions.push(recorded.session);
            pieces.push(recorded.pieces);
        }
    }
    let Some(first) = sessions.first_mut() else {
        let broken: Vec<&Problem> = problems
            .iter()
            .filter(|problem| problem.code == error::code::BROKEN)
            .collect();
        return Err(match broken.first() {
            Some(first) => LoadError::NothingReadable {
                broken: broken.len(),
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
            pieces,
        },
    })
}
