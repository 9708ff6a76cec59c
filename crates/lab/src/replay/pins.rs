//! The pins in force at each request, and a check that a view still shows them.

use context::TokenCounter;
use context::pin::{Directive, Origin, Pin, PinId, PinLimits, Pins, directives, intact};
use wire::session::Session;

use crate::options::ReplayError;

/// A pin and the requests it is in force for.
pub(super) struct PinSpan {
    pub pin: Pin,
    /// The turn that first says its text; `None`: in force from the start.
    pub since: Option<usize>,
    /// The turn that unpins it.
    pub until: Option<usize>,
    /// All turns whose showing keeps the pin intact, ascending, and whether they are system turns.
    said_in: Vec<(usize, Lasting)>,
}

/// The lifetime of a turn in the views.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    /// A system turn does.
    System,
    /// Any other leaves with its summary.
    UntilSummarised,
}

impl PinSpan {
    /// Returns true if the pin is in force for the request with this many turns.
    pub fn holds_at(&self, len: usize) -> bool {
        self.since.is_none_or(|since| since < len) && self.until.is_none_or(|until| until >= len)
    }

    /// Returns true if a turn that is shown, from `from` on, says the pin.
    pub fn is_shown(&self, from: usize, len: usize) -> bool {
        self.said_in
            .iter()
            .any(|&(turn, lasting)| turn < len && (turn >= from || lasting == Lasting::System))
    }
}

/// The pins of a session: the texts that were asked for, then the user's `#pin` lines.
///
/// # Errors
/// Where a text that was asked for can not be pinned. A `#pin` line that can not be is ignored, as it
/// would be live.
pub(super) fn spans(
    session: &Session,
    texts: &[String],
    (limits, counter): (PinLimits, &dyn TokenCounter),
) -> Result<Vec<PinSpan>, ReplayError> {
    let mut pins = Pins::with_limits(limits);
    let mut spans: Vec<PinSpan> = Vec::new();
    for text in texts {
        pins.add(text, Origin::Api, None, counter)?;
    }
    let asked: Vec<Pin> = pins.iter().cloned().collect();
    for pin in asked {
        let said_in = said_in(session, &pin.text);
        let since = said_in.first().map(|&(turn, _)| turn);
        spans.push(PinSpan {
            pin,
            since,
            until: None,
            said_in,
        });
    }
    for (index, turn) in session.turns.iter().enumerate() {
        for directive in directives(turn) {
            let Ok(id) = pins.obey(&directive, turn.at(), counter) else {
                continue;
            };
            match directive {
                Directive::Pin(_) => spans.extend(new_span(session, &pins, id, index, &spans)),
                Directive::Unpin(_) => {
                    let open = spans
                        .iter_mut()
                        .find(|span| span.pin.id == id && span.until.is_none());
                    if let Some(span) = open {
                        span.until = Some(index);
                    }
                }
            }
        }
    }
    Ok(spans)
}

fn new_span(
    session: &Session,
    pins: &Pins,
    id: PinId,
    index: usize,
    spans: &[PinSpan],
) -> Option<PinSpan> {
    let known = |span: &PinSpan| span.pin.id == id && span.until.is_none();
    if spans.iter().any(known) {
        return None;
    }
    let pin = pins.get(id)?.clone();
    let said_in = said_in(session, &pin.text);
    Some(PinSpan {
        pin,
        since: Some(index),
        until: None,
        said_in,
    })
}

/// The turns that say a text where it counts as intact.
fn said_in(session: &Session, text: &str) -> Vec<(usize, Lasting)> {
    session
        .turns
        .iter()
        .enumerate()
        .filter(|(_, turn)| intact(text, std::slice::from_ref(turn)))
        .map(|(index, turn)| {
            let lasting = if turn.role() == context::Role::System {
                Lasting::System
            } else {
                Lasting::UntilSummarised
            };
            (index, lasting)
        })
        .collect()
}
