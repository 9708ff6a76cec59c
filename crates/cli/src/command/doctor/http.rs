//! Requests to a gateway that may not be there, or may be something else.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use model::Outward;
use tokio::time::timeout;

/// The time for a whole answer.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer to read, in bytes.
const LONGEST: usize = 16 << 20;

/// Returns the whole body of a page, whatever its status. `None` if no answer comes.
pub async fn ask(url: &str, token: Option<&str>) -> Option<Bytes> {
    let mut request = Request::get(url);
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Empty::new()).ok()?;
    timeout(PATIENCE, send(request)).await.ok()?
}

async fn send(request: Request<Empty<Bytes>>) -> Option<Bytes> {
    let builder = Client::builder(TokioExecutor::new());
    let sent = if request.uri().scheme_str() == Some("https") {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_native_roots().ok()?;
        let tls = tls.https_only().enable_http1();
        let client = builder.build(tls.wrap_connector(Outward::new(connector)));
        client.request(request).await
    } else {
        builder.build_http().request(request).await
    };
    let body = Limited::new(sent.ok()?.into_body(), LONGEST);
    Some(body.collect().await.ok()?.to_bytes())
}
