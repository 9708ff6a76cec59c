//! Sends requests to models and reads their answers.
//!
//! A request is repeated where that can help ([`Retries`](crate::Retries)), never after a part of its
//! answer was handed out. Dropping a future or a stream ends its connection; nothing goes on behind it.

mod events;
mod exchange;
mod retry;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use tokio::time::{Instant, sleep, timeout};
use wire::api::Reply;

use crate::endpoint::Endpoint;
use crate::error::{Begun, ModelError, Wait};
use crate::outgoing::Outgoing;
use crate::settings::Settings;
pub use events::Events;
use exchange::Opened;
pub use retry::Restart;

/// The lifetime of an unused connection.
const IDLE: Duration = Duration::from_secs(60);

/// Calls models. Clones share connections.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    outgoing: Outgoing,
    settings: Settings,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer, the same from a body and from a stream.
    pub reply: Reply,
    /// The headers it came with.
    pub headers: HeaderMap,
    /// The number of times the request was sent.
    pub attempts: u32,
}

impl Default for Client {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Client {
    /// A client. Without root certificates, it speaks plain http only.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let outgoing = Outgoing::new(settings.timeouts.connect, IDLE);
        Self(Arc::new(Inner { outgoing, settings }))
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Posts a body that asks for a stream, and returns the stream once its first event has come.
    ///
    /// # Errors
    /// No connection, a refusal, silence, or an answer that is not an event stream, after the repetitions that
    /// are due. Later errors come out of the stream.
    pub async fn events(&self, endpoint: &Endpoint, body: Bytes) -> Result<Events, ModelError> {
        let deadline = Instant::now() + self.settings().timeouts.whole;
        let work = self.repeated(&body, Restart::Never, || async {
            match self.open(endpoint, body.clone(), deadline).await? {
                Opened::Events(events) => Ok(events),
                Opened::Whole(_) => Err(ModelError::NoStream),
            }
        });
        let (events, _) = self.in_time(work).await?;
        Ok(events)
    }

    /// Posts a body and returns the whole answer, whether the body asks for a stream or not. `restart`
    /// decides about an answer that breaks off.
    ///
    /// # Errors
    /// No connection, a refusal, silence, an answer that breaks off or cannot be read; after the
    /// repetitions that are due.
    pub async fn reply(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
        restart: Restart,
    ) -> Result<Answer, ModelError> {
        let deadline = Instant::now() + self.settings().timeouts.whole;
        let work = self.repeated(&body, restart, || async {
            match self.open(endpoint, body.clone(), deadline).await? {
                Opened::Whole(whole) => Ok(whole),
                Opened::Events(events) => events.whole().await,
            }
        });
        let ((reply, headers), attempts) = self.in_time(work).await?;
        Ok(Answer {
            reply,
            headers,
            attempts,
        })
    }

    /// Repeats `attempt` as long as that can help, and returns the number of attempts.
    async fn repeated<T, F>(
        &self,
        body: &Bytes,
        restart: Restart,
        attempt: impl Fn() -> F,
    ) -> Result<(T, u32), ModelError>
    where
        F: Future<Output = Result<T, ModelError>>,
    {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let error = match attempt().await {
                Ok(done) => return Ok((done, attempts)),
                Err(error) => error,
            };
            let retries = &self.settings().retries;
            let pause = retry::pause(&error, attempts, salt(body), restart, retries);
            let Some(pause) = pause else {
                return Err(settled(error));
            };
            tracing::debug!(%error, attempts, ?pause, "a call of a model is repeated");
            sleep(pause).await;
        }
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        let waited = self.settings().timeouts.whole;
        let late = ModelError::Timeout {
            what: Wait::Whole,
            waited,
            when: Begun::No,
        };
        timeout(waited, work).await.unwrap_or(Err(late))
    }
}

/// A temporary refusal that outlasts the repetitions is another error than a permanent one.
fn settled(error: ModelError) -> ModelError {
    match error {
        ModelError::Refused(refused) if retry::is_passing(&refused) => {
            ModelError::Unavailable(refused)
        }
        other => other,
    }
}

/// A number that differs between requests.
fn salt(body: &Bytes) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(body).as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
