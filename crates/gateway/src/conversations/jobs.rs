//! Summaries, made in the background.

use std::sync::Arc;

use ::conversation::identity::Key;
use ::conversation::originals;
use ::conversation::view::View;
use ::conversation::{Effect, Input, Spent, Summary, Unmade};

use ::conversation::homunculus::Preparation;
use bytes::Bytes;
use context::coded::Coded;
use context::{Text, Tokens, Turn};
use history::{Route, Tenant};
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
use super::request::stored;
use super::running::{Reins, Shared};
use super::slots::Vacancy;
use super::ticket::Passage;
use super::writer::{StoreFailure, work};
use crate::config::Summariser;
use crate::metrics;

/// Summaries without a model that are made at the same time; they take a core each.
const EXTRACTS: usize = 4;

/// The number of preparations that may wait for each one that may run. Each holds the body of its
/// request.
const WAITING: usize = 4;

/// The preparations of all conversations.
pub(super) struct Jobs {
    pub tracker: TaskTracker,
    pub cancel: CancellationToken,
    client: model::Client,
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
            client: model::Client::new(model::Settings::default()),
            written: Arc::new(Semaphore::new(most)),
            extracted: Arc::new(Semaphore::new(EXTRACTS)),
            waiting: Arc::new(Semaphore::new((most + EXTRACTS) * WAITING)),
        }
    }
}

/// The request that a summary is made from.
#[derive(Clone)]
pub(super) struct Source {
    /// The request as the client sent it: all that was said.
    pub body: Bytes,
    /// The request as it was sent on; `None` where it was not sent.
    pub sent: Option<AsSent>,
    /// The dialect.
    pub dialect: Dialect,
    /// The URL that it went to: a summary is asked for there.
    pub url: String,
    /// The headers: a summary is asked for with the same key.
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
    /// The bytes.
    pub body: Bytes,
    /// The betas that it needs.
    pub betas: Vec<&'static str>,
    /// The extent of the view: everything, or a part.
    pub shows: Shows,
    /// Its size.
    pub tokens: Tokens,
}

