//! Summaries, made in the background.

use std::sync::Arc;

use bytes::Bytes;
use context::extract::extract;
use context::{Text, TokenCounter, Tokens, Turn};
use history::{Mark, Route, Tenant};
use homunculus::{Event, Preparation};
use http::HeaderMap;
use jiff::Timestamp;
use tokens::Model;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::api::{Counts, Dialect, Request};

use super::Inner;
use super::call::Call;
use super::journal::Happened;
use super::keep::Keep;
use super::live::{Job, Shared};
use super::money;
use super::ticket::Flight;
use crate::metrics;

/// Summaries without a model that are made at the same time; they take a core each.
const EXTRACTS: usize = 4;

/// So many preparations may wait for each that may run. Each holds the body of its request.
const WAITING: usize = 4;

/// The frame of a message.
const FRAME: Tokens = Tokens::new(4);

/// The preparations of all conversations.
pub(super) struct Jobs {
    pub tracker: TaskTracker,
    pub cancel: CancellationToken,
    written: Arc<Semaphore>,
    extracted: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Jobs {
    /// Room for so many with a model at the same time.
    pub(super) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS / WAITING - EXTRACTS);
        Self {
            tracker: TaskTracker::new(),
            cancel: CancellationToken::new(),
            written: Arc::new(Semaphore::new(most)),
            extracted: Arc::new(Semaphore::new(EXTRACTS)),
            waiting: Arc::new(Semaphore::new((most + EXTRACTS) * WAITING)),
        }
    }
}

/// What a summary is made from.
#[derive(Clone)]
pub(super) struct Source {
    /// The request as the client sent it: all that was said.
    pub body: Bytes,
    /// The request as it was sent on, with the betas that it needs.
    pub sent: Option<(Bytes, Vec<&'static str>)>,
    /// What it speaks.
    pub dialect: Dialect,
    /// Its headers: a summary is asked for with the same key.
    pub headers: HeaderMap,
    /// The model.
    pub model: Arc<Model>,
    /// Whose it is.
    pub tenant: Tenant,
}

impl Source {
    /// From a request that is sent now.
    pub(super) fn of(flight: &Flight, sent: Bytes, betas: Vec<&'static str>) -> Self {
        Self {
            body: flight.arrival.body.clone(),
            sent: Some((sent, betas)),
            dialect: flight.dialect,
            headers: flight.arrival.headers.clone(),
            model: Arc::clone(&flight.model),
            tenant: flight.arrival.tenant,
        }
    }

    /// From a request that is held.
    pub(super) fn unsent(flight: &Flight, call: &Call<'_>) -> Self {
        Self {
            body: flight.arrival.body.clone(),
            sent: None,
            dialect: call.dialect(),
            headers: flight.arrival.headers.clone(),
            model: Arc::clone(&call.model),
            tenant: call.tenant,
        }
    }

    /// All turns of the request.
    pub(super) fn turns(&self) -> Option<Vec<Turn>> {
        let request = Request::parse(self.dialect, &self.body).ok()?;
        Some(request.turns(&self.model.counter()))
    }
}

/// A summary that was made.
pub(super) struct Made {
    /// Its text; for the provider's own, the message that carries it.
    pub text: Text,
    /// Its size as shown.
    pub tokens: Tokens,
    /// How it was made.
    pub route: Route,
    /// What it used.
    pub counts: Option<Counts>,
}

/// Why a summary was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unmade {
    /// Nobody wants it any more.
    #[error("it is not wanted any more")]
    Abandoned,
    /// Too many are being made.
    #[error("too many summaries are being made")]
    Busy,
    /// The request can not be read again, or the conversation is shorter than it was.
    #[error("there is nothing to summarise")]
    Nothing,
}

