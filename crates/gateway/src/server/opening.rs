//! The start of an event stream, held back until it has content: a provider that accepts a request before it
//! checks its size refuses it there, under a status of success.

use bytes::{Bytes, BytesMut};
use http::{Response, header};
use hyper::body::Incoming;
use serde_json::json;
use wire::api::{Accumulator, Decoder, Dialect, Event, Failure};

use crate::server::exchange::Exchange;
use crate::server::refusal::Reason;
use crate::server::relay::next_frame;

/// The longest start held back; a longer one has content.
const LONGEST: usize = 64 << 10;

/// The names of events without content.
const EMPTY: [&str; 5] = [
    "message_start",
    "ping",
    "response.created",
    "response.queued",
    "response.in_progress",
];

/// The start of a stream.
#[derive(Default)]
pub(super) struct Opening {
    /// The bytes read so far.
    pub ahead: Bytes,
    /// The body of an equivalent refusal, if the stream says that the request is too long.
    pub overflow: Option<Bytes>,
}

/// Reads the events without content and the first one with content.
pub(super) async fn read(
    exchange: &Exchange,
    answer: &mut Response<Incoming>,
    dialect: Dialect,
) -> Result<Opening, Reason> {
    let mut opening = Opening::default();
    if !is_stream(answer) {
        return Ok(opening);
    }
    let silence = exchange.silence();
    let mut read = BytesMut::new();
    let mut decoder = Decoder::default();
    'frames: while read.len() <= LONGEST {
        let Some(frame) = next_frame(answer.body_mut(), silence).await? else {
            break;
        };
        let Some(data) = frame.data_ref() else {
            continue;
        };
        read.extend_from_slice(data);
        decoder.push(data);
        while let Some(event) = decoder.next_event() {
            match event.map_or(Meaning::Content, |event| Meaning::of(&event, dialect)) {
                Meaning::Empty => {}
                Meaning::Content => break 'frames,
                Meaning::TooLong(refusal) => {
                    opening.overflow = Some(refusal);
                    break 'frames;
                }
            }
        }
    }
    opening.ahead = read.freeze();
    Ok(opening)
}

fn is_stream(answer: &Response<Incoming>) -> bool {
    let text = |name| answer.headers().get(name).and_then(|it| it.to_str().ok());
    let plain = text(header::CONTENT_ENCODING).is_none_or(|coding| coding == "identity");
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    plain && kind.starts_with("text/event-stream")
}

/// The meaning of an event.
enum Meaning {
    Empty,
    Content,
    /// The request is too long; with the body of an equivalent refusal.
    TooLong(Bytes),
}

impl Meaning {
    fn of(event: &Event, dialect: Dialect) -> Self {
        let mut answer = Accumulator::new(dialect);
        if answer.accept(event).is_err() {
            return Self::Content;
        }
        let kind = serde_json::from_str(&event.data)
            .ok()
            .and_then(|data: serde_json::Value| Some(data.get("type")?.as_str()?.to_owned()));
        let kind = kind.unwrap_or_else(|| event.name.clone());
        match answer.reply().failure {
            Some(failure) if failure.is_overflow() => Self::TooLong(refusal(&failure)),
            None if EMPTY.contains(&kind.as_str()) => Self::Empty,
            _ => Self::Content,
        }
    }
}

fn refusal(failure: &Failure) -> Bytes {
    let error = json!({
        "type": failure.kind,
        "code": failure.code,
        "message": failure.message.to_string(),
    });
    Bytes::from(json!({"type": "error", "error": error}).to_string())
}

#[cfg(test)]
mod tests {
    use wire::api::{Dialect, Event};

    use super::Meaning;

    fn check(dialect: Dialect, name: &str, data: &str, expected: &str) {
        let said = match Meaning::of(&Event::new(name, data), dialect) {
            Meaning::Empty => "empty",
            Meaning::Content => "content",
            Meaning::TooLong(_) => "too long",
        };
        assert_eq!(said, expected, "{data}");
    }

    #[test]
    fn what_an_event_says() {
        let start = r#"{"type":"message_start","message":{"id":"m","content":[]}}"#;
        check(Dialect::Anthropic, "message_start", start, "empty");
        check(Dialect::Anthropic, "ping", r#"{"type":"ping"}"#, "empty");
        let block =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        check(Dialect::Anthropic, "content_block_start", block, "content");
        let long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#;
        check(Dialect::Anthropic, "error", long, "too long");
        let busy = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        check(Dialect::Anthropic, "error", busy, "content");
        let created = r#"{"type":"response.created","response":{"id":"r","status":"in_progress","error":null,"output":[]}}"#;
        check(Dialect::Responses, "response.created", created, "empty");
        let failed = r#"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"context_length_exceeded","message":"too long"},"output":[]}}"#;
        check(Dialect::Responses, "response.failed", failed, "too long");
        let chunk = r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant"}}]}"#;
        check(Dialect::Chat, "message", chunk, "content");
        let error = r#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 8 tokens"}}"#;
        check(Dialect::Chat, "message", error, "too long");
        check(Dialect::Chat, "message", "[DONE]", "content");
        check(Dialect::Chat, "message", "no JSON", "content");
    }
}
