//! Loads session files and counts their tokens for the right model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context::{TokenCounter, Turn, TurnId};
use tokens::{Exactness, Known, ModelCounter, ModelTable, Tokenizer, counter_for};
use wire::session::{self, Document, Format, Session};

use crate::console::Console;
use crate::failure::Failure;
use crate::input;

/// A session file, read and counted.
pub struct Loaded {
    /// `-` for standard input.
    pub path: PathBuf,
    pub bytes: u64,
    pub document: Document,
}

impl Loaded {
    /// Returns all sessions, or the one with this number, counted from 1.
    pub fn chosen(&self, number: Option<usize>) -> Result<Vec<&Session>, Failure> {
        let sessions = &self.document.sessions;
        let Some(asked) = number else {
            return Ok(sessions.iter().collect());
        };
        match asked.checked_sub(1).and_then(|index| sessions.get(index)) {
            Some(session) => Ok(vec![session]),
            None => Err(Failure::NoSuchSession {
                path: self.path.clone(),
                asked,
                held: sessions.len(),
            }),
        }
    }
}

/// Reads a file and counts its sessions for `model`, or else for the model that each session names,
/// or else by a generic estimate.
pub fn load(path: &Path, model: Option<&str>) -> Result<Loaded, Failure> {
    read(path, &input::read(path)?, model)
}

/// Like [`load`], from the bytes of the file.
pub fn read(path: &Path, bytes: &[u8], model: Option<&str>) -> Result<Loaded, Failure> {
    let title = match path.file_stem() {
        Some(stem) if path != Path::new("-") => stem.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    };
    // The file names the model, so the first count, before it is read, is a cheap one.
    let mut document = session::load(bytes, &title, &context::Heuristic)
        .map_err(|error| Failure::of(&error).at(&path.display()))?;
    for session in &mut document.sessions {
        let counter = counter(session, model);
        recount(session, &*counter);
    }
    Ok(Loaded {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        document,
    })
}

/// Reads the sessions of these files and folders. Of several, those that cannot be read are reported and skipped.
pub fn sessions(paths: &[PathBuf], console: &mut Console) -> Result<Vec<Session>, Failure> {
    let (files, unreadable) = input::gather(paths)?;
    let mut sessions = Vec::new();
    let mut failures = unreadable;
    for file in &files {
        match load(file, None) {
            Ok(loaded) => sessions.extend(loaded.document.sessions),
            Err(failure) if files.len() == 1 => return Err(failure),
            Err(failure) => failures.push(failure),
        }
    }
    for failure in failures {
        console.note(format!("skipped: {}", failure.in_a_line()));
    }
    if sessions.is_empty() {
        return Err(Failure::NothingUsable { files: files.len() });
    }
    Ok(sessions)
}

/// Says so if a model's name is not listed, and close to one that is.
pub fn note_model(name: Option<&str>, console: &mut Console) {
    let Some(name) = name else { return };
    if let (_, Some(close)) = look_up(name) {
        console.note(format!("warning: {}", unlisted(name, Some(close))));
    }
}

/// Like [`note_model`], for commands that only count for the model. They accept every name, since a new model has
/// the tokenizer of its family; a name that tells no family is noted too.
pub fn note_counting(name: Option<&str>, console: &mut Console) {
    let Some(name) = name else { return };
    match look_up(name) {
        (Known::Unknown, close) if Tokenizer::guess(name) == Tokenizer::Unknown => {
            let end = if close.is_some() { "" } else { "." };
            console.note(format!(
                "warning: {}{end} Its tokenizer is unknown, so tokens are estimated with a margin.",
                unlisted(name, close)
            ));
        }
        _ => note_model(Some(name), console),
    }
}

/// The model table's knowledge of a name, and for one that it does not list, the closest name that it lists.
fn look_up(name: &str) -> (Known, Option<&'static str>) {
    let table = ModelTable::shipped();
    let known = table.find(name).known;
    if known == Known::Listed {
        return (known, None);
    }
    let listed = table.models().map(|model| model.name.as_str());
    (known, context::nearest(name, listed))
}

fn unlisted(name: &str, close: Option<&str>) -> String {
    let close = close.map_or_else(String::new, |close| format!("; did you mean `{close}`?"));
    format!("no model `{name}` in the model table{close}")
}

/// Returns the token counter for a session.
pub fn counter(session: &Session, model: Option<&str>) -> Arc<dyn TokenCounter> {
    counter_for(model.or(session.model.as_deref()).unwrap_or_default())
}

/// Describes how [`counter`] counts.
pub fn counted(session: &Session, model: Option<&str>) -> String {
    let model = model.or(session.model.as_deref()).unwrap_or_default();
    let exactness = ModelCounter::new(Tokenizer::guess(model)).exactness();
    match (exactness, model) {
        (_, "") => "estimated without a model".to_owned(),
        (Exactness::Exact, model) => format!("counted for {model}"),
        (Exactness::Estimated, model) => format!("estimated for {model}"),
    }
}

fn recount(session: &mut Session, counter: &dyn TokenCounter) {
    let mut parent = TurnId::ROOT;
    for turn in &mut session.turns {
        let counted: Turn = turn.draft().after(parent, counter);
        parent = counted.id();
        *turn = counted;
    }
}

/// The display name of a format.
pub const fn format_name(format: Format) -> &'static str {
    match format {
        Format::ClaudeCode => "Claude Code",
        Format::Codex => "Codex",
        Format::Pi => "pi",
        Format::OpenAiChat => "OpenAI chat messages",
        Format::Anthropic => "Anthropic messages",
        Format::LangChain => "LangChain messages",
        Format::Copilot => "Copilot CLI",
    }
}
