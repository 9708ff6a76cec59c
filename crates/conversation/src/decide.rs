//! From a request to what is sent.

use context::Tokens;
use history::{Change, Owner, Route};
use jiff::Timestamp;

use crate::batch::Batch;
use crate::conversation::{Conversation, Decision};
use crate::effect::{Effect, Hold, Notice, Order, Sending, Start};
use crate::flight::{Flight, Margin};
use crate::homunculus::{Command, Extent, Path, Refusal};
use crate::incoming::Incoming;
use crate::inject::{Added, Own};
use crate::journal::{Happened, Sent};
use crate::overlay::pins_key;
use crate::rewrite::{ClientCompaction, may_ask};
use crate::terms::Mode;
use crate::words::Did;

/// The share of the window that stays verbatim behind a summary that is ordered.
const KEEP: f64 = 0.05;

/// A request as it goes out.
pub(crate) struct Ready {
    pub sending: Sending,
    /// Changes to store.
    pub batch: Batch,
}

impl Conversation {
    /// Decides about a request: one [`Effect::Send`], [`Effect::Hold`] or [`Effect::Overtaken`], and what
    /// has to be done before.
    pub(crate) fn ask(
        &mut self,
        incoming: &Incoming<'_>,
        flight: &mut Flight,
        now: Timestamp,
    ) -> Vec<Effect> {
        match self.decide(incoming, flight, now) {
            Decided::Overtaken => vec![Effect::Overtaken],
            Decided::Held(effects) => effects,
            Decided::Ready(ready, prepare) => self.departing(*ready, flight, prepare),
        }
    }

    /// Asks the supervisor.
    pub(crate) fn decide(
        &mut self,
        incoming: &Incoming<'_>,
        flight: &mut Flight,
        now: Timestamp,
    ) -> Decided {
        if !self.leads_to(flight.turns.len, flight.turns.head) {
            return Decided::Overtaken;
        }
        let ordered = self.obey(now);
        let decision = self
            .ask_machine(incoming, flight.turns.len, now)
            .and(ordered);
        self.count(&decision, flight);
        if let Some(shown) = decision.send {
            let shortened = self.leave_room(incoming, flight);
            let mut ready = self.ready(incoming, flight, shown);
            ready.batch.editions.extend(shortened);
            return Decided::Ready(Box::new(ready), decision.prepare);
        }
        flight.waited = true;
        if self.terms.is_on() {
            flight.did.push(Did::Waited);
        }
        let running = decision.prepare.or(self.supervisor.job);
        let mut effects = Vec::new();
        effects.extend(
            decision
                .prepare
                .map(|order| Effect::Prepare(order, Start::Now)),
        );
        effects.push(Effect::Hold(match decision.until {
            _ if running.is_some_and(|order| order.route == Route::Extractive) => Hold::OnTheSpot,
            Some(until) => Hold::Until(until),
            None => Hold::Ready,
        }));
        Decided::Held(effects)
    }

    /// Notes what a decision did to a request.
    fn count(&mut self, decision: &Decision, flight: &mut Flight) {
        let (swapped, preparing) = match self.terms.mode {
            Mode::On => (Did::Swapped, Did::Preparing),
            Mode::Observe => (Did::WouldSwap, Did::WouldPrepare),
        };
        if decision.swapped || decision.reduced {
            flight.did.push(swapped);
            flight.swapped = true;
        }
        if decision.undone && self.terms.is_on() {
            flight.did.push(Did::Undone);
            flight.swapped = true;
        }
        if decision.prepare.is_some() {
            flight.did.push(preparing);
        }
        if decision.swapped && self.terms.is_on() {
            self.tell_of_swap();
        }
    }

    pub(crate) fn tell_of_swap(&mut self) {
        let mark = self.overlay.as_ref();
        if let Some(mark) = mark.and_then(|overlay| overlay.mark.as_ref()) {
            let route = mark.route;
            self.tell_outside(Notice::Swapped(route));
        }
    }

    /// The effects that send a request.
    pub(crate) fn departing(
        &mut self,
        ready: Ready,
        flight: &mut Flight,
        prepare: Option<crate::homunculus::Preparation>,
    ) -> Vec<Effect> {
        let Ready { sending, batch } = ready;
        let mut effects = Vec::new();
        if flight.swapped && !batch.is_empty() {
            // The swap's batch refers to turns that this request brings, so both are stored together.
            let mut first = flight.take_pending().unwrap_or_default();
            first.add(batch);
            effects.push(Effect::Store(first));
        } else {
            // Nothing that was sent before looks different: it can be stored with the answer.
            flight.add_pending(batch);
        }
        effects.push(Effect::Send(sending));
        effects.extend(prepare.map(|order| {
            let start = match order.route {
                Route::Extractive => Start::Now,
                Route::Native | Route::Readable => Start::WithAnswer,
            };
            Effect::Prepare(order, start)
        }));
        effects
    }

