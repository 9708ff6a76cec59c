//! A client's body. A client that is answered before it has sent everything often reads the answer only then,
//! so what is left is read and thrown away: otherwise it would find a broken connection instead of the answer.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::server::{State, duration};

/// The most bytes that are thrown away after an answer.
const MOST_LEFT: usize = 256 << 20;

/// The body of one request.
pub(super) struct Upload {
    /// Gone once it is left to be thrown away.
    body: Option<Incoming>,
    state: Arc<State>,
    /// True while the client waits to be asked for the body (RFC 9110, section 10.1.1).
    waits: bool,
}

impl Upload {
    pub(super) fn new(body: Incoming, headers: &HeaderMap, state: Arc<State>) -> Self {
        Self {
            body: Some(body),
            waits: headers.contains_key(header::EXPECT),
            state,
        }
    }

    /// Returns the next piece.
    pub(super) async fn frame(&mut self) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        self.waits = false;
        self.body.as_mut()?.frame().await
    }

    /// The least length of what is to come.
    pub(super) fn least(&self) -> u64 {
        let body = self.body.as_ref();
        body.map_or(0, |body| body.size_hint().lower())
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let at_end = self.is_at_end();
        let Some(mut body) = self.body.take() else {
            return;
        };
        // A client that waits sends nothing after an answer.
        if at_end || self.waits {
            return;
        }
        let patience = duration(self.state.config.limits.read);
        let stop = self.state.stop.clone();
        let rest = async move {
            tokio::select! {
                _ = timeout(patience, throw_away(&mut body)) => {}
                () = stop.cancelled() => {}
            }
        };
        if let Ok(runtime) = Handle::try_current() {
            self.state.tunnels.spawn_on(rest, &runtime);
        }
    }
}

async fn throw_away(body: &mut Incoming) {
    let mut left = MOST_LEFT;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        if left == 0 {
            return;
        }
    }
}
