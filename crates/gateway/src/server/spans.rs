//! OpenTelemetry: one span per generation, named by the conventions for generative AI and exported as OTLP
//! over HTTP in JSON. Spans contain no message text and no key.
//!
//! The export is written by hand: the format is small and stable, and the OTLP crates bring another HTTP
//! client and about a hundred more crates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::server::ServeError;
use crate::server::refusal::whole;
use crate::server::route::Provider;
use crate::server::upstream::Upstream;

/// The most spans that wait for export; more are dropped.
const WAITING: usize = 2048;
/// The most spans per export.
const BATCH: usize = 256;
/// The longest that a span waits for others.
const PAUSE: Duration = Duration::from_secs(1);
/// The time-out of a collector.
const PATIENCE: Duration = Duration::from_secs(10);

/// Exports spans to a collector, if one is configured.
pub(crate) struct Spans {
    collector: Option<Collector>,
    secret: [u8; 32],
    made: AtomicU64,
}

struct Collector {
    sender: Sender<Value>,
    stop: CancellationToken,
    task: TaskTracker,
}

/// The ids of a span, in the client's trace if the request names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpanContext {
    trace: String,
    span: String,
    parent: Option<String>,
}

/// The data of one span.
pub(crate) struct SpanData<'a> {
    pub(crate) context: &'a SpanContext,
    pub(crate) name: String,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) status: u16,
    pub(crate) attributes: Vec<(&'static str, Value)>,
}

impl Spans {
    /// Exports to the collector at this base URL.
    pub(super) fn new(
        url: Option<&str>,
        secret: [u8; 32],
        started: Timestamp,
    ) -> Result<Self, ServeError> {
        let collector = url.map(Collector::start).transpose()?;
        // The start time makes the ids differ from those of an earlier process.
        let first = u64::try_from(started.as_nanosecond()).unwrap_or_default();
        Ok(Self {
            collector,
            secret,
            made: AtomicU64::new(first),
        })
    }

    /// Creates the context of a new span; `None` without a collector.
    pub(crate) fn context(&self, headers: &HeaderMap) -> Option<SpanContext> {
        self.collector.as_ref()?;
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(&self.secret, &number.to_le_bytes()).to_hex();
        let (trace, rest) = hash.split_at_checked(32)?;
        let span = rest.get(..16)?.to_owned();
        let (trace, parent) = match parent(headers) {
            Some((trace, parent)) => (trace, Some(parent)),
            None => (trace.to_owned(), None),
        };
        Some(SpanContext {
            trace,
            span,
            parent,
        })
    }

    /// Queues a span for export without waiting.
    pub(crate) fn export(&self, data: SpanData<'_>) {
        if let Some(collector) = &self.collector
            && collector.sender.try_send(span(data)).is_err()
        {
            tracing::debug!("a span was dropped: the export queue is full");
        }
    }

    /// Exports the queued spans and stops.
    pub(super) async fn close(&self) {
        if let Some(Collector { stop, task, .. }) = &self.collector {
            stop.cancel();
            task.close();
            task.wait().await;
        }
    }
}

/// Parses the client's trace and span (W3C Trace Context, section 3.2).
fn parent(headers: &HeaderMap) -> Option<(String, String)> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = text.split('-');
    let (_version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let is_id = |id: &str, length: usize| {
        id.len() == length
            && id
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            && id.bytes().any(|byte| byte != b'0')
    };
    (is_id(trace, 32) && is_id(span, 16)).then(|| (trace.to_owned(), span.to_owned()))
}

fn span(told: SpanData<'_>) -> Value {
    let attributes: Vec<Value> = told
        .attributes
        .into_iter()
        .map(|(name, value)| json!({"key": name, "value": any_value(&value)}))
        .collect();
    let nanoseconds = |at: Timestamp| at.as_nanosecond().to_string();
    // Kind 3 is a client span, status code 2 an error.
    let mut span = json!({
    "traceId": told.context.trace,
    "spanId": told.context.span,
        "name": told.name,
        "kind": 3,
        "startTimeUnixNano": nanoseconds(told.from),
        "endTimeUnixNano": nanoseconds(told.to),
        "attributes": attributes,
        "status": if told.status >= 400 { json!({"code": 2}) } else { json!({}) },
    });
    if let (Some(parent), Some(span)) = (&told.context.parent, span.as_object_mut()) {
        span.insert("parentSpanId".to_owned(), json!(parent));
    }
    span
}

/// Converts a value to OTLP's JSON, which writes 64-bit numbers as strings.
fn any_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Array(values) => {
            let values: Vec<Value> = values.iter().map(any_value).collect();
            json!({"arrayValue": {"values": values}})
        }
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    }
}

impl Collector {
    fn start(url: &str) -> Result<Self, ServeError> {
        let upstream = Upstream::single(url)?;
        let (sender, receiver) = channel(WAITING);
        let (stop, task) = (CancellationToken::new(), TaskTracker::new());
        task.spawn(export(Arc::new(upstream), receiver, stop.clone()));
        Ok(Self { sender, stop, task })
    }
}

async fn export(upstream: Arc<Upstream>, mut spans: Receiver<Value>, stop: CancellationToken) {
    let mut batch = Vec::new();
    loop {
        let last = tokio::select! {
            () = stop.cancelled() => true,
            () = gather(&mut spans, &mut batch) => false,
        };
        if last {
            while let Ok(span) = spans.try_recv() {
                batch.push(span);
            }
        }
        if !batch.is_empty() {
            send(&upstream, std::mem::take(&mut batch)).await;
        }
        if last {
            return;
        }
    }
}

/// Waits for a span and for those that follow it closely.
async fn gather(spans: &mut Receiver<Value>, batch: &mut Vec<Value>) {
    let Some(first) = spans.recv().await else {
        return std::future::pending().await;
    };
    batch.push(first);
    let more = async {
        while batch.len() < BATCH {
            match spans.recv().await {
                Some(span) => batch.push(span),
                None => return,
            }
        }
    };
    // A pause ends the batch as a full batch does.
    let _ = timeout(PAUSE, more).await;
}

async fn send(upstream: &Upstream, spans: Vec<Value>) {
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "ebbtide"}},
            {"key": "service.version", "value": {"stringValue": env!("CARGO_PKG_VERSION")}},
        ]},
        "scopeSpans": [{"scope": {"name": "ebbtide"}, "spans": spans}],
    }]});
    let mut request = Request::new(whole(Bytes::from(body.to_string())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("/v1/traces");
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::CONTENT_TYPE, json);
    match timeout(PATIENCE, upstream.send(Provider::OpenAi, request)).await {
        Ok(Ok(answer)) if answer.status().is_success() => {}
        Ok(Ok(answer)) => {
            tracing::warn!(
                status = answer.status().as_u16(),
                "the collector rejected spans"
            );
        }
        Ok(Err(_)) | Err(_) => tracing::warn!("spans were lost: the collector does not answer"),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::parent;

    #[track_caller]
    fn check(header: &str, expected: Option<(&str, &str)>) {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", HeaderValue::from_str(header).unwrap());
        let expected = expected.map(|(trace, span)| (trace.to_owned(), span.to_owned()));
        assert_eq!(parent(&headers), expected);
    }

    #[test]
    fn the_clients_trace() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let span = "00f067aa0ba902b7";
        check(&format!("00-{trace}-{span}-01"), Some((trace, span)));
        check(&format!("00-{}-{span}-01", "0".repeat(32)), None);
        check(&format!("00-{trace}-{span}x-01"), None);
        check("", None);
    }
}
