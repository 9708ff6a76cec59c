//! From a request to the bytes that are sent.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use context::{Tokens, Turn};
use conversation::homunculus::hosted::StrategyFailure;
use conversation::homunculus::{Preparation, Shown};
use history::{Change, ConversationId, Route};
use jiff::Timestamp;
use model::Shows;
use tokio::time::timeout;
use wire::api::{Dialect, Request};

use super::call::Call;
use super::dress::{Look, pins_key};
use super::exchange::{Arrival, Outgoing, Verdict};
use super::identity::Keys;
use super::journal::{Happened, Sent};
use super::keep::Keep;
use super::live::{Decision, Live};
use super::prepare::{AsSent, Source};
use super::recall::{Element, Head, Reader};
use super::ticket::{Flight, Ticket};
use super::{Inner, writer::StoreFailure};
use crate::config::Mode;
use crate::rewrite::{self, RewriteError, beta, betas, may_ask, render_asking};
use crate::words::Did;

/// How long a request waits at most for a summary that is made without a model.
pub(super) const ON_THE_SPOT: std::time::Duration = std::time::Duration::from_secs(30);

/// Why a request is sent as it came though the core looked into it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The store failed and something that must be shown is not known.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The bytes can not be made.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

/// What was decided about a request.
pub(super) struct Decided {
    /// How it is shown.
    pub look: Look,
    /// The size of the view.
    pub tokens: Tokens,
    /// What was done.
    pub did: Vec<Did>,
    /// What must be kept before it is sent.
    pub keep: Keep,
    /// The summary to make.
    pub prepare: Option<Preparation>,
}

