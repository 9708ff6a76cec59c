//! Event streams put together to replies.

use std::fmt;

use super::Dialect;
use super::error::ApiError;
use super::json::tree::{Tree, Value};
use super::limits::DEEPEST;
use super::reply::Reply;
use super::sse::Event;

/// Puts the events of one answer together. The result is the [`Reply`] that the same answer gives as
/// a body. For a stream that is cut, it is what came before the cut.
///
/// Unknown events, deltas and members are skipped or kept as they are;
/// nothing stops it.
pub struct Accumulator {
    stream: Box<dyn Stream>,
    complete: bool,
}

/// A stream of one dialect, as far as it has come.
pub(super) trait Stream: Send + Sync {
    /// Takes an event of the type `kind` with the data `root`.
    fn accept(&mut self, kind: &str, root: Value<'_>) -> Progress;
    /// The reply so far.
    fn reply(&self) -> Reply;
}

/// The state of a stream after an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Going,
    Complete,
}

impl fmt::Debug for Accumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accumulator")
            .field("complete", &self.complete)
            .finish_non_exhaustive()
    }
}

impl Accumulator {
    /// Starts an answer in `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            stream: (dialect.table().replies.stream)(),
            complete: false,
        }
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// The data is not JSON. The event is skipped, and the next one can be taken.
    pub fn accept(&mut self, event: &Event) -> Result<(), ApiError> {
        if event.data == "[DONE]" {
            self.complete = true;
            return Ok(());
        }
        let tree = Tree::parse(&event.data, DEEPEST).map_err(|fault| ApiError::Event {
            event: event.name.chars().take(64).collect(),
            source: Box::new(fault.in_body(event.data.as_bytes())),
        })?;
        let root = tree.root();
        let kind = root.get_text("type");
        let kind = kind.as_deref().unwrap_or(&event.name);
        let progress = self.stream.accept(kind, root);
        self.complete |= progress == Progress::Complete;
        Ok(())
    }

    /// Returns `true` after the last event or an error event.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// The answer, as far as it has come.
    #[must_use]
    pub fn reply(&self) -> Reply {
        self.stream.reply()
    }
}

/// The number under `key`, or zero.
pub(super) fn index(root: Value<'_>, key: &str) -> u64 {
    root.get(key).and_then(Value::whole).unwrap_or_default()
}

/// The string under `key`, where there is one and it is not empty.
pub(super) fn text(root: Value<'_>, key: &str) -> Option<String> {
    let text = root.get_text(key).filter(|text| !text.is_empty())?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests;
