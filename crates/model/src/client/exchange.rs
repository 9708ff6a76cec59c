//! One request and the beginning of its answer.

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout, timeout_at};
use wire::api::{self, Failure, Limits, Reply};

use super::events::Events;
use super::retry::{asked_pause, should_retry};
use super::{Client, Inner};
use crate::endpoint::Endpoint;
use crate::error::{Begun, ModelError, Refused, Wait};
use crate::outgoing::{Unanswered, whole};

/// The longest refusal that is read, in bytes.
const LONGEST_REFUSAL: usize = 1 << 20;

/// An answer that has begun.
pub(super) enum Opened {
    /// A stream, with its first event waiting in it.
    Events(Events),
    /// A whole answer.
    Whole((Reply, HeaderMap)),
}

impl Client {
    /// Sends the request once and waits for its answer to begin.
    pub(super) async fn open(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
        deadline: Instant,
    ) -> Result<Opened, ModelError> {
        let waited = self.settings().timeouts.first_byte;
        let late = ModelError::Timeout {
            what: Wait::FirstByte,
            waited,
            when: Begun::No,
        };
        let first_byte = Instant::now() + waited;
        let response = match timeout_at(first_byte, self.0.send(endpoint, body)).await {
            Ok(response) => response?,
            Err(_) => return Err(late),
        };
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        if !is_stream(response.headers()) {
            return self.whole(endpoint, response).await.map(Opened::Whole);
        }
        let mut events = Events::new(endpoint.dialect(), response, self.settings(), deadline);
        match timeout_at(first_byte, events.wait_for_first()).await {
            Ok(Ok(())) => Ok(Opened::Events(events)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(late),
        }
    }

    /// Reads a body that is no stream.
    async fn whole(
        &self,
        endpoint: &Endpoint,
        response: Response<Incoming>,
    ) -> Result<(Reply, HeaderMap), ModelError> {
        let (parts, body) = response.into_parts();
        let limit = self.settings().longest_answer;
        let body = self.read(body, limit).await?;
        let limits = Limits {
            bytes: limit,
            ..Limits::default()
        };
        let reply = api::Response::parse_with(endpoint.dialect(), &body, limits)?.reply();
        match reply.failure {
            Some(failure) => Err(ModelError::Failed(Box::new(failure))),
            None => Ok((reply, parts.headers)),
        }
    }

    /// Reads a response as a refusal. A body that cannot be read does not hide the status.
    async fn refusal(&self, response: Response<Incoming>) -> ModelError {
        let (parts, body) = response.into_parts();
        let body = self.read(body, LONGEST_REFUSAL).await.unwrap_or_default();
        ModelError::Refused(Box::new(Refused {
            status: parts.status.as_u16(),
            failure: Failure::parse(&body).ok().flatten(),
            retry_after: asked_pause(&parts.headers),
            should_retry: should_retry(&parts.headers),
        }))
    }

    /// Reads a body whole.
    async fn read(&self, mut body: Incoming, limit: usize) -> Result<Bytes, ModelError> {
        let waited = self.settings().timeouts.silence;
        let mut whole = BytesMut::new();
        loop {
            let when = begun(whole.is_empty());
            let frame = timeout(waited, body.frame()).await;
            let frame = frame.map_err(|_| ModelError::Timeout {
                what: Wait::NextPiece,
                waited,
                when,
            })?;
            match frame {
                None => return Ok(whole.freeze()),
                Some(Err(_)) => return Err(ModelError::Broken { when }),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else {
                        continue;
                    };
                    if whole.len() + data.len() > limit {
                        return Err(ModelError::TooLong { limit });
                    }
                    whole.extend_from_slice(&data);
                }
            }
        }
    }
}

impl Inner {
    async fn send(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
    ) -> Result<Response<Incoming>, ModelError> {
        let mut request = Request::new(whole(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = endpoint.uri().clone();
        *request.headers_mut() = endpoint.request_headers();
        self.outgoing
            .send(request)
            .await
            .map_err(|error| match error {
                Unanswered::NoRoots(why) => ModelError::NoRoots { why },
                Unanswered::Broken(error) if error.is_connect() => ModelError::Unreachable {
                    host: endpoint.host().to_owned(),
                    why: root_cause(&error),
                },
                Unanswered::Broken(_) => ModelError::Broken { when: Begun::No },
            })
    }
}

pub(super) const fn begun(nothing_came: bool) -> Begun {
    if nothing_came { Begun::No } else { Begun::Yes }
}

/// The message of the innermost error; the layers above only say that there was one.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

/// The status under which an error event at the start of a stream is reported.
pub(super) const IN_STREAM: StatusCode = StatusCode::OK;