impl Inner {
    /// Begins to make a summary.
    pub(super) fn prepare(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        order: Preparation,
        source: Source,
    ) {
        let cancel = self.jobs.cancel.child_token();
        let job = Job {
            order,
            cancel: cancel.clone(),
        };
        {
            let mut live = shared.lock();
            let now = (self.parts.clock)();
            live.journal
                .note(now, Happened::Preparing(order.route, order.cut));
            if let Some(old) = live.supervisor.job.replace(job) {
                old.cancel.cancel();
            }
        }
        let inner = Arc::clone(self);
        let shared = Arc::clone(shared);
        self.jobs.tracker.spawn(async move {
            let made = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Unmade::Abandoned),
                made = inner.make(&order, &source) => made,
            };
            inner.settle(&shared, &order, &source, made).await;
        });
    }

    /// Makes a summary by the route that is ordered.
    async fn make(&self, order: &Preparation, source: &Source) -> Result<Made, Unmade> {
        let waiting = self.jobs.waiting.try_acquire();
        let _waiting = waiting.map_err(|_| Unmade::Busy)?;
        self.extracted(order, source).await
    }

    async fn extracted(&self, order: &Preparation, source: &Source) -> Result<Made, Unmade> {
        let _running = self.jobs.extracted.acquire().await;
        let (source, order) = (source.clone(), *order);
        let made = spawn_blocking(move || {
            let turns = source.turns()?;
            let (old, tail) = turns.split_at_checked(order.cut)?;
            let counter = source.model.counter();
            let text = extract(old, tail, order.budget, &counter).render();
            let tokens = counter.count(&text) + FRAME;
            Some(Made {
                text: text.into(),
                tokens,
                route: Route::Extractive,
                counts: None,
            })
        });
        made.await.ok().flatten().ok_or(Unmade::Nothing)
    }

    /// Keeps what was made and tells the supervisor.
    async fn settle(
        &self,
        shared: &Shared,
        order: &Preparation,
        source: &Source,
        made: Result<Made, Unmade>,
    ) {
        let now = (self.parts.clock)();
        match made {
            Ok(made) => self.made(shared, order, source, (made, now)).await,
            Err(why) => self.unmade(shared, order, &why, now),
        }
        shared.settled.notify_waiters();
    }

    async fn made(
        &self,
        shared: &Shared,
        order: &Preparation,
        source: &Source,
        (made, now): (Made, Timestamp),
    ) {
        let mark = Mark {
            node: order.node,
            made_from: order.made_from,
            summary: made.text,
            tokens: made.tokens,
            route: made.route,
            at: now,
        };
        let keep = Keep {
            mark: Some(mark.clone()),
            ..Keep::default()
        };
        let receipt = self.writer.write(shared.tenant, keep.work()).await;
        let is_kept = receipt.kept().await.is_ok();
        if !is_kept {
            self.not_kept(shared, now);
        }
        let result = metrics::Preparation::Ready;
        self.parts.metrics.prepared(made.route.as_str(), result);
        let mut live = shared.lock();
        live.is_dress_unkept |= !is_kept;
        live.end_job(order);
        if let Some(counts) = &made.counts {
            let cost = money::add_summary(&mut live.record.totals, counts, &source.model.price);
            self.parts.metrics.cost(cost);
        }
        let event = Event::Prepared {
            job: order.job,
            mark: mark.id(),
            tokens: made.tokens,
        };
        live.tell(event, now);
        if live.supervisor.machine.ready() == Some(mark.id()) {
            live.journal
                .note(now, Happened::Prepared(made.route, made.tokens));
            live.dress.get_or_insert_default().ready = Some(Arc::new(mark));
        }
    }

    fn unmade(&self, shared: &Shared, order: &Preparation, why: &Unmade, now: Timestamp) {
        let abandoned = matches!(why, Unmade::Abandoned);
        let result = match abandoned {
            true => metrics::Preparation::Abandoned,
            false => metrics::Preparation::Failed,
        };
        self.parts.metrics.prepared(order.route.as_str(), result);
        let mut live = shared.lock();
        live.end_job(order);
        live.tell(Event::Failed { job: order.job }, now);
        if !abandoned {
            let happened = Happened::PreparationFailed(1, why.to_string());
            live.journal.note(now, happened);
        }
    }

    /// Waits for a place to ask a model.
    pub(super) async fn place(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        self.jobs.written.acquire().await.ok()
    }
}

impl super::live::Live {
    /// The preparation has ended.
    fn end_job(&mut self, order: &Preparation) {
        let running = self.supervisor.job.as_ref();
        if running.is_some_and(|job| job.order.job == order.job) {
            self.supervisor.job = None;
        }
    }
}
