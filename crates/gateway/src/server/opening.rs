//! The start of an event stream, held back until it has content: a provider that accepts a request before it
//! checks its size refuses it there, under a status of success.
//!
//! Only the events that belong to one answer are held back, such as `message_start`, since another answer may
//! take its place. Pings and comments go on at once, and so does the head of the answer after a moment.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Response, header};
use hyper::body::Incoming;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use wire::api::{Accumulator, Decoder, Dialect, Event, Failure};

use crate::server::exchange::Exchange;
use crate::server::refusal::Reason;
use crate::server::relay::next_frame;

/// The longest start held back; a longer one has content.
const LONGEST: usize = 64 << 10;
/// The time for which the head of an answer waits for its content. A provider that refuses a request under a
/// status of success does so at once, and then the head can still say what was done.
const MOMENT: Duration = Duration::from_millis(200);

/// The names of events without content.
const EMPTY: [&str; 4] = [
    "message_start",
    "response.created",
    "response.queued",
    "response.in_progress",
];

/// The start of a stream that has shown no content yet.
pub(super) struct Opening {
    dialect: Dialect,
    /// Whole events that are held back.
    held: BytesMut,
    /// The beginning of an event.
    rest: BytesMut,
}

/// The result of reading a piece of a stream.
pub(super) enum Arrived {
    /// Nothing yet. These pings and comments can go on.
    Nothing(Bytes),
    /// Content: everything so far can go on.
    Content(Bytes),
    /// The request is too long; with everything so far, and the body of an equivalent refusal.
    TooLong(Bytes, Bytes),
}

impl Opening {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            held: BytesMut::new(),
            rest: BytesMut::new(),
        }
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) -> Arrived {
        self.rest.extend_from_slice(piece);
        let mut passed = BytesMut::new();
        while let Some(end) = end_of_event(&self.rest) {
            let event = self.rest.split_to(end);
            match Meaning::of_bytes(&event, self.dialect) {
                Meaning::Idle => passed.extend_from_slice(&event),
                Meaning::Empty => self.held.extend_from_slice(&event),
                Meaning::Content => {
                    self.held.extend_from_slice(&event);
                    return Arrived::Content(self.all(passed));
                }
                Meaning::TooLong(refusal) => {
                    self.held.extend_from_slice(&event);
                    return Arrived::TooLong(self.all(passed), refusal);
                }
            }
        }
        if self.held.len().saturating_add(self.rest.len()) > LONGEST {
            return Arrived::Content(self.all(passed));
        }
        Arrived::Nothing(passed.freeze())
    }

    /// Everything that did not go on yet.
    pub(super) fn held(&mut self) -> Bytes {
        self.all(BytesMut::new())
    }

    fn all(&mut self, mut passed: BytesMut) -> Bytes {
        passed.unsplit(self.held.split());
        passed.unsplit(self.rest.split());
        passed.freeze()
    }
}

/// Returns the length of the first event in these bytes, with the empty line behind it.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let mut line = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match (byte, bytes.get(at + 1)) {
            (b'\n', _) => at + 1,
            (b'\r', Some(b'\n')) => at + 2,
            (b'\r', Some(_)) => at + 1,
            _ => {
                at += 1;
                continue;
            }
        };
        if at == line && line > 0 {
            return Some(end);
        }
        (line, at) = (end, end);
    }
    None
}

