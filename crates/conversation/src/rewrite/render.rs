//! Puts a request together as a view says.

use history::Change;
use wire::api::{Dialect, Message, Piece, Request};

use super::{RewriteError, cut, front};
use crate::view::{Breakpoint, Front, View};
use context::Role;
use context::standing::Matter;

/// Stands in place of a cleared tool result.
const CLEARED: &str = "[old tool result cleared; call the tool again if it is needed]";

/// The body to send. Every byte that the view does not name is as it came; with an empty view it is
/// the body itself.
///
/// Messages that are shown unchanged are not read, only copied.
///
/// # Errors
/// Where the result would not be a legal request, or a change does not fit its message. The caller then
/// sends the client's own bytes.
pub fn render(request: &Request<'_>, view: &View) -> Result<Vec<u8>, RewriteError> {
    render_asking(request, view, None)
}

/// Like [`render`]. If the view changes something, the request also asks the provider why its cache
/// was missed, if it was, since the answer with this id: this proves that the cache survived a
/// change. Only Anthropic Messages has the question, and a client that asks by itself is left
/// alone.
///
/// # Errors
/// Those of [`render`].
pub fn render_asking(
    request: &Request<'_>,
    view: &View,
    previous: Option<&str>,
) -> Result<Vec<u8>, RewriteError> {
    if view.is_plain() {
        return Ok(request.body().to_vec());
    }
    cut::check(request, view)?;
    let marker = request.dialect().facts().keys.cache_marker;
    let mut list = List {
        request,
        view,
        pieces: Vec::new(),
        changes: &view.changes,
        marker,
    };
    let front = front::message(request, view)?;
    let native = matches!(view.front, Front::Native { .. });
    // The provider's own summary opens the list; ours comes behind the operator's instructions.
    let (before, after) = if native { (front, None) } else { (None, front) };
    list.pieces.extend(before.map(Piece::Written));
    let first = list.instructions();
    list.stand(Side::BeforeSummary)?;
    list.pieces.extend(after.map(Piece::Written));
    list.stand(Side::BehindSummary)?;
    for index in first..request.len() {
        list.show(index)?;
    }
    let mut edit = request.edit().messages(list.pieces);
    if view.breakpoints.contains(&Breakpoint::Instructions)
        && let Some(marker) = marker
        && let Some((key, marked)) = request.instructions_with_breakpoint(marker)
    {
        edit = edit.set(key, marked);
    }
    if let Some((key, question)) = previous.and_then(|id| request.cache_question(id)) {
        edit = edit.set(key, question);
    }
    if native {
        edit = edit
            .carrying_compaction()
            .map_err(RewriteError::NotCarried)?;
    }
    Ok(edit.render()?)
}

/// Returns `true` if Ebbtide may ask why the cache was missed: the dialect has the question, and the client
/// does not ask itself.
#[must_use]
pub fn may_ask(request: &Request<'_>) -> bool {
    request.cache_question("").is_some()
}

/// The names that the header `anthropic-beta` has to hold for what a view puts into a request.
#[must_use]
pub fn betas(dialect: Dialect, view: &View) -> Vec<&'static str> {
    let known = &dialect.facts().betas;
    let mut out = Vec::new();
    if matches!(view.front, Front::Native { .. }) {
        out.extend(known.compaction);
    }
    let mut shown = view.changes.iter().filter(|(at, _)| *at >= view.from);
    if shown.any(|(_, change)| clears(change)) {
        out.extend(known.clear_at);
    }
    out
}

/// Returns true if the provider takes the addition out again when the user's next message comes.
pub(crate) fn clears(change: &Change) -> bool {
    match change {
        Change::Followed(json) => json.contains(r#""clear_at""#),
        Change::Appended(_) | Change::Shrunk { .. } => false,
    }
}

/// The place of standing matter. The list begins with the user's texts; calls and system messages follow a user's
/// message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    BeforeSummary,
    BehindSummary,
}

/// The new list of messages, as far as it is put together.
struct List<'r> {
    request: &'r Request<'r>,
    view: &'r View,
    pieces: Vec<Piece<'r>>,
    /// The changes that are still to be made.
    changes: &'r [(usize, Change)],
    /// The value of a cache breakpoint.
    marker: Option<&'static str>,
}

