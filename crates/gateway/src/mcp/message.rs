//! JSON-RPC 2.0 over HTTP, as MCP uses it: one message a request, never a batch.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};

/// JSON-RPC's codes of errors.
const NOT_JSON: i32 = -32_700;
const BAD_REQUEST: i32 = -32_600;
const UNKNOWN_METHOD: i32 = -32_601;
const BAD_PARAMS: i32 = -32_602;

/// A request or a notification.
#[derive(Debug)]
pub(super) struct Message {
    /// A text or an integer; `None` for a notification.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

impl Message {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Fault> {
        let value = serde_json::from_slice(body).map_err(|error| {
            let message = format!("the body is not valid JSON: {error}");
            Fault::new(NOT_JSON, message).with_status(StatusCode::BAD_REQUEST)
        })?;
        let Value::Object(mut fields) = value else {
            return Err(Fault::request(
                "the body must be one JSON-RPC message, and no batch",
            ));
        };
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(Fault::request("`jsonrpc` must be \"2.0\""));
        }
        let id = fields.remove("id");
        if !id
            .as_ref()
            .is_none_or(|id| id.is_string() || id.is_i64() || id.is_u64())
        {
            return Err(Fault::request("`id` must be a string or an integer"));
        }
        let Some(Value::String(method)) = fields.remove("method") else {
            return Err(Fault::request(
                "`method` is missing; this server sends no requests that could be answered",
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
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let essence = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    };
    if text(header::CONTENT_TYPE).map(essence).as_deref() != Some("application/json") {
        return Err(Fault::request("the content type must be application/json")
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let is_json = |kind: &str| {
        let refused = kind.split(';').skip(1).any(|parameter| {
            let weight = parameter.trim().strip_prefix("q=");
            weight.and_then(|weight| weight.parse().ok()) == Some(0.0)
        });
        let fits = matches!(
            essence(kind).as_str(),
            "application/json" | "application/*" | "*/*"
        );
        fits && !refused
    };
    match text(header::ACCEPT) {
        Some(accepted) if !accepted.split(',').any(is_json) => {
            Err(Fault::request("the answer is application/json")
                .with_status(StatusCode::NOT_ACCEPTABLE))
        }
        _ => Ok(()),
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

    /// The message is none of JSON-RPC's.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self::new(BAD_REQUEST, message).with_status(StatusCode::BAD_REQUEST)
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(BAD_PARAMS, message)
    }

    pub(super) fn method(method: &str) -> Self {
        Self::new(UNKNOWN_METHOD, format!("there is no method `{method}`"))
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        let data = Some(data);
        Self { data, ..self }
    }

    /// Tells it to the sender of the message with this ID. MCP knows no `null` here.
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