/// Reads a stream for a moment.
pub(super) async fn read(
    exchange: &Exchange,
    answer: &mut Response<Incoming>,
    dialect: Dialect,
) -> Result<(Arrived, Option<Opening>), Reason> {
    if !is_stream(answer) {
        return Ok((Arrived::Content(Bytes::new()), None));
    }
    let silence = exchange.silence();
    let until = Instant::now() + MOMENT;
    let mut opening = Opening::new(dialect);
    // Everything as it came, and the part that may go on whatever the rest is.
    let (mut read, mut idle) = (BytesMut::new(), BytesMut::new());
    loop {
        let frame = match timeout_at(until, next_frame(answer.body_mut(), silence)).await {
            Ok(Ok(Some(frame))) => frame,
            Ok(Ok(None)) => return Ok((Arrived::Content(read.freeze()), None)),
            Ok(Err(reason)) => return Err(reason),
            Err(_) => return Ok((Arrived::Nothing(idle.freeze()), Some(opening))),
        };
        let Some(data) = frame.data_ref() else {
            continue;
        };
        read.extend_from_slice(data);
        match opening.take(data) {
            Arrived::Nothing(passed) => idle.extend_from_slice(&passed),
            Arrived::Content(_) => return Ok((Arrived::Content(read.freeze()), None)),
            Arrived::TooLong(_, refusal) => {
                return Ok((Arrived::TooLong(read.freeze(), refusal), None));
            }
        }
    }
}

/// Returns true for an event stream that can be read.
pub(super) fn is_stream(answer: &Response<Incoming>) -> bool {
    let text = |name| answer.headers().get(name).and_then(|it| it.to_str().ok());
    let plain = text(header::CONTENT_ENCODING).is_none_or(|coding| coding == "identity");
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    plain && kind.starts_with("text/event-stream")
}

/// The meaning of an event.
enum Meaning {
    /// A sign of life, which belongs to no answer.
    Idle,
    /// The beginning of an answer.
    Empty,
    Content,
    /// The request is too long; with the body of an equivalent refusal.
    TooLong(Bytes),
}

impl Meaning {
    fn of_bytes(bytes: &[u8], dialect: Dialect) -> Self {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        match decoder.next_event() {
            // A comment.
            None => Self::Idle,
            Some(Ok(event)) => Self::of(&event, dialect),
            Some(Err(_)) => Self::Content,
        }
    }

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
            None if kind == "ping" => Self::Idle,
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

    use super::{Arrived, Meaning, Opening};

    fn check(dialect: Dialect, name: &str, data: &str, expected: &str) {
        let said = match Meaning::of(&Event::new(name, data), dialect) {
            Meaning::Idle => "idle",
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
        check(Dialect::Anthropic, "ping", r#"{"type":"ping"}"#, "idle");
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

    const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n\n";
    const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    const WORD: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\n";

    /// Takes pieces of so many bytes, and returns what went on before there was content, and with it.
    fn taken(stream: &str, size: usize) -> (String, String) {
        let mut opening = Opening::new(Dialect::Anthropic);
        let mut before = String::new();
        let mut pieces = stream.as_bytes().chunks(size);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        for piece in pieces.by_ref() {
            match opening.take(piece) {
                Arrived::Nothing(passed) => before.push_str(&text(&passed)),
                Arrived::Content(all) | Arrived::TooLong(all, _) => {
                    let rest: Vec<u8> = pieces.flatten().copied().collect();
                    return (before, text(&all) + &text(&rest));
                }
            }
        }
        (before, text(&opening.held()))
    }

    #[test]
    fn signs_of_life_go_on_and_the_rest_waits_for_content() {
        for line in ["\n", "\r\n", "\r"] {
            let of = |text: &str| text.replace('\n', line);
            let idle = format!(": wait\n\n{PING}{PING}");
            let (idle, start, word) = (of(&idle), of(START), of(WORD));
            let stream = format!("{start}{idle}{word}: end\n\n");
            for size in [1, 7, 50] {
                let (before, with) = taken(&stream, size);
                assert_eq!(
                    (before.as_str(), with),
                    (idle.as_str(), format!("{start}{word}: end\n\n")),
                    "{size}"
                );
            }
            let (before, with) = taken(&stream, stream.len());
            assert_eq!(before + &with, format!("{idle}{start}{word}: end\n\n"));
        }
    }

    #[test]
    fn a_start_without_end_is_content() {
        let (before, with) = taken(&format!("data: {}", "x".repeat(100_000)), 1_000);
        assert_eq!((before.len(), with.len()), (0, 100_006));
    }
}
