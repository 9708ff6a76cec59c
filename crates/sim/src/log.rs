//! A log of requests as they were received: one JSON text a line.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::exchange::Incoming;

/// Words in the names of headers that carry keys. They are not written.
const SECRET: [&str; 7] = [
    "api-key",
    "apikey",
    "auth",
    "cookie",
    "secret",
    "subscription-key",
    "token",
];

/// Words in names of query parameters whose values are not written.
const SECRET_IN_QUERY: [&str; 2] = ["key", "token"];

/// Writes each request as `{"at","method","path","headers","body"}`. The body stands as it was
/// received, byte for byte, if it is JSON on one line; JSON on several lines is written anew, and
/// other text is a string.
pub struct Log {
    out: Mutex<Box<dyn Write + Send>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Log {
    /// A log into this writer. Every line is flushed.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: Mutex::new(out),
        }
    }

    /// Writes a request.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, incoming: &Incoming<'_>) -> std::io::Result<()> {
        let mut line = line(incoming);
        line.push('\n');
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(line.as_bytes())?;
        out.flush()
    }
}

fn line(incoming: &Incoming<'_>) -> String {
    let mut headers = Map::new();
    for (name, value) in incoming.headers {
        if SECRET.iter().any(|word| name.as_str().contains(word)) {
            continue;
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        let joined = match headers.get(name.as_str()).and_then(Value::as_str) {
            Some(before) => format!("{before}, {text}"),
            None => text.into_owned(),
        };
        headers.insert(name.as_str().to_owned(), Value::String(joined));
    }
    // Written by hand, because the body must keep its spelling.
    format!(
        r#"{{"at":{},"method":{},"path":{},"headers":{},"body":{}}}"#,
        json!(incoming.now.to_string()),
        json!(incoming.method.as_str()),
        json!(without_keys(incoming.path)),
        Value::Object(headers),
        said(incoming.body)
    )
}

/// A path with the keys of its query left out.
fn without_keys(path: &str) -> Cow<'_, str> {
    let Some((path, query)) = path.split_once('?') else {
        return Cow::Borrowed(path);
    };
    let shown = query.split('&').map(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        match SECRET_IN_QUERY.iter().any(|word| lower.contains(word)) {
            true => format!("{name}=…"),
            false => pair.to_owned(),
        }
    });
    Cow::Owned(format!("{path}?{}", shown.collect::<Vec<_>>().join("&")))
}

fn said(body: &[u8]) -> Cow<'_, str> {
    if body.is_empty() {
        return Cow::Borrowed("null");
    }
    match serde_json::from_slice::<&RawValue>(body) {
        Ok(raw) if !raw.get().contains(['\n', '\r']) => Cow::Borrowed(raw.get()),
        Ok(raw) => match serde_json::from_str::<Value>(raw.get()) {
            Ok(value) => Cow::Owned(value.to_string()),
            Err(_) => Cow::Owned(json!(raw.get()).to_string()),
        },
        Err(_) => Cow::Owned(json!(String::from_utf8_lossy(body)).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::exchange::Incoming;
    use http::{HeaderMap, HeaderValue, Method};
    use jiff::Timestamp;

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let mut headers = HeaderMap::new();
        for name in [
            "x-api-key",
            "api-key",
            "x-goog-api-key",
            "authorization",
            "helicone-auth",
        ] {
            headers.insert(name, HeaderValue::from_static("sk-secret"));
        }
        headers.append("anthropic-beta", HeaderValue::from_static("a"));
        headers.append("anthropic-beta", HeaderValue::from_static("b"));
        let incoming = Incoming {
            method: &Method::POST,
            path: "/v1/messages?beta=true",
            headers: &headers,
            body: body.as_bytes(),
            now: Timestamp::UNIX_EPOCH,
        };
        let written = line(&incoming);
        let head = r#"{"at":"1970-01-01T00:00:00Z","method":"POST","path":"/v1/messages?beta=true","headers":{"anthropic-beta":"a, b"},"body":"#;
        assert_eq!(written, format!("{head}{expected}}}"));
    }

    #[test]
    fn keys_in_a_query_are_left_out() {
        let check = |path, expected| assert_eq!(super::without_keys(path), expected);
        check("/v1/messages", "/v1/messages");
        check("/v1/messages?beta=true", "/v1/messages?beta=true");
        check(
            "/v1/x?beta=1&Api_Key=abc&token=d",
            "/v1/x?beta=1&Api_Key=…&token=…",
        );
    }

    #[test]
    fn a_body_is_written_as_it_came() {
        check(r#"{"b": 1.0,  "a":[]}"#, r#"{"b": 1.0,  "a":[]}"#);
        check("{\n\"a\": 1}", r#"{"a":1}"#);
        check("no json", r#""no json""#);
        check("", "null");
    }
}
