//! Connections to servers over TLS, through a proxy where the environment names one.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

/// Makes connections that TLS is spoken over: straight to the server, or through the tunnel of a proxy
/// (`CONNECT`), which sees the server's name and no more.
///
/// The proxy is the one that `HTTPS_PROXY` names, else `ALL_PROXY`, and the servers that are reached without
/// are those of `NO_PROXY`; each name also in lower case, and with the rules of curl. A user and a password
/// in the proxy's URL are sent to it. A proxy that itself is reached over TLS, or that speaks SOCKS, is
/// refused.
#[derive(Clone, Debug)]
pub struct Outward {
    direct: HttpConnector,
    proxies: Arc<Matcher>,
}

/// The proxy that the environment names cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the proxy URL in the environment must begin with http://")]
struct UnknownProxy;

type Failure = Box<dyn Error + Send + Sync>;

impl Outward {
    /// Over connections of `direct`, by the environment as it is now.
    #[must_use]
    pub fn new(direct: HttpConnector) -> Self {
        Self {
            direct,
            proxies: Arc::new(Matcher::from_env()),
        }
    }
}

impl Service<Uri> for Outward {
    type Response = TokioIo<TcpStream>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.direct.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&to) else {
            let connecting = self.direct.call(to);
            return Box::pin(async { connecting.await.map_err(Into::into) });
        };
        if proxy.uri().scheme() != Some(&Scheme::HTTP) {
            return Box::pin(async { Err(UnknownProxy.into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.direct.clone());
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        let connecting = tunnel.call(to);
        Box::pin(async { connecting.await.map_err(Into::into) })
    }
}
