//! Summaries, made in the background.

use std::sync::Arc;

use bytes::Bytes;
use context::coded::Coded;
use context::{Text, Tokens, Turn};
use conversation::homunculus::{Event, Preparation};
use history::{Mark, Route, Tenant};
use http::HeaderMap;
use jiff::Timestamp;
use model::{ChunksOfTenant, Endpoint, Made, ModelError, Order, Routes, Sent, Shows, Writer};
use tokens::Model;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::api::{Dialect, Request};

use super::Inner;
use super::durations::Durations;
use super::identity::Key;
use super::journal::Happened;
use super::keep::Keep;
use super::ledger;
use super::live::{Job, Shared};
use super::money;
use super::ticket::Flight;
use crate::config::Summariser;
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
    /// How long they take.
    pub durations: Durations,
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
            durations: Durations::default(),
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
    /// The request as it was sent on; `None` where it was not sent.
    pub sent: Option<AsSent>,
    /// What it speaks.
    pub dialect: Dialect,
    /// The URL that it went to: a summary is asked for there.
    pub url: String,
    /// Its headers: a summary is asked for with the same key.
    pub headers: HeaderMap,
    /// The model.
    pub model: Arc<Model>,
    /// The name it was asked for by.
    pub name: Text,
    /// The window in force.
    pub window: Tokens,
    /// The texts of the pins in force.
    pub pins: Vec<Text>,
    /// Whose it is.
    pub tenant: Tenant,
}

/// A request as it was sent on.
#[derive(Clone)]
pub(super) struct AsSent {
    /// Its bytes.
    pub body: Bytes,
    /// The betas that it needs.
    pub betas: Vec<&'static str>,
    /// Whether it showed everything.
    pub shows: Shows,
    /// Its size.
    pub tokens: Tokens,
}

impl Source {
    /// From a request of a conversation.
    pub(super) fn of(flight: &Flight, sent: Option<AsSent>) -> Self {
        let live = flight.joined.shared.lock();
        let mut headers = flight.arrival.headers.clone();
        crate::server::remove_ours(&mut headers);
        Self {
            body: flight.arrival.body.clone(),
            sent,
            dialect: flight.dialect,
            url: flight.arrival.url.clone(),
            headers,
            model: Arc::clone(&flight.model),
            name: flight.name.clone(),
            window: live.supervisor.machine.limits().window,
            pins: live.pins.iter().map(|pin| pin.text.clone()).collect(),
            tenant: flight.arrival.tenant,
        }
    }

    /// All turns of the request.
    fn turns(&self) -> Option<Vec<Turn>> {
        let request = Request::parse(self.dialect, &self.body).ok()?;
        Some(request.turns(&self.model.counter()))
    }

    /// The order for a summary.
    fn order(&self, preparation: &Preparation) -> Option<Order> {
        let turns = self.turns()?;
        let (old, tail) = turns.split_at_checked(preparation.cut)?;
        Some(Order {
            old: old.into(),
            tail: tail.into(),
            pins: self.pins.clone(),
            budget: preparation.budget,
            instructions: None,
            counter: Arc::new(self.model.counter()),
            model: self.name.to_string(),
        })
    }

