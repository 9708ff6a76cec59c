//! Makes summaries, a few at a time.

use std::sync::Arc;

use ::conversation::homunculus::Preparation;
use ::conversation::originals;
use context::coded::Coded;
use history::{Engine, Route};
use model::{ChunksOfTenant, Client, Endpoint, Made, ModelError, Routes, Sent, Settings, Writer};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use wire::api::Dialect;

use super::Parts;
use super::slots::{Slots, Vacancy};
use super::source::Source;
use super::ticket::Passage;
use crate::config::Config;

/// Summaries without a model that are made at the same time; they take a core each.
const EXTRACTS: usize = 4;

/// The number of preparations that may wait for each one that may run. Each holds the body of its
/// request.
const WAITING: usize = 4;

/// Why a summary was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
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

/// Makes summaries: by the routes that are open for a request, and where there is room.
pub(super) struct Maker {
    config: Arc<Config>,
    engine: Arc<dyn Engine>,
    slots: Arc<Slots>,
    client: Client,
    written: Semaphore,
    extracted: Semaphore,
    waiting: Semaphore,
}

impl Maker {
    /// With as much room as the configuration gives.
    pub(super) fn new(parts: &Parts, slots: Arc<Slots>) -> Self {
        let most = parts.config.limits.preparations;
        let most = most.clamp(1, Semaphore::MAX_PERMITS / WAITING - EXTRACTS);
        Self {
            config: Arc::clone(&parts.config),
            engine: Arc::clone(&parts.engine),
            slots,
            client: Client::new(Settings::default()),
            written: Semaphore::new(most),
            extracted: Semaphore::new(EXTRACTS),
            waiting: Semaphore::new((most + EXTRACTS) * WAITING),
        }
    }

    /// Makes a summary by the route that is ordered, or by one that asks for less.
    pub(super) async fn make(
        &self,
        preparation: &Preparation,
        source: &Source,
        hurry: &CancellationToken,
    ) -> Result<(Made, Vec<String>), Fault> {
        let waiting = self.waiting.try_acquire();
        let _waiting = waiting.map_err(|_| Fault::Busy)?;
        let room = match preparation.route {
            Route::Extractive => &self.extracted,
            Route::Native | Route::Readable => &self.written,
        };
        let _running = room.acquire().await.map_err(|_| Fault::Abandoned)?;
        let (own, wanted) = (source.clone(), *preparation);
        let order = spawn_blocking(move || own.order(&wanted));
        let order = order.await.ok().flatten().ok_or(Fault::Nothing)?;
        let routes = self.routes(preparation, source)?;
        let client = &self.client;
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
        let other = self.config.policy.summariser.as_ref();
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
        let other = self.config.policy.summariser.as_ref();
        other.map_or(own, |other| &other.model)
    }

    /// The ways that are open for this request.
    fn routes(&self, preparation: &Preparation, source: &Source) -> Result<Routes, ModelError> {
        let mut own = Endpoint::of_request(source.dialect, &source.url)?;
        let bridges = self.config.bridges(source.dialect);
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
        let (alongside, apart) = match &self.config.policy.summariser {
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
            chunks: Arc::new(ChunksOfTenant::new(Arc::clone(&self.engine), source.tenant)),
        })
    }
}