    /// The request goes out like this.
    pub(crate) fn ready(
        &mut self,
        incoming: &Incoming<'_>,
        flight: &mut Flight,
        shown: Extent,
    ) -> Ready {
        let (len, is_on) = (flight.turns.len, self.terms.is_on());
        let mut did = std::mem::take(&mut flight.did);
        let mut batch = Batch::default();
        let mut added = Added::default();
        let changes = self.pins.take_changes();
        if is_on && !changes.is_empty() {
            (batch.pins, batch.unpinned) = (changes.set, changes.removed);
            batch.conversation = Some(self.to_record());
        }
        flight.shown = shown;
        let is_estimate = self.settle_size(flight);
        if is_on {
            // Before the view is made: it shows what is added here.
            added = self.inject(incoming, flight, (shown, &mut batch, &mut did));
            if flight.swapped {
                batch.conversation = Some(self.to_record());
                if let Some(overlay) = &self.overlay
                    && !overlay.pins.is_empty()
                {
                    let key = pins_key(self.record.id, self.record.standing.compactions);
                    let of = Owner::Conversation(self.record.id);
                    batch.texts.push((of, key, overlay.pins.clone()));
                }
            }
        }
        let view = self.view(shown, len);
        let new = added.own.stays + added.own.clears;
        self.flights.clearing += added.own.clears;
        added.own.clears = self.flights.clearing;
        flight.margin.added = added.own;
        if is_on {
            // What the provider takes out again is there only if it came with this request.
            flight.margin.own = self.own_in_view(flight) + added.own.clears;
        }
        // A streamed chat may bring no usage, so the note has to count without a report.
        let machine = &mut self.supervisor.machine;
        machine.add_note(if is_estimate { new } else { added.notes });
        let (unchanged, tokens) = (self.whole_size(len), self.view_size(&shown, len));
        self.said
            .whole
            .send(&Path::new(&self.said.outline, len, &[]));
        let window = self.supervisor.machine.limits().window;
        self.flights.was_soft = tokens >= window.scaled(self.supervisor.soft);
        flight.before = self.journal.last();
        let is_on = self.terms.is_on();
        let sent = self.sent_of((unchanged, tokens));
        flight.margin.view = sent;
        self.journal.sent(Sent::new(
            incoming.now.duration_since(self.record.began),
            (sent, unchanged),
            flight.swapped && is_on,
        ));
        if is_on && flight.swapped && !flight.waited && shown != Extent::default() {
            self.record.totals.stalls_avoided += 1;
        }
        flight.margin.said = unchanged;
        flight.margin.spared = self.said_path(len).spared();
        if is_on {
            let is_reduced = shown.mark.is_some() || shown.from > 0 || shown.cleared > 0;
            if is_reduced && !did.contains(&Did::Swapped) {
                did.push(Did::Compacted);
            }
            let newest = len.saturating_sub(flight.turns.new);
            let mut changes = view.changes.iter().filter(|&&(index, _)| index >= newest);
            if changes.any(|(_, change)| matches!(change, Change::Shrunk { .. })) {
                did.push(Did::Shrunk);
            }
            if std::mem::take(&mut self.flights.pin_refused) {
                did.push(Did::PinRefused);
            }
        }
        if did.is_empty() && is_on && !view.is_plain() {
            did.push(Did::Replayed);
        }
        let sending = self.sending(incoming, (view, shown), (sent, did));
        Ready { sending, batch }
    }

