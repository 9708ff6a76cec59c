//! HTTP requests to other servers, plain and over TLS.

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client, Error as SendError};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::outward::Outward;

/// The body of a request.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// A body in one piece.
#[must_use]
pub fn whole(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// An HTTP client. It speaks HTTP/1.1: on one HTTP/2 connection a provider accepts about a hundred requests at a
/// time, and the others would wait.
#[derive(Debug)]
pub struct Outgoing {
    plain: Client<HttpConnector, Body>,
    /// `Err`: the system's message about its root certificates, which are read for the first request over TLS.
    secure: OnceLock<Result<Client<HttpsConnector<Outward>, Body>, String>>,
    connector: HttpConnector,
    /// The lifetime of an unused connection.
    idle: Duration,
}

/// The reason why a request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// The system's root certificates cannot be read; its message.
    #[error("no root certificates: {0}")]
    NoRoots(String),
    /// No connection, or one that broke off.
    #[error(transparent)]
    Broken(#[from] SendError),
}

impl Outgoing {
    /// A client with these limits of the time to connect, and of the lifetime of an unused connection.
    #[must_use]
    pub fn new(connect: Duration, idle: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(connect));
        Self {
            plain: builder(idle).build(connector.clone()),
            secure: OnceLock::new(),
            connector,
            idle,
        }
    }

    /// Reads the system's root certificates, unless that was done before.
    ///
    /// # Errors
    /// The system's message, if there are none.
    pub fn read_roots(&self) -> Result<(), String> {
        self.secure().map(drop).map_err(Clone::clone)
    }

    fn secure(&self) -> Result<&Client<HttpsConnector<Outward>, Body>, &String> {
        let made = self.secure.get_or_init(|| {
            let roots = HttpsConnectorBuilder::new().with_native_roots();
            let roots = roots.map_err(|error| error.to_string())?;
            let tls = roots.https_only().enable_http1();
            let connector = tls.wrap_connector(Outward::new(self.connector.clone()));
            Ok(builder(self.idle).build(connector))
        });
        made.as_ref()
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, Unanswered> {
        let sent = if request.uri().scheme() == Some(&Scheme::HTTPS) {
            let secure = self.secure();
            let secure = secure.map_err(|why| Unanswered::NoRoots(why.clone()))?;
            secure.request(request)
        } else {
            self.plain.request(request)
        };
        Ok(sent.await?)
    }
}

fn builder(idle: Duration) -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_idle_timeout(idle)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new());
    builder
}
