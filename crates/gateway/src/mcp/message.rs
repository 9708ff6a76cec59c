//! JSON-RPC 2.0 over HTTP, as MCP uses it: one message a request, never a batch.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::dashboard::one_line;

/// JSON-RPC's codes of errors.
const NOT_JSON: i32 = -32_700;
const BAD_REQUEST: i32 = -32_600;
const UNKNOWN_METHOD: i32 = -32_601;
const BAD_PARAMS: i32 = -32_602;
/// MCP's code for a header that contradicts the body or is missing.
const HEADER_MISMATCH: i32 = -32_020;

/// The longest name that an error quotes whole, in characters.
const SHOWN: usize = 80;

/// A name from a message, short enough to quote in an error.
pub(super) fn quotable(name: &str) -> String {
    one_line(name, SHOWN)
}

/// A request or a notification.
#[derive(Debug)]
pub(super) struct Message {
    /// A text or an integer; `None` for a notification.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// The ID and the other fields of a message. The ID comes first: its sender waits for an answer with it, also where
/// something else is wrong.
pub(super) fn parse(body: &[u8]) -> Result<(Option<Value>, Map<String, Value>), Fault> {
    let value = serde_json::from_slice(body).map_err(|error| {
        let message = format!("the body is not valid JSON: {error}");
        Fault::new(NOT_JSON, message).with_status(StatusCode::BAD_REQUEST)
    })?;
    let Value::Object(mut fields) = value else {
        let message = "the body must be a single JSON-RPC message; batches are not supported";
        return Err(Fault::request(message));
    };
    let id = fields.remove("id");
    // `1e3` is an integer too.
    let is_whole = |id: &Value| id.as_f64().is_some_and(|number| number.fract() == 0.0);
    let is_id = |id: &Value| id.is_string() || is_whole(id);
    match id.as_ref().is_none_or(is_id) {
        true => Ok((id, fields)),
        false => Err(Fault::request("`id` must be a string or an integer")),
    }
}

impl Message {
    pub(super) fn new(id: Option<Value>, mut fields: Map<String, Value>) -> Result<Self, Fault> {
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(Fault::request("`jsonrpc` must be \"2.0\""));
        }
        let Some(Value::String(method)) = fields.remove("method") else {
            return Err(Fault::request(
                "`method` must be a string; responses are not accepted, because this server sends no requests",
            ));
        };
        let params = match fields.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(Fault::request("`params` must be an object")),
        };
        Ok(Self { id, method, params })
    }
}

/// Checks the media types of a request. A page of another site cannot send this type without being asked first.
pub(super) fn transport(headers: &HeaderMap) -> Result<(), Fault> {
    let kind = one(headers, "content-type")?.unwrap_or_default();
    if essence(kind) != "application/json" {
        return Err(Fault::request("the content type must be application/json")
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let accepted = headers.get_all(header::ACCEPT).iter();
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    let ranges: Vec<&str> = accepted.flat_map(|value| value.split(',')).collect();
    // The most specific range decides.
    let decides = ["application/json", "application/*", "*/*"]
        .iter()
        .find_map(|wanted| ranges.iter().find(|range| essence(range) == *wanted));
    match decides {
        Some(range) if !is_refused(range) => Ok(()),
        None if ranges.is_empty() => Ok(()),
        _ => Err(Fault::request("`Accept` must allow application/json")
            .with_status(StatusCode::NOT_ACCEPTABLE)),
    }
}

/// A media type without its parameters.
fn essence(kind: &str) -> String {
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// True if the weight of a media range is zero.
fn is_refused(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let Some((name, weight)) = parameter.split_once('=') else {
            return false;
        };
        name.trim().eq_ignore_ascii_case("q") && weight.trim().parse() == Ok(0.0)
    })
}

/// The value of a header that may come once.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Fault> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| Fault::header(format!("the header {name} is not plain text"))),
        (Some(_), Some(_)) => Err(Fault::header(format!(
            "the header {name} was sent more than once"
        ))),
    }
}

/// An error of the protocol. What a tool refuses is a result instead.
#[derive(Debug)]
pub(super) struct Fault {
    status: StatusCode,
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Fault {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::OK,
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The message is not valid JSON-RPC.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self::new(BAD_REQUEST, message).with_status(StatusCode::BAD_REQUEST)
    }

    /// A header is missing, or says something else than the body.
    pub(super) fn header(message: impl Into<String>) -> Self {
        Self::new(HEADER_MISMATCH, message).with_status(StatusCode::BAD_REQUEST)
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(BAD_PARAMS, message)
    }

    pub(super) fn method(method: &str) -> Self {
        let method = quotable(method);
        Self::new(UNKNOWN_METHOD, format!("there is no method `{method}`"))
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        let data = Some(data);
        Self { data, ..self }
    }

    /// Builds the response for the message with this ID. Without an ID the field is left out, since MCP does not allow
    /// `null`.
    pub(super) fn response(self, id: Option<&Value>) -> Response {
        let mut error = json!({"code": self.code, "message": self.message});
        let mut body = json!({"jsonrpc": "2.0"});
        if let (Some(data), Some(fields)) = (self.data, error.as_object_mut()) {
            fields.insert("data".to_owned(), data);
        }
        if let Some(fields) = body.as_object_mut() {
            fields.extend(id.map(|id| ("id".to_owned(), id.clone())));
            fields.insert("error".to_owned(), error);
        }
        (self.status, Json(body)).into_response()
    }
}
