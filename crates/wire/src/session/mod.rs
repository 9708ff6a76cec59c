//! Transcripts on disk: the turns of a session, and everything odd about its file.

use context::coded::ErrorCode;
use context::title::{first_words, folder_name, titled};
use context::{Text, Tokens, Turn};

mod blocks;
mod chat;
mod claude_code;
mod codex;
mod conversations;
mod copilot;
mod detect;
mod document;
mod error;
mod fields;
mod langchain;
mod layout;
mod lines;
mod lists;
mod pi;
mod recording;
mod render;
mod scan;

#[cfg(test)]
mod tests;

pub use detect::detect;
pub use document::{Document, load, load_as};
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
    /// Copilot CLI's JSON Lines.
    Copilot,
}

/// One session: a conversation in the order in which the model saw it.
#[derive(Clone, Debug)]
pub struct Session {
    /// The format it was read from.
    pub format: Format,
    /// A name for people: the file's stem, and the transcript's number where a file holds several.
    pub title: String,
    /// The name that the product gave it, or the person.
    pub name: Option<Text>,
    /// The folder that the agent worked in.
    pub folder: Option<String>,
    /// The model that the session names last.
    pub model: Option<String>,
    /// The turns, without the product's own summaries, which are in `compactions`. A summary of turns that are
    /// not in the file is a turn too.
    pub turns: Vec<Turn>,
    /// The compactions that the product did by itself.
    pub compactions: Vec<Compaction>,
    /// The model's window, where the log names it.
    pub window: Option<Tokens>,
    /// The usage that the provider reported, in order.
    pub usage: Vec<ReportedUsage>,
    /// The broken or odd parts of the file.
    pub problems: Vec<Problem>,
}

impl Session {
    /// A name for people: the product's own, or else the first line that the user typed, behind the folder's
    /// name. `None` if the log has none of them.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        let name = self.name.as_ref().map(|name| name.as_str().trim());
        let name = name.filter(|name| !name.is_empty()).map(str::to_owned);
        let folder = self.folder.as_deref().and_then(folder_name);
        match name.or_else(|| first_words(&self.turns)) {
            Some(words) => Some(titled(folder, &words)),
            None => folder.map(str::to_owned),
        }
    }
}

/// A compaction that the recording product did by itself.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// The index of the turn that follows it.
    pub before: usize,
    /// The context size that the product reports for the moment before.
    pub tokens_before: Option<Tokens>,
    /// The summary that replaced the turns before it.
    pub summary: Text,
    /// True if a person asked for it, as the log says.
    pub by_hand: bool,
}

/// Usage as the provider reported it for one assistant turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// The part of `cache_write` that lives for an hour (Anthropic), as far as the log tells.
    pub cache_write_hour: Tokens,
}

/// Something broken or odd in a file. It is reported and skipped; it never stops the reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1; for a file that is one JSON value, the number of the message.
    pub line: usize,
    /// The stable code.
    pub code: ErrorCode,
    /// The problem in words, without any text of the conversation.
    pub message: String,
}

impl Problem {
    /// Returns `true` if the line or message could not be read, so that no turn holds it.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.code == error::code::BROKEN
    }
}
