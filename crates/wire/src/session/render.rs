//! Writes turns of a session in the format it was read from.

use std::collections::HashMap;

use context::{Turn, TurnId};

use super::error::RenderError;
use super::layout::{Layout, PieceKind};
use super::{Document, Format, Session};

mod chat;
mod claude_code;
mod codex;
mod copilot;
mod elements;
mod pi;
mod script;
mod voice;

/// A turn to be written.
#[derive(Clone, Copy, Debug)]
enum WrittenTurn<'a> {
    /// The session's own turn with this index, written with its own bytes.
    Own(usize),
    /// A turn that is not in the file.
    New(&'a Turn),
}

impl Document {
    /// Writes the turns `shown` of the session with this index in the format of the file. A turn that
    /// is one of the session's comes out with the bytes (lines or JSON elements) it came in with; any
    /// other is written in the format's own shape: a [`Provenance::Summary`](context::Provenance) as
    /// the product writes its own summaries, if it has them; all others as messages of their role.
    ///
    /// All turns of the only session of a file give back the file, byte for byte. A session of a file
    /// that holds several is written alone: its record, or the lines that are its own.
    ///
    /// In logs whose records form a chain (Claude Code, pi), new records take the ids that the kept
    /// ones name as their parents, so that the chain from the last record leads through all of them.
    /// A new turn between two adjacent turns of the session, or before its first, cannot be linked:
    /// the product then sees the new record in the file only.
    ///
    /// # Errors
    ///
    /// There is no session with this index.
    pub fn render(&self, session: usize, shown: &[Turn]) -> Result<Vec<u8>, RenderError> {
        let missing = || RenderError::NoSuchSession {
            session,
            held: self.sessions.len(),
        };
        let held = self.sessions.get(session).ok_or_else(missing)?;
        let layout = self.source.layouts.get(session).ok_or_else(missing)?;
        let shown = own_or_new(held, shown);
        if self.sessions.len() == 1 && is_whole(&shown, held.turns.len()) {
            return Ok(self.source.bytes.clone());
        }
        Ok(match &layout.place {
            PieceKind::Lines { headers, asides } => {
                let lines = script::Lines {
                    source: &self.source,
                    pieces: &layout.pieces,
                    headers,
                    asides,
                    turns: &held.turns,
                };
                log(held, &lines, &shown)
            }
            PieceKind::Elements { record, arrays } => {
                let source = elements::Source {
                    bytes: &self.source.bytes,
                    record: record.clone(),
                    arrays,
                };
                elements::write(&source, held.format, &pieces(layout, &shown))
            }
        })
    }
}

/// Tells the session's own turns from others by their ids.
fn own_or_new<'a>(session: &Session, shown: &'a [Turn]) -> Vec<WrittenTurn<'a>> {
    let turns = session.turns.iter().enumerate();
    let index_of: HashMap<TurnId, usize> = turns.map(|(index, turn)| (turn.id(), index)).collect();
    shown
        .iter()
        .map(|turn| match index_of.get(&turn.id()) {
            Some(index) => WrittenTurn::Own(*index),
            None => WrittenTurn::New(turn),
        })
        .collect()
}

fn is_whole(shown: &[WrittenTurn<'_>], turns: usize) -> bool {
    shown.len() == turns
        && shown
            .iter()
            .enumerate()
            .all(|(place, shown)| matches!(shown, WrittenTurn::Own(index) if *index == place))
}

/// The elements of each shown turn.
fn pieces<'a>(layout: &'a Layout, shown: &[WrittenTurn<'a>]) -> Vec<elements::Piece<'a>> {
    let mut pieces = Vec::new();
    for shown in shown {
        match shown {
            WrittenTurn::Own(turn) => {
                let own = layout.pieces.get(*turn).into_iter().flatten();
                pieces.extend(own.map(|element| elements::Piece::Own(*element)));
            }
            WrittenTurn::New(turn) => pieces.push(elements::Piece::New(turn)),
        }
    }
    pieces
}

/// Writes a log, line by line.
fn log(session: &Session, lines: &script::Lines<'_>, shown: &[WrittenTurn<'_>]) -> Vec<u8> {
    match session.format {
        Format::ClaudeCode => {
            script::write(lines, shown, &mut claude_code::Voice::of(session, lines))
        }
        Format::Pi => script::write(lines, shown, &mut pi::Voice::of(session, lines)),
        Format::Codex => script::write(lines, shown, &mut codex::Voice::default()),
        Format::Copilot => script::write(lines, shown, &mut copilot::Voice::of(session)),
        format @ (Format::OpenAiChat | Format::Anthropic | Format::LangChain) => {
            script::write(lines, shown, &mut chat::Voice::new(format))
        }
    }
}