    /// A view to be sent; in observe mode, the request as it came.
    pub(crate) fn sending(
        &mut self,
        incoming: &Incoming<'_>,
        (mut view, shown): (crate::view::View, Extent),
        (tokens, mut did): (context::Tokens, Vec<Did>),
    ) -> Sending {
        let is_changed = self.terms.is_on() && !view.is_plain();
        if self.terms.is_on() {
            // Last: they stand where the view as it is now ends.
            self.place_breakpoints(incoming, &mut view, (shown, tokens));
            did.extend((!view.breakpoints.is_empty()).then_some(Did::Marked));
        }
        if did.is_empty() {
            did.push(Did::Kept);
        }
        did.sort_unstable();
        did.dedup();
        let asks = is_changed
            && self.terms.diagnose
            && incoming.model.provider == tokens::Provider::Anthropic
            && may_ask(incoming.request);
        Sending {
            previous: self.flights.answer.clone().filter(|_| asks),
            view: match self.terms.mode {
                Mode::On => view,
                Mode::Observe => Default::default(),
            },
            tokens,
            did,
        }
    }

    /// The client compacts with this request, and it is sent on. Ours stands back: both never run at once.
    pub(crate) fn yield_to(
        &mut self,
        incoming: &Incoming<'_>,
        (own, flight): (&ClientCompaction, &mut Flight),
        now: Timestamp,
    ) -> Vec<Effect> {
        flight.compacts(self.record.id);
        let happened = Happened::OwnCompaction(own.client, false);
        self.journal.note(now, happened);
        self.command(Command::Abandon, now);
        let shown = self.supervisor.machine.shown();
        let len = flight.turns.len;
        let (unchanged, tokens) = (self.whole_size(len), self.view_size(&shown, len));
        flight.shown = shown;
        let view = self.view(shown, flight.turns.len);
        let sent = self.sent_of((unchanged, tokens));
        flight.margin = Margin {
            said: unchanged,
            view: sent,
            spared: self.said_path(len).spared(),
            own: match self.terms.is_on() {
                true => self.own_in_view(flight) + self.flights.clearing,
                false => Tokens::ZERO,
            },
            added: Own {
                clears: self.flights.clearing,
                ..Own::default()
            },
        };
        vec![Effect::Send(self.sending(
            incoming,
            (view, shown),
            (sent, vec![Did::Yielded]),
        ))]
    }

    /// Takes an order; it is carried out with the next request, which brings what it takes.
    pub(crate) fn order(&mut self, order: Order) -> Vec<Effect> {
        let machine = &self.supervisor.machine;
        let refusal = match order {
            _ if self.observes() => Some(Refusal::Observing),
            Order::Prepare | Order::Swap if machine.stopped().is_some() => Some(Refusal::Stopped),
            Order::Swap if machine.ready().is_none() => Some(Refusal::NothingReady),
            Order::Prepare if machine.preparing().is_some() => Some(Refusal::AlreadyPreparing),
            Order::Redo if !machine.may_redo() => Some(Refusal::NothingDone),
            Order::Undo => machine.may_undo(&self.path(self.len())).err(),
            Order::Prepare | Order::Swap | Order::Redo => None,
        };
        if let Some(refusal) = refusal {
            return vec![Effect::Refuse(refusal)];
        }
        self.flights.order = Some(order);
        Vec::new()
    }

    /// Gives the supervisor what was ordered. Its decision is for the request that is about to be sent.
    fn obey(&mut self, now: Timestamp) -> Decision {
        let Some(order) = self.flights.order.take() else {
            return Decision::default();
        };
        let (decision, refusal) = match (order, self.as_command(order)) {
            (Order::Undo | Order::Redo, _) => self.take_back(order, now),
            (_, Some(command)) => self.command(command, now),
            (_, None) => (Decision::default(), Some(Refusal::IllegalCut)),
        };
        if let Some(refusal) = refusal {
            self.journal.note(now, Happened::Held(refusal.to_string()));
        }
        decision
    }

    fn as_command(&self, order: Order) -> Option<Command> {
        let path = self.path(self.len());
        let limits = self.supervisor.machine.limits();
        match order {
            Order::Undo | Order::Redo => None,
            Order::Swap => Some(Command::Swap),
            Order::Prepare => {
                let route = self.supervisor.route;
                let cut = match route {
                    Route::Native => path.ends_whole().then_some(path.len()),
                    Route::Readable | Route::Extractive => {
                        path.cut_keeping(limits.window.scaled(KEEP))
                    }
                };
                Some(Command::Prepare {
                    cut: cut?,
                    room: limits.for_summary(),
                    route,
                })
            }
        }
    }
}

/// The supervisor's answer.
pub(crate) enum Decided {
    /// The conversation went elsewhere.
    Overtaken,
    /// The request is held.
    Held(Vec<Effect>),
    /// The request goes out, and a summary may be begun.
    Ready(Box<Ready>, Option<crate::homunculus::Preparation>),
}
