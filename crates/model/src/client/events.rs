//! An answer as a stream of events.

use std::collections::VecDeque;
use std::fmt;

use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use wire::api::{Accumulator, Decoder, Dialect, Event, Failure, Reply};

use super::exchange::IN_STREAM;
use crate::error::{Begun, ModelError, Refused, Wait};
use crate::settings::{Settings, Timeouts};

/// The events of one answer. Dropping it closes the connection.
pub struct Events {
    dialect: Dialect,
    headers: HeaderMap,
    body: Incoming,
    decoder: Decoder,
    waiting: VecDeque<Event>,
    limit: usize,
    timeouts: Timeouts,
    deadline: Instant,
    begun: Begun,
    ended: bool,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("dialect", &self.dialect)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Events {
    pub(super) fn new(
        dialect: Dialect,
        response: Response<Incoming>,
        settings: &Settings,
        deadline: Instant,
    ) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            dialect,
            headers: parts.headers,
            body,
            decoder: Decoder::with_limit(settings.longest_answer),
            waiting: VecDeque::new(),
            limit: settings.longest_answer,
            timeouts: settings.timeouts,
            deadline,
            begun: Begun::No,
            ended: false,
        }
    }

    /// The dialect of the answer.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The headers of the answer.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The next event; `None` after the connection was closed in order. An [`Accumulator`] tells if
    /// the answer was complete then. After an error there is nothing more.
    ///
    /// # Errors
    /// The connection broke, was silent for too long or open for too long, or an event cannot be read.
    pub async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.begun = Begun::Yes;
                return Some(Ok(event));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.read().await {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }

    /// Reads to the end and puts the events together, as long as they are within the limit together.
    pub(super) async fn whole(mut self) -> Result<(Reply, HeaderMap), ModelError> {
        let mut answer = Accumulator::new(self.dialect);
        let mut length = 0_usize;
        while let Some(event) = self.next().await {
            let event = event?;
            length = length.saturating_add(event.name.len() + event.data.len());
            if length > self.limit {
                return Err(ModelError::TooLong { limit: self.limit });
            }
            answer.accept(&event)?;
            if answer.is_complete() {
                break;
            }
        }
        let reply = answer.reply();
        match reply.failure {
            Some(failure) => Err(ModelError::Failed(Box::new(failure))),
            // Some servers leave out the event behind the one that says why the model stopped.
            None if answer.is_complete() || reply.stop.is_some() => Ok((reply, self.headers)),
            None => Err(ModelError::Broken { when: self.begun }),
        }
    }

    /// Waits until the first event has come. An error in its place is a refusal: nothing was answered.
    pub(super) async fn wait_for_first(&mut self) -> Result<(), ModelError> {
        while self.waiting.is_empty() {
            if self.ended {
                return Err(ModelError::Broken { when: Begun::No });
            }
            self.read().await?;
        }
        let first = self.waiting.front();
        let failure = first.and_then(|event| Failure::parse(event.data.as_bytes()).ok()?);
        match failure {
            Some(failure) => Err(ModelError::Refused(Box::new(Refused {
                status: IN_STREAM.as_u16(),
                failure: Some(failure),
                retry_after: None,
                should_retry: None,
            }))),
            None => Ok(()),
        }
    }

    /// Reads the next piece of the body.
    async fn read(&mut self) -> Result<(), ModelError> {
        let silent = Instant::now() + self.timeouts.silence;
        let until = silent.min(self.deadline);
        let frame = timeout_at(until, self.body.frame()).await;
        let frame = frame.map_err(|_| {
            let (what, waited) = if until == silent {
                (Wait::NextPiece, self.timeouts.silence)
            } else {
                (Wait::Whole, self.timeouts.whole)
            };
            ModelError::Timeout {
                what,
                waited,
                when: self.begun,
            }
        })?;
        match frame {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.decoder.push(&data);
                }
            }
            Some(Err(_)) => return Err(ModelError::Broken { when: self.begun }),
            None => {
                self.decoder.finish();
                self.ended = true;
            }
        }
        while let Some(event) = self.decoder.next_event() {
            self.waiting.push_back(event?);
        }
        Ok(())
    }
}