impl Inner {
    /// Decides about a request for the next message.
    pub(super) async fn generate(
        self: &Arc<Self>,
        arrival: Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Verdict {
        let body = arrival.body.clone();
        let Some((request, elements)) = self.read(&arrival, dialect, &body) else {
            return Verdict::Send(as_it_came(arrival.body, Did::Passed), Ticket::default());
        };
        if let Some(direct) = rewrite::refuse_thread(&request) {
            return Verdict::Answer(direct);
        }
        if is_held_elsewhere(&request) || request.is_empty() {
            return Verdict::Send(as_it_came(arrival.body, Did::Passed), Ticket::default());
        }
        let call = self.call(&arrival, &request, elements, now);
        let joined = match self.join(&call).await {
            Ok(joined) => joined,
            Err(failure) => return self.failed(body.clone(), &failure.into()),
        };
        let flight = Flight::new(Arc::clone(self), &arrival, &call, joined);
        let newest = flight.joined.newest.as_ref().map(Turn::parts);
        let own = rewrite::own_compaction_read(&arrival.target, &request, newest);
        // What the provider does from some size on is a request like any other.
        if let Some(own) = own.filter(|own| !matches!(own.wants, rewrite::Wants::Later(_))) {
            return self.own_compaction(&call, flight, &own, body.clone()).await;
        }
        self.depart(&call, flight, body.clone()).await
    }

    /// Decides how a request is shown and makes its bytes.
    async fn depart(self: &Arc<Self>, call: &Call<'_>, mut flight: Flight, body: Bytes) -> Verdict {
        let decided = self.decided(call, &mut flight).await;
        match self.outgoing(call, &mut flight, decided, &body).await {
            Ok(outgoing) => Verdict::Send(outgoing, Ticket::of(flight)),
            Err(fault) => {
                let why = Happened::NotRewritten(fault.to_string());
                flight.joined.shared.lock().journal.note(call.now, why);
                let Verdict::Send(mut outgoing, _) = self.failed(body, &fault) else {
                    return Verdict::Send(as_it_came(Bytes::new(), Did::Failed), Ticket::default());
                };
                outgoing.conversation = Some(flight.joined.shared.id);
                Verdict::Send(outgoing, Ticket::of(flight))
            }
        }
    }

    /// The bytes for a decision, after what they need is kept.
    ///
    /// # Errors
    /// Where the bytes can not be made.
    pub(super) async fn outgoing(
        self: &Arc<Self>,
        call: &Call<'_>,
        flight: &mut Flight,
        decided: Decided,
        body: &Bytes,
    ) -> Result<Outgoing, Fault> {
        let Decided {
            look,
            tokens,
            did,
            keep,
            prepare,
        } = decided;
        let observed = self.parts.config.mode == Mode::Observe;
        let recipe = look.recipe();
        let changes = !observed && !look.is_plain();
        let previous = if changes && self.may_diagnose(call) {
            flight.joined.shared.lock().flights.answer.clone()
        } else {
            None
        };
        let sent = match changes {
            true => Bytes::from(render_asking(call.request, &recipe, previous.as_deref())?),
            false => body.clone(),
        };
        let mut betas = match observed {
            true => Vec::new(),
            false => betas(call.dialect(), &recipe),
        };
        betas.extend(previous.map(|_| beta::DIAGNOSIS));
        let extracts = prepare.is_some_and(|order| order.route == Route::Extractive);
        if flight.swapped || extracts {
            // What is written now stands on what this request brings.
            self.hand_over(&mut flight.joined);
        }
        if !keep.is_empty() && !flight.swapped {
            // Nothing that was sent before is shown otherwise: it can be kept with the answer.
            let pending = &mut flight.joined.pending;
            pending.get_or_insert_default().add(keep);
        } else if !keep.is_empty() {
            let size = keep.size();
            let work = keep.work();
            let receipt = self.writer.write_little(call.tenant, work, size).await;
            if let Err(failure) = receipt.kept().await {
                // It is still right in memory; only a restart would not know of it.
                self.not_kept(&flight.joined.shared, &failure, call.now);
                flight.joined.shared.lock().is_dress_unkept = true;
            }
        }
        if let Some(order) = prepare {
            let as_sent = AsSent {
                body: sent.clone(),
                betas: betas.clone(),
                shows: match look.shows_all() {
                    true => Shows::Originals,
                    false => Shows::Part,
                },
                tokens,
            };
            let source = Source::of(flight, Some(as_sent));
            if order.route == Route::Extractive {
                self.prepare(&flight.joined.shared, order, source);
            } else {
                // The provider's cache holds the request as soon as the answer begins.
                flight.prepare = Some((order, source));
            }
        }
        Ok(Outgoing {
            body: sent,
            betas,
            did,
            conversation: Some(flight.joined.shared.id),
            tokens: Some(tokens),
        })
    }

    /// Asks the supervisor until it lets the request go.
    pub(super) async fn decided(self: &Arc<Self>, call: &Call<'_>, flight: &mut Flight) -> Decided {
        let shared = Arc::clone(&flight.joined.shared);
        let mut did = Vec::new();
        let mut now = call.now;
        loop {
            let settled = shared.settled.notified();
            tokio::pin!(settled);
            // From here on no end of a preparation is missed.
            settled.as_mut().enable();
            let (decision, on_the_spot) = {
                let mut live = shared.lock();
                let joined = &flight.joined;
                if !live.leads_to(joined.len, joined.head) {
                    return overtaken(did);
                }
                let ordered = live.obey(now);
                let mut decision = live.ask(joined.len, now).and(ordered);
                did.extend(words(self.parts.config.mode, &decision));
                let pinning = live.flights.strategy_failed.take();
                for failure in pinning.into_iter().chain(decision.failed.take()) {
                    self.strategy_failed(live.record.id, &failure);
                }
                flight.swapped |= decision.swapped || decision.reduced;
                if decision.swapped && self.parts.config.mode == Mode::On {
                    self.count_swap(&live);
                }
                if let Some(shown) = decision.send {
                    return self.ready(call, flight, &mut live, (shown, decision, did));
                }
                let running = decision.prepare.map(|order| order.route);
                let running =
                    running.or_else(|| live.supervisor.job.as_ref().map(|job| job.order.route));
                (decision, running == Some(Route::Extractive))
            };
            if let Some(order) = decision.prepare {
                self.hand_over(&mut flight.joined);
                self.prepare(&shared, order, Source::of(flight, None));
            }
            if !did.contains(&Did::Waited) && self.parts.config.mode == Mode::On {
                did.push(Did::Waited);
            }
            flight.waited = true;
            match decision.until {
                _ if on_the_spot => drop(timeout(ON_THE_SPOT, settled).await),
                Some(until) => {
                    let wait = until.duration_since(now).max(jiff::SignedDuration::ZERO);
                    let wait = std::time::Duration::try_from(wait).unwrap_or_default();
                    drop(timeout(wait, settled).await);
                }
                None => settled.await,
            }
            now = (self.parts.clock)().max(now);
        }
    }

    /// The request goes out like this.
    fn ready(
        &self,
        call: &Call<'_>,
        flight: &mut Flight,
        live: &mut Live,
        (shown, decision, mut did): (Shown, Decision, Vec<Did>),
    ) -> Decided {
        let len = flight.joined.len;
        let mut keep = Keep::default();
        if self.parts.config.mode == Mode::On {
            self.add_pins_and_note(call, flight, live, (shown, &mut keep, &mut did));
            if flight.swapped {
                keep.conversation = Some(live.to_record());
                if let Some(dress) = &live.dress
                    && !dress.front.pins.is_empty()
                {
                    let key = pins_key(live.record.id, live.record.standing.compactions);
                    keep.texts.push((key, dress.front.pins.clone()));
                }
            }
        }
        let look = live.look(shown, len);
        let (unchanged, view) = live.sizes(shown, len);
        let soft = live
            .supervisor
            .machine
            .limits()
            .window
            .scaled(live.supervisor.soft);
        live.flights.was_soft = view >= soft;
        let since = call.now.duration_since(live.record.began).as_millis();
        let short = |tokens: Tokens| u32::try_from(tokens.get()).unwrap_or(u32::MAX);
        flight.before = live.journal.last();
        live.journal.sent(Sent {
            at: u64::try_from(since).unwrap_or(0),
            tokens: short(view),
            unchanged: short(unchanged),
            swapped: flight.swapped,
        });
        if flight.swapped && !flight.waited {
            live.record.totals.stalls_avoided += 1;
        }
        flight.shown = shown;
        flight.unchanged = unchanged;
        if self.parts.config.mode == Mode::On {
            let reduced = shown.mark.is_some() || shown.from > 0 || shown.cleared > 0;
            if reduced && !did.contains(&Did::Swapped) {
                did.push(Did::Compacted);
            }
            let newest = len.saturating_sub(flight.joined.new);
            let changes = look.changes.iter().filter(|&&(index, _)| index >= newest);
            let mut changes = changes.map(|(_, change)| change);
            if changes.any(|change| matches!(change, Change::Shrunk { .. })) {
                did.push(Did::Shrunk);
            }
        }
        if std::mem::take(&mut live.flights.pin_refused) && self.parts.config.mode == Mode::On {
            did.push(Did::PinRefused);
        }
        if did.is_empty() {
            let changed = self.parts.config.mode == Mode::On && !look.is_plain();
            did.push(if changed { Did::Replayed } else { Did::Kept });
        }
        did.sort_unstable();
        did.dedup();
        Decided {
            look,
            tokens: view,
            did,
            keep,
            prepare: decision.prepare,
        }
    }

    /// Reads a body, except what an earlier request of its conversation had in the same place.
    pub(super) fn read<'b>(
        &self,
        arrival: &Arrival,
        dialect: Dialect,
        body: &'b [u8],
    ) -> Option<(Request<'b>, Vec<Element>)> {
        let head = Head {
            tenant: arrival.tenant,
            dialect,
        };
        let mut reader = Reader::new(self.keyed, &self.heads, head);
        let limits = wire::api::Limits::default();
        let request = Request::parse_recalling(dialect, body, limits, &mut reader).ok()?;
        Some((request, reader.elements()))
    }

