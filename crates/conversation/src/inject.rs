//! Adds what is said beside the client's words: pins that nothing shown says, identifiers that a summary
//! does not name, and the note about the agent's memory.

use context::note::{Removed, RuntimeContext};
use context::pin::{Origin, Pin};
use context::{Role, Text, TokenCounter, Tokens, Turn};
use history::{Change, Edition};

use crate::answer::FRAME;
use crate::batch::Batch;
use crate::conversation::Conversation;
use crate::flight::Flight;
use crate::homunculus::Extent;
use crate::incoming::Incoming;
use crate::originals;
use crate::overlay::added_text;
use crate::rewrite::{self, Addition};
use crate::words::Did;

/// Nothing is added to a body that is within this many bytes of the provider's limit.
const ROOM: usize = 1 << 20;

/// The most entries of a receipt that a note quotes.
const TOLD: usize = 3;

/// The tokens of what was added to a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Added {
    /// The notes, as they are written. The view's size has the pins already.
    pub notes: Tokens,
    /// The text that the view gained.
    pub own: Own,
}

/// Text of the gateway's in a view, behind the client's words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Own {
    /// The part that stays.
    pub stays: Tokens,
    /// The part that the provider takes out again when the user's next message comes.
    pub clears: Tokens,
}

impl Own {
    fn add(&mut self, addition: &Addition, incoming: &Incoming<'_>) {
        let tokens = added_tokens(&addition.change, &incoming.model.counter());
        match rewrite::clears(&addition.change) {
            true => self.clears += tokens,
            false => self.stays += tokens,
        }
    }
}

impl Conversation {
    /// The tokens of the gateway's own text that stays behind the client's words in the view of a request.
    pub(crate) fn own_in_view(&mut self, flight: &Flight) -> Tokens {
        let from = flight.shown.from;
        if let Some((_, own)) = self.flights.own.filter(|&(of, _)| of == from) {
            return own;
        }
        let overlay = self.overlay.iter();
        let shown = overlay.flat_map(|overlay| overlay.changes_from(from));
        let stays = shown.filter(|change| !rewrite::clears(change));
        let counter = flight.model().counter();
        let own = stays.map(|change| added_tokens(change, &counter)).sum();
        self.flights.own = Some((from, own));
        own
    }

    /// Brings the size of the view up to date, before something is added to it. Returns true if no report of the
    /// provider tells it: it shows another part of the conversation than before, or is the first that this model gets.
    pub(crate) fn settle_size(&mut self, flight: &Flight) -> bool {
        let is_first = flight.turns.new > 0 && self.flights.noted != flight.turns.number;
        let cleared = match is_first {
            true => std::mem::take(&mut self.flights.clearing),
            // The same request again has the note that it had.
            false => Tokens::ZERO,
        };
        if !self.supervisor.machine.is_estimate() {
            self.supervisor.machine.clear_note(cleared);
            return false;
        }
        let (len, shown) = (flight.turns.len, &flight.shown);
        let (mut size, own) = match self.terms.is_on() {
            true => {
                let pins = self.overlay.as_ref().map(|overlay| &overlay.pins);
                let pins = pins.map_or(Tokens::ZERO, |pins| flight.model().counter().count(pins));
                let own = self.own_in_view(flight) + self.flights.clearing + pins;
                (self.said.whole.view(shown, &self.said_path(len)), own)
            }
            false => (self.said.whole.view(shown, &self.path(len)), Tokens::ZERO),
        };
        size.known += own;
        self.supervisor.machine.estimate(size, own);
        true
    }

    /// Adds what is due to a request that is about to be sent.
    pub(crate) fn inject(
        &mut self,
        incoming: &Incoming<'_>,
        flight: &Flight,
        (shown, batch, did): (Extent, &mut Batch, &mut Vec<Did>),
    ) -> Added {
        let overlay = self.overlay.as_ref();
        if flight.swapped && overlay.is_some_and(|overlay| !overlay.pins.is_empty()) {
            did.push(Did::Pinned);
        }
        let mut additions = Vec::new();
        let mut added = Added::default();
        let restated = self.pins.restated();
        let text = self.pins.restate(shown.from);
        if !text.is_empty() {
            match rewrite::restate(incoming.request, &text) {
                Some(addition) => {
                    did.push(Did::Pinned);
                    additions.push(addition);
                }
                // There is no place for them in this request; the next one restates them.
                None => self.pins.restated_only(restated),
            }
        }
        if let Some((addition, ledger)) = self.ledger_for(incoming, flight, shown) {
            self.flights.beside.ledger = Text::default();
            added.notes += ledger;
            additions.push(addition);
        }
        if self.terms.notes
            && self.is_note_due(incoming, flight, shown)
            && let Some((addition, note)) = self.note_for(incoming, flight, (shown, added.notes))
        {
            did.push(Did::Noted);
            self.flights.noted = flight.turns.number;
            added.notes += note;
            additions.push(addition);
        }
        for addition in &additions {
            added.own.add(addition, incoming);
        }
        if let Some((_, own)) = &mut self.flights.own {
            *own += added.own.stays;
        }
        for Addition { message, change } in additions {
            let turn = self.id_before(message + 1);
            let overlay = self.overlay.get_or_insert_default();
            overlay.add(message, change.clone());
            batch.editions.push(Edition {
                turn,
                change,
                at: incoming.now,
            });
        }
        added
    }

