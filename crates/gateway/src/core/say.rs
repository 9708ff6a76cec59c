//! What is said beside the client's words: pins that nothing shown says, identifiers that a summary does not
//! name, and the note.

use context::note::{Removed, RuntimeContext};
use conversation::homunculus::Shown;
use history::Edition;
use jiff::SignedDuration;

use super::Inner;
use super::call::Call;
use super::keep::Keep;
use super::live::Live;
use super::ticket::Flight;
use crate::rewrite;
use crate::words::Did;

/// Beside a body this near to the largest that providers take, nothing is said of our own accord.
const ROOM: usize = 1 << 20;

impl Inner {
    /// What is said beside the client's words: pins that nothing shown says, and the note.
    pub(super) fn add_pins_and_note(
        &self,
        call: &Call<'_>,
        flight: &Flight,
        live: &mut Live,
        (shown, keep, did): (Shown, &mut Keep, &mut Vec<Did>),
    ) {
        if live
            .dress
            .as_ref()
            .is_some_and(|dress| !dress.front.pins.is_empty() && flight.swapped)
        {
            did.push(Did::Pinned);
        }
        let mut additions = Vec::new();
        let text = live.pins.restate(shown.from);
        if !text.is_empty() {
            match rewrite::restate(call.request, &text) {
                Some(addition) => {
                    did.push(Did::Pinned);
                    additions.push(addition);
                }
                // Where they can not be said now, they are said with the next request.
                None => live.pins.forget_restated(),
            }
        }
        let ledger = std::mem::take(&mut live.flights.ledger);
        match rewrite::restate(call.request, &ledger) {
            Some(addition) => additions.push(addition),
            // As with pins; where there is none, nothing is kept.
            None => live.flights.ledger = ledger,
        }
        if self.parts.config.policy.notes && self.is_note_due(flight, live, shown) {
            let addition = noted(call, live, shown, flight.joined.len);
            if let Some(addition) = addition {
                did.push(Did::Noted);
                live.flights.noted = flight.joined.number;
                additions.push(addition);
            }
        }
        for addition in additions {
            let turn = live.id_before(addition.message + 1);
            let dress = live.dress.get_or_insert_default();
            dress.add(addition.message, addition.change.clone());
            keep.editions.push(Edition {
                turn,
                change: addition.change,
                at: call.now,
            });
        }
    }

    /// With a user's new words once there was an answer, after a swap, and when the soft threshold is
    /// crossed. Not when the same request comes again or is sent once more.
    fn is_note_due(&self, flight: &Flight, live: &mut Live, shown: Shown) -> bool {
        let room = self.parts.config.limits.body.saturating_sub(ROOM);
        if live.flights.noted == flight.joined.number
            || flight.joined.new == 0
            || flight.arrival.body.len() > room
        {
            return false;
        }
        let len = flight.joined.len;
        let newest = flight.joined.newest.as_ref();
        let spoken = newest.is_some_and(|turn| turn.role() == context::Role::User);
        let (_, view) = live.sizes(shown, len);
        let limits = live.supervisor.machine.limits();
        let crossed = view >= limits.window.scaled(live.supervisor.soft) && !live.flights.was_soft;
        let told = std::mem::take(&mut live.flights.tell);
        (spoken && len > 2) || told || crossed
    }
}

/// The note about the agent's own state.
fn noted(call: &Call<'_>, live: &Live, shown: Shown, len: usize) -> Option<rewrite::Addition> {
    let path = live.path(len);
    let (_, view) = live.sizes(shown, len);
    let labels: Vec<&str> = live.pins.iter().map(|pin| pin.text.as_str()).collect();
    let removed = (shown.from > 0).then(|| Removed {
        turns: shown.from,
        tokens: path.covered(shown.from),
        recover: "ask the user, or read the files and run the commands again",
    });
    let last = live.journal.last().map(|sent| sent.at);
    let last = last.and_then(|at| {
        let since = SignedDuration::from_millis(i64::try_from(at).ok()?);
        live.record.began.checked_add(since).ok()
    });
    let facts = RuntimeContext {
        now: Some(call.now),
        last_message: last,
        used: Some(view),
        window: Some(live.supervisor.machine.limits().window),
        compactions: Some(live.record.standing.compactions),
        removed,
        pins: (!labels.is_empty()).then_some(labels.as_slice()),
        branch: None,
    };
    rewrite::note(call.request, &call.model, &facts)
}