    /// A request as the core reads it.
    pub(super) fn call<'r>(
        &self,
        arrival: &'r Arrival,
        request: &'r Request<'r>,
        elements: Vec<Element>,
        now: Timestamp,
    ) -> Call<'r> {
        let name = context::Text::from(request.model().unwrap_or_default().into_owned());
        Call {
            tenant: arrival.tenant,
            url: &arrival.url,
            request,
            headers: &arrival.headers,
            keys: Keys::of(self.keyed, request, &elements),
            elements: elements.into(),
            model: self.models.find(&name),
            name,
            now,
            read: OnceLock::new(),
        }
    }

    /// The default goes on in this conversation; whoever runs the gateway has to know.
    pub(super) fn strategy_failed(&self, conversation: ConversationId, failure: &StrategyFailure) {
        let strategy = self.parts.config.policy.strategy.written();
        tracing::warn!(strategy, %conversation, %failure, "the strategy failed; the default goes on");
        self.parts.metrics.failed(crate::metrics::Failure::Strategy);
    }

    pub(super) fn count_swap(&self, live: &Live) {
        let front = live.dress.as_ref().map(|dress| &dress.front);
        if let Some(mark) = front.and_then(|front| front.mark.as_ref()) {
            self.parts.metrics.swapped(mark.route.as_str());
        }
    }

    /// Whether the provider can be asked why its cache was missed.
    fn may_diagnose(&self, call: &Call<'_>) -> bool {
        let config = &self.parts.config;
        let asks = config.policy.diagnose.unwrap_or_else(|| {
            let upstream = config.upstream.anthropic.parse::<http::Uri>().ok();
            let host = upstream.as_ref().and_then(http::Uri::host);
            host.is_some_and(|host| host == "anthropic.com" || host.ends_with(".anthropic.com"))
        });
        asks && call.model.provider == tokens::Provider::Anthropic && may_ask(call.request)
    }

    /// Something of ours failed: the client's own bytes.
    pub(super) fn failed(&self, body: Bytes, fault: &Fault) -> Verdict {
        tracing::warn!(%fault, "a request is sent as it came");
        self.parts.metrics.failed(crate::metrics::Failure::Deciding);
        Verdict::Send(as_it_came(body, Did::Failed), Ticket::default())
    }
}