impl<'r> List<'r> {
    /// Adds the operator's messages that stay in front although the view begins behind them, and those
    /// that it begins with. Returns the first message after them.
    fn instructions(&mut self) -> usize {
        let request = self.request;
        if !request.dialect().facts().layout.keeps_system {
            return self.view.from;
        }
        let system = |index: usize| {
            let message = request.message(index);
            message.is_some_and(|message| message.role() == Role::System)
        };
        let mut first = self.view.from;
        if matches!(self.view.front, Front::Readable { .. }) {
            while system(first) && !self.is_changed(first) {
                first += 1;
            }
        }
        let stays = (0..first).filter(|index| system(*index));
        self.pieces
            .extend(stays.map(|index| Piece::Kept(index..index + 1)));
        first
    }

    /// Adds the standing matter of one place, message by message.
    fn stand(&mut self, place: Side) -> Result<(), RewriteError> {
        let mut entries = self.view.standing.iter().peekable();
        while let Some(&(index, matter)) = entries.next() {
            let is_text = matches!(matter, Matter::Text { .. });
            if is_text != (place == Side::BeforeSummary) {
                continue;
            }
            let message = self.message(index)?;
            match matter {
                Matter::Text { text, .. } => {
                    let mut texts = vec![text];
                    while let Some((_, Matter::Text { text, .. })) =
                        entries.next_if(|(next, it)| *next == index && *it != Matter::Loads)
                    {
                        texts.push(*text);
                    }
                    let written = message.with_texts_only(&texts);
                    self.pieces.extend(written.map(Piece::Written));
                }
                Matter::Loads => {
                    // Other results may stand between the calls and this one.
                    let is_call = |at: &usize| {
                        let message = self.request.message(*at);
                        message.is_some_and(|message| message.role() == Role::Assistant)
                    };
                    let calls = (0..index).rev().find(is_call).unwrap_or_default();
                    if let Some(loads) = self.message(calls)?.loads(&message) {
                        self.pieces.push(Piece::Written(loads.calls.into()));
                        self.pieces.push(Piece::Written(loads.results.into()));
                    }
                }
                // The provider has cleared this message with the user's next words.
                Matter::System if message.raw().contains("\"clear_at\"") => {}
                Matter::System => self.pieces.push(Piece::Kept(index..index + 1)),
            }
        }
        Ok(())
    }

    fn is_changed(&self, index: usize) -> bool {
        self.changes.iter().any(|(at, _)| *at == index)
    }

    /// Adds one message as it is to be shown.
    fn show(&mut self, index: usize) -> Result<(), RewriteError> {
        let skipped = self.changes.partition_point(|(at, _)| *at < index);
        let until = self.changes.partition_point(|(at, _)| *at <= index);
        let own = self.changes.get(skipped..until).unwrap_or_default();
        self.changes = self.changes.get(until..).unwrap_or_default();
        let message = self.message(index)?;
        let clears = index < self.view.cleared && message.may_hold_results();
        let strips = index < self.view.stripped && message.may_think();
        let is_marked = || self.view.breakpoints.contains(&Breakpoint::Message(index));
        let marker = self.marker.filter(|_| is_marked());
        if own.is_empty() && !clears && !strips && marker.is_none() {
            self.pieces.push(Piece::Kept(index..index + 1));
            return Ok(());
        }
        let mut edit = message.edit();
        if let Some(marker) = marker {
            edit = edit.with_breakpoint(marker);
        }
        if strips {
            edit = edit.without_thinking();
        }
        if clears {
            edit = edit.with_results_cleared(CLEARED);
        }
        for (_, change) in own {
            edit = match change {
                Change::Appended(block) => edit.with_block(block),
                Change::Shrunk { result, text } if !clears => {
                    edit.with_result_text(*result as usize, text)
                }
                Change::Shrunk { .. } | Change::Followed(_) => edit,
            };
        }
        let shown = edit
            .render()
            .ok_or(RewriteError::DoesNotFit { message: index })?;
        self.pieces.push(if shown == message.raw() {
            Piece::Kept(index..index + 1)
        } else {
            Piece::Written(shown)
        });
        for (_, change) in own {
            if let Change::Followed(json) = change {
                self.pieces.push(Piece::Written(json.as_str().into()));
            }
        }
        Ok(())
    }

    fn message(&self, index: usize) -> Result<Message<'r>, RewriteError> {
        let count = self.request.len();
        self.request
            .message(index)
            .ok_or(RewriteError::NothingKept { from: index, count })
    }
}