    /// Another model that writes. `None` where it can only be reached with a key that it is not to know.
    fn writer(&self, other: &Summariser, own: &Endpoint) -> Result<Option<Writer>, ModelError> {
        let dialect = other.dialect.unwrap_or(self.dialect);
        let endpoint = match &other.url {
            Some(url) => Endpoint::new(dialect, url)?,
            None => own.clone().speaking(dialect)?,
        };
        let endpoint = match &other.key {
            Some(key) => endpoint.with_key(key.reveal())?,
            None if endpoint.shares_server(own) => endpoint.with_headers(&self.headers),
            None => {
                tracing::warn!(
                    "the summariser has no key, and this agent's is for another server: \
                     its summary is made without a model"
                );
                return Ok(None);
            }
        };
        Ok(Some(Writer::new(endpoint, &other.model)))
    }
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
    /// It can not be asked for.
    #[error("{}", .0.code())]
    Model(#[from] ModelError),
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
            if live.supervisor.machine.preparing() != Some(order.job) {
                // It was abandoned before it began.
                return;
            }
            // It may take the place of one that took too long.
            let writing = live.supervisor.machine.writing();
            self.jobs.durations.keep(self.model_key(&source), writing);
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
            let of = inner.model_key(&source);
            inner.settle(&shared, (&order, of), made).await;
        });
    }

    /// What tells the model of a request from others.
    fn model_key(&self, source: &Source) -> Key {
        self.window_key(source.tenant, &source.url, &source.name)
    }

    /// Makes a summary by the route that is ordered, or by one that asks for less.
    async fn make(&self, preparation: &Preparation, source: &Source) -> Result<Made, Unmade> {
        let waiting = self.jobs.waiting.try_acquire();
        let _waiting = waiting.map_err(|_| Unmade::Busy)?;
        let room = match preparation.route {
            Route::Extractive => &self.jobs.extracted,
            Route::Native | Route::Readable => &self.jobs.written,
        };
        let _running = room.acquire().await.map_err(|_| Unmade::Abandoned)?;
        let (own, wanted) = (source.clone(), *preparation);
        let order = spawn_blocking(move || own.order(&wanted));
        let order = order.await.ok().flatten().ok_or(Unmade::Nothing)?;
        let routes = self.routes(preparation, source)?;
        Ok(model::summarise(&self.client, &order, &routes).await?)
    }

    /// The ways that are open for this request.
    fn routes(&self, preparation: &Preparation, source: &Source) -> Result<Routes, ModelError> {
        let config = &self.parts.config;
        let own = Endpoint::of_request(source.dialect, &source.url)?;
        let endpoint = own.clone().with_headers(&source.headers);
        let sent = source.sent.as_ref().map(|sent| Sent {
            endpoint: sent
                .betas
                .iter()
                .fold(endpoint.clone(), |endpoint, beta| endpoint.with_beta(beta)),
            body: sent.body.clone(),
            shows: sent.shows,
            tokens: sent.tokens,
            window: source.window,
        });
        let (alongside, apart) = match &config.policy.summariser {
            Some(other) => (None, source.writer(other, &own)?),
            None => {
                let writer = Writer::new(endpoint, &source.name).with_window(source.window);
                (sent.clone(), Some(writer))
            }
        };
        Ok(Routes {
            first: preparation.route,
            native: sent,
            alongside,
            apart,
            chunks: Arc::new(ChunksOfTenant::new(
                Arc::clone(&self.parts.engine),
                source.tenant,
            )),
        })
    }

    /// Keeps what was made and tells the supervisor.
    async fn settle(
        &self,
        shared: &Shared,
        (order, of): (&Preparation, Key),
        made: Result<Made, Unmade>,
    ) {
        let now = (self.parts.clock)();
        match made {
            Ok(made) => self.made(shared, (order, of), (made, now)).await,
            Err(why) => self.unmade(shared, order, &why, now),
        }
        shared.settled.notify_waiters();
    }

    async fn made(
        &self,
        shared: &Shared,
        (order, of): (&Preparation, Key),
        (made, now): (Made, Timestamp),
    ) {
        let tokens = made.tokens + FRAME;
        let mark = Mark {
            node: order.node,
            made_from: order.made_from,
            // The provider's own is sent back byte for byte.
            summary: made.message.clone().unwrap_or(made.text),
            tokens,
            route: made.route,
            at: now,
        };
        let ledger = ledger::text(&made.ledger);
        let texts = (!ledger.is_empty()).then(|| (ledger::key(mark.id()), ledger.clone()));
        let keep = Keep {
            marks: vec![mark.clone()],
            texts: texts.into_iter().collect(),
            ..Keep::default()
        };
        let receipt = self.writer.write(shared.tenant, keep.work()).await;
        let kept = receipt.kept().await;
        if let Err(failure) = &kept {
            self.not_kept(shared, failure, now);
        }
        let result = metrics::Preparation::Ready;
        self.parts.metrics.prepared(made.route.as_str(), result);
        let mut live = shared.lock();
        live.is_dress_unkept |= kept.is_err();
        live.end_job(order);
        for spent in &made.spent {
            money::add_summary(&mut live.record.totals, spent);
            self.parts.metrics.cost(spent.cost.get());
        }
        for fallen in &made.fallen {
            let why = fallen.error.code().to_string();
            live.journal.note(now, Happened::Fell(fallen.route, why));
        }
        let event = Event::Prepared {
            job: order.job,
            mark: mark.id(),
            tokens,
        };
        // Another conversation may have learnt more since.
        let durations = &self.jobs.durations;
        live.supervisor.machine.set_writing(durations.of(of));
        live.tell(event, now);
        durations.keep(of, live.supervisor.machine.writing());
        if live.supervisor.machine.ready() == Some(mark.id()) {
            live.journal
                .note(now, Happened::Prepared(made.route, tokens));
            let dress = live.dress.get_or_insert_default();
            dress.ready = Some(Arc::new(mark));
            dress.ledger = ledger;
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
            let happened = Happened::PreparationFailed(why.to_string());
            live.journal.note(now, happened);
        }
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