    /// The ledger behind a provider's own summary, and its tokens. It waits for a later request where this one has no
    /// place for it, or no room: without an answer, nothing of it would be of use.
    fn ledger_for(
        &self,
        incoming: &Incoming<'_>,
        flight: &Flight,
        shown: Extent,
    ) -> Option<(Addition, Tokens)> {
        let addition = rewrite::restate(incoming.request, &self.flights.beside.ledger)?;
        let tokens = tokens_of(&addition, incoming);
        let view = self.view_size(&shown, flight.turns.len);
        self.has_room(view + tokens).then_some((addition, tokens))
    }

    /// True if a view of this size leaves room for the answer.
    fn has_room(&self, view: Tokens) -> bool {
        view <= self.supervisor.machine.limits().room()
    }

    /// Decides if the agent is told the state of its memory: with a user's new words once there was
    /// an answer, after a swap, and when the view crosses the soft threshold. A repeated request
    /// gets no new note.
    fn is_note_due(&mut self, incoming: &Incoming<'_>, flight: &Flight, shown: Extent) -> bool {
        let room = self.terms.longest_body.saturating_sub(ROOM);
        if self.flights.noted == flight.turns.number
            || flight.turns.new == 0
            || incoming.request.body().len() > room
        {
            return false;
        }
        let newest = flight.newest();
        let is_spoken = newest.is_some_and(|turn: &Turn| turn.role() == Role::User);
        let view = self.view_size(&shown, flight.turns.len);
        let window = self.supervisor.machine.limits().window;
        let is_soft = view >= window.scaled(self.supervisor.soft);
        let told = std::mem::take(&mut self.flights.tell);
        (is_spoken && flight.turns.len > 2) || told || (is_soft && !self.flights.was_soft)
    }

    /// The note about the agent's own memory, and its tokens. `added` is what the request got besides.
    fn note_for(
        &self,
        incoming: &Incoming<'_>,
        flight: &Flight,
        (shown, added): (Extent, Tokens),
    ) -> Option<(Addition, Tokens)> {
        let len = flight.turns.len;
        let path = self.path(len);
        let view = self.view_size(&shown, len) + added;
        // The note may stand in the operator's role, and what the agent pinned has no such authority.
        let label = |pin: &Pin| match pin.origin {
            Origin::Agent => format!("set by you: {}", pin.text),
            _ => pin.text.to_string(),
        };
        let labels: Vec<String> = self.pins.iter().map(label).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let expands = originals::offers(incoming.request, "expand");
        let last = shown.from;
        let recover = match expands {
            true => &format!("the tools lost, recall, and expand with turn:1 to turn:{last}"),
            false => "ask the user, or read the files and run the commands again",
        };
        let lost = match flight.swapped {
            true => self.left_out(expands),
            false => Vec::new(),
        };
        let removed = (shown.from > 0).then(|| Removed {
            turns: shown.from,
            tokens: path.covered(shown.from),
            recover,
            lost: &lost,
        });
        let id = self.id().to_string();
        let mut facts = RuntimeContext {
            now: Some(incoming.now),
            last_message: flight.after,
            used: Some(view),
            window: Some(self.supervisor.machine.limits().window),
            compactions: Some(self.record.standing.compactions),
            removed,
            pins: (!labels.is_empty()).then_some(labels.as_slice()),
            conversation: expands.then_some(id.as_str()),
            branch: None,
        };
        // It is part of the view that it tells the size of.
        let note = rewrite::note(incoming.request, &incoming.model, &facts)?;
        facts.used = Some(view + tokens_of(&note, incoming));
        let note = rewrite::note(incoming.request, &incoming.model, &facts)?;
        // The note must not take the room of the answer: that would end the agent's work to tell it of it.
        let tokens = tokens_of(&note, incoming);
        self.has_room(view + tokens).then_some((note, tokens))
    }

    /// The losses of the summary just swapped in that no pin says, the most needed first.
    fn left_out(&self, expands: bool) -> Vec<String> {
        let lines = self.flights.beside.lost.lines();
        let said = lines.filter_map(|line| {
            let (_, what) = line.split_once(' ')?;
            let (_, text) = what.split_once(": ")?;
            let is_pinned = self.pins.iter().any(|pin| pin.text.contains(text));
            (!is_pinned).then_some(if expands { line } else { what })
        });
        said.take(TOLD).map(str::to_owned).collect()
    }
}

fn tokens_of(addition: &Addition, incoming: &Incoming<'_>) -> Tokens {
    added_tokens(&addition.change, &incoming.model.counter())
}

/// The tokens of a text that is added; with a frame, where it is a message of its own.
fn added_tokens(change: &Change, counter: &dyn TokenCounter) -> Tokens {
    let frame = match change {
        Change::Followed(_) => FRAME,
        Change::Appended(_) | Change::Shrunk { .. } => Tokens::ZERO,
    };
    let text = added_text(change);
    text.map_or(Tokens::ZERO, |text| counter.count(&text) + frame)
}
