//! A client without a socket.

use http::{HeaderMap, HeaderValue, Method};
use jiff::Timestamp;
use serde_json::{Value, json};
use sim::{Answer, Config, Incoming, Provider};
use wire::api::{Accumulator, Decoder, Dialect, Reply, Response};

pub const MODEL: &str = "gpt-5.6-sol";

pub struct Client {
    pub provider: Provider,
    pub second: i64,
}

impl Client {
    pub fn new() -> Self {
        Self {
            provider: Provider::new(Config::default()),
            second: 0,
        }
    }

    pub fn send(&mut self, path: &str, body: &Value) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer key"));
        let mut whole = json!({"model": MODEL});
        for (key, value) in body.as_object().unwrap() {
            whole[key] = value.clone();
        }
        self.provider.answer(&Incoming {
            method: &Method::POST,
            path,
            headers: &headers,
            body: whole.to_string().as_bytes(),
            now: Timestamp::from_second(self.second).unwrap(),
        })
    }

    #[track_caller]
    pub fn answered(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.send(path, body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        serde_json::from_str(&answer.text()).unwrap()
    }

    /// Sends, and expects a refusal with this code (empty: none) and a part of its text.
    #[track_caller]
    pub fn refused(&mut self, path: &str, body: &Value, code: &str, text: &str) {
        let answer = self.send(path, body);
        let value: Value = serde_json::from_str(&answer.text()).unwrap();
        let error = &value["error"];
        assert_eq!(answer.status, 400, "{value}");
        assert_eq!(error["type"], "invalid_request_error");
        assert_eq!(error["code"].as_str().unwrap_or_default(), code, "{value}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(text), "{message} has no {text}");
    }
}

/// A stream and the answer that is none say the same.
#[track_caller]
pub fn same_as_a_stream(dialect: Dialect, path: &str, body: &Value) {
    let values = |reply: &Reply| -> Vec<Value> {
        let pieces = reply.pieces.iter();
        pieces.map(|it| serde_json::from_str(it).unwrap()).collect()
    };
    let answer = Client::new().send(path, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let whole = Response::parse(dialect, answer.text().as_bytes())
        .unwrap()
        .reply();
    let mut body = body.clone();
    body["stream"] = json!(true);
    if dialect == Dialect::Chat {
        body["stream_options"] = json!({"include_usage": true});
    }
    let mut decoder = Decoder::default();
    decoder.push(Client::new().send(path, &body).text().as_bytes());
    let mut accumulator = Accumulator::new(dialect);
    while let Some(event) = decoder.next_event() {
        accumulator.accept(&event.unwrap()).unwrap();
    }
    let streamed = accumulator.reply();
    assert_eq!(values(&whole), values(&streamed));
    assert_eq!(
        (whole.stop, whole.id, whole.usage),
        (streamed.stop, streamed.id, streamed.usage)
    );
}