impl AsSent {
    /// A view as it was sent, with the betas it needs and its size.
    pub(super) fn new(
        view: &View,
        body: Bytes,
        (betas, tokens): (Vec<&'static str>, Tokens),
    ) -> Self {
        Self {
            body,
            betas,
            shows: match view.shows_all() {
                true => Shows::Originals,
                false => Shows::Part,
            },
            tokens,
        }
    }
}

impl Source {
    /// From a request of a conversation.
    pub(super) fn of(passage: &Passage, sent: Option<AsSent>) -> Self {
        let conversation = passage.shared.lock();
        let flight = &passage.flight;
        let mut headers = passage.arrival.headers.clone();
        crate::server::remove_ours(&mut headers);
        Self {
            body: passage.arrival.body.clone(),
            sent,
            dialect: flight.dialect(),
            url: passage.arrival.url.clone(),
            headers,
            model: Arc::clone(flight.model()),
            name: flight.model_name().clone(),
            window: conversation.limits().window,
            pins: conversation
                .pins()
                .iter()
                .map(|pin| pin.text.clone())
                .collect(),
            tenant: passage.arrival.tenant,
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
            words: preparation.words,
            standing: preparation.standing,
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
enum Fault {
    /// Abandoned.
    #[error("it is no longer wanted")]
    Abandoned,
    /// Too many are being made.
    #[error("too many summaries are being made")]
    Busy,
    /// The request cannot be read again, or the conversation is shorter than it was.
    #[error("there is nothing to summarise")]
    Nothing,
    /// The model cannot be asked.
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
        let key = self.key_of(&source);
        let effects = {
            let mut conversation = shared.lock();
            let effects = conversation.on(Input::Preparing(&order), (self.parts.clock)());
            // It was abandoned before it began.
            if effects
                .iter()
                .any(|it| matches!(it, Effect::Abandon(job) if *job == order.job))
            {
                return;
            }
            // A preparation that takes too long teaches something before it ends.
            self.directory
                .commons
                .learn_duration(key, conversation.writing());
            effects
        };
        self.local().settle(shared, key, effects);
        let reins = Reins {
            cancel: self.jobs.cancel.child_token(),
            hurry: CancellationToken::new(),
        };
        shared.beside.begin(order.job, reins.clone());
        let (inner, shared) = (Arc::clone(self), Arc::clone(shared));
        self.jobs.tracker.spawn(async move {
            let made = tokio::select! {
                biased;
                () = reins.cancel.cancelled() => Err(Fault::Abandoned),
                made = inner.make(&order, &source, &reins.hurry) => made,
            };
            inner.made(&shared, (&order, key), made).await;
            shared.beside.settled.notify_waiters();
        });
    }

    fn key_of(&self, source: &Source) -> Key {
        let commons = &self.directory.commons;
        commons.model_key(source.tenant, &source.url, &source.name)
    }

    /// Makes a summary by the route that is ordered, or by one that asks for less.
    async fn make(
        &self,
        preparation: &Preparation,
        source: &Source,
        hurry: &CancellationToken,
    ) -> Result<(Made, Vec<String>), Fault> {
        let waiting = self.jobs.waiting.try_acquire();
        let _waiting = waiting.map_err(|_| Fault::Busy)?;
        let room = match preparation.route {
            Route::Extractive => &self.jobs.extracted,
            Route::Native | Route::Readable => &self.jobs.written,
        };
        let _running = room.acquire().await.map_err(|_| Fault::Abandoned)?;
        let (own, wanted) = (source.clone(), *preparation);
        let order = spawn_blocking(move || own.order(&wanted));
        let order = order.await.ok().flatten().ok_or(Fault::Nothing)?;
        let routes = self.routes(preparation, source)?;
        let client = &self.jobs.client;
        let made = match self.vacancy(preparation, source) {
            Some(vacancy) => vacancy.summarise(client, (&order, routes), hurry).await?,
            None => model::summarise(client, &order, &routes).await?,
        };
        let Some(text) = made.readable() else {
            return Ok((made, Vec::new()));
        };
        let lost = spawn_blocking(move || originals::told(&order.old, &order.tail, &text));
        Ok((made, lost.await.unwrap_or_default()))
    }

    /// The place for a summary at the agent's own server. `None` if it is made elsewhere.
    fn vacancy(&self, preparation: &Preparation, source: &Source) -> Option<Vacancy> {
        let other = self.parts.config.policy.summariser.as_ref();
        let is_elsewhere = other.is_some_and(|other| other.url.is_some());
        let is_apart = is_elsewhere || preparation.route == Route::Extractive;
        let model = self.writing_model(&source.name);
        (!is_apart).then(|| self.slots.at(&source.url, model))
    }

    /// Returns true if a summary would keep requests waiting at the server that would write it.
    pub(super) fn are_few_slots(&self, passage: &Passage) -> bool {
        let model = self.writing_model(passage.flight.model_name());
        self.slots.are_few(&passage.arrival.url, model)
    }

    /// The name of the model that writes summaries for conversations with this one.
    fn writing_model<'n>(&'n self, own: &'n str) -> &'n str {
        let other = self.parts.config.policy.summariser.as_ref();
        other.map_or(own, |other| &other.model)
    }

    /// The ways that are open for this request.
    fn routes(&self, preparation: &Preparation, source: &Source) -> Result<Routes, ModelError> {
        let config = &self.parts.config;
        let mut own = Endpoint::of_request(source.dialect, &source.url)?;
        let bridges = self.bridges(source.dialect);
        if bridges && let Some(chat) = Dialect::named("chat") {
            own = own.speaking(chat)?;
        }
        let endpoint = own.clone().with_headers(&source.headers);
        let sent = source.sent.as_ref().filter(|_| !bridges);
        let sent = sent.map(|sent| Sent {
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

    /// Stores what was made and tells the conversation.
    async fn made(
        &self,
        shared: &Shared,
        (order, key): (&Preparation, Key),
        made: Result<(Made, Vec<String>), Fault>,
    ) {
        let now = (self.parts.clock)();
        let metrics = &self.parts.metrics;
        let effects = match made {
            Ok((made, lost)) => {
                let route = made.route.as_str();
                let summary = summary(made, lost, now);
                // Before it can be shown: a summary that is shown must survive a restart.
                let batch = summary.batch(order);
                let receipt = self.writer.write(shared.tenant, work(batch)).await;
                // A request may wait for it. Kept late it is kept again, which changes nothing.
                let kept = self.writer.in_time(receipt.kept()).await;
                let kept = kept.unwrap_or(Err(StoreFailure::Late));
                if let Err(failure) = &kept {
                    self.local().not_stored(shared, failure, now);
                }
                metrics.prepared(route, metrics::Preparation::Ready);
                let mut conversation = shared.lock();
                // Another conversation may have learned more since.
                conversation.on(Input::Learned(self.directory.commons.duration(key)), now);
                let input = Input::Prepared(order, summary, stored(&kept));
                let effects = conversation.on(input, now);
                self.directory
                    .commons
                    .learn_duration(key, conversation.writing());
                effects
            }
            Err(fault) => {
                let (result, why) = match fault {
                    Fault::Abandoned => (metrics::Preparation::Abandoned, Unmade::Abandoned),
                    fault => (
                        metrics::Preparation::Failed,
                        Unmade::Failed(fault.to_string()),
                    ),
                };
                metrics.prepared(order.route.as_str(), result);
                shared.lock().on(Input::Unprepared(order, why), now)
            }
        };
        self.local().settle(shared, key, effects);
    }
}

/// A summary as its conversation takes it.
fn summary(made: Made, lost: Vec<String>, at: Timestamp) -> Summary {
    let fallen = made.fallen.iter();
    Summary {
        // The provider's own goes back byte for byte.
        text: made.message.unwrap_or(made.text),
        tokens: made.tokens,
        route: made.route,
        ledger: made.ledger,
        lost,
        beside: made.beside,
        spent: made
            .spent
            .iter()
            .map(|spent| Spent {
                used: spent.used,
                cost: spent.cost.get(),
            })
            .collect(),
        fallen: fallen
            .map(|fallen| (fallen.route, fallen.error.code().to_string()))
            .collect(),
        at,
    }
}