/// Somebody went on with the conversation elsewhere while this request waited: it is sent as it came.
fn overtaken(mut did: Vec<Did>) -> Decided {
    did.push(Did::Kept);
    Decided {
        look: Look::default(),
        tokens: Tokens::ZERO,
        did,
        keep: Keep::default(),
        prepare: None,
    }
}

/// The client's own bytes.
pub(super) fn as_it_came(body: Bytes, did: Did) -> Outgoing {
    Outgoing {
        body,
        betas: Vec::new(),
        did: vec![did],
        conversation: None,
        tokens: None,
    }
}

/// Whether the conversation's state is the provider's, so that the request is only a part of it.
pub(super) fn is_held_elsewhere(request: &Request<'_>) -> bool {
    let given = |key| {
        request
            .field(key)
            .is_some_and(|field| field.value != "null")
    };
    request.dialect() == Dialect::Responses
        && (given("previous_response_id") || given("conversation"))
}

/// What is said of a decision.
fn words(mode: Mode, decision: &Decision) -> Vec<Did> {
    let (swapped, preparing) = match mode {
        Mode::On => (Did::Swapped, Did::Preparing),
        Mode::Observe => (Did::WouldSwap, Did::WouldPrepare),
    };
    let mut did = Vec::new();
    if decision.swapped || decision.reduced {
        did.push(swapped);
    }
    if decision.prepare.is_some() {
        did.push(preparing);
    }
    did
}
