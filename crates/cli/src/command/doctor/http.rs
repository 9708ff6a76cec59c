//! Requests to a gateway that may not be there, or may be something else.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Limited};
use model::{Outgoing, whole};
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
    let request = request.body(whole(Bytes::new())).ok()?;
    timeout(PATIENCE, send(request)).await.ok()?
}

async fn send(request: Request<model::Body>) -> Option<Bytes> {
    let answer = Outgoing::new(PATIENCE, PATIENCE).send(request).await.ok()?;
    let body = Limited::new(answer.into_body(), LONGEST);
    Some(body.collect().await.ok()?.to_bytes())
}
