//! The gateway's own errors, in the format of the client's API.

use bytes::Bytes;
use context::coded::ErrorCode;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde_json::json;

use crate::error;
use crate::server::route::Provider;
use crate::server::{Body, headers};
use conversation::words::Did;

/// The reason that a request has no answer from its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    TooLarge {
        limit: usize,
    },
    TooSlow,
    Unreachable,
    Silent,
    Busy,
    Full,
    NoUpgrade,
    BrokenBody,
    BrokenAnswer,
    /// Another site's page sent it, or it names another host.
    Foreign,
}

impl Reason {
    pub(crate) const fn code(self) -> ErrorCode {
        match self {
            Self::TooLarge { .. } => error::BODY_TOO_LARGE,
            Self::TooSlow => error::TOO_SLOW,
            Self::Unreachable => error::UNREACHABLE,
            Self::Silent => error::SILENT,
            Self::Busy => error::BUSY,
            Self::Full => error::FULL,
            Self::NoUpgrade => error::NO_UPGRADE,
            Self::BrokenBody => error::BROKEN_BODY,
            Self::BrokenAnswer => error::BROKEN_ANSWER,
            Self::Foreign => error::FOREIGN,
        }
    }

    /// The HTTP status. The official clients retry after 408, 409, 429 and 5xx.
    const fn status(self, provider: Provider) -> u16 {
        match self {
            Self::TooLarge { .. } => 413,
            Self::TooSlow => 408,
            Self::Unreachable | Self::BrokenAnswer => 502,
            Self::Silent => 504,
            Self::Busy | Self::Full => match provider {
                Provider::Anthropic => 529,
                Provider::OpenAi => 503,
            },
            Self::NoUpgrade => 426,
            Self::BrokenBody => 400,
            Self::Foreign => 403,
        }
    }

    /// The provider's name for this kind of error.
    const fn kind(self, provider: Provider) -> &'static str {
        match (provider, self) {
            (Provider::Anthropic, Self::TooLarge { .. }) => "request_too_large",
            (Provider::Anthropic, Self::TooSlow | Self::Silent) => "timeout_error",
            (Provider::Anthropic, Self::Busy | Self::Full) => "overloaded_error",
            (Provider::Anthropic, Self::Unreachable | Self::BrokenAnswer) => "api_error",
            (Provider::Anthropic, Self::Foreign) => "permission_error",
            (
                _,
                Self::Foreign
                | Self::NoUpgrade
                | Self::BrokenBody
                | Self::TooLarge { .. }
                | Self::TooSlow,
            ) => "invalid_request_error",
            (Provider::OpenAi, _) => "server_error",
        }
    }

    /// Says what happened, where, and what to do.
    fn message(self, tried: Option<&str>) -> String {
        let code = self.code();
        let meaning = error::meaning(code);
        let place = match (self, tried) {
            (Self::TooLarge { limit }, _) => format!(" of {limit} bytes"),
            (Self::Unreachable | Self::Silent | Self::BrokenAnswer, Some(tried)) => {
                format!(" ({tried})")
            }
            _ => String::new(),
        };
        let hint = error::remedy(code).unwrap_or_default();
        format!("ebbtide[{code}]: {meaning}{place}. {hint}")
    }

    /// The word for the header and the metrics.
    pub(crate) const fn did(self) -> Did {
        match self {
            Self::Unreachable | Self::Silent | Self::BrokenAnswer => Did::Failed,
            _ => Did::Refused,
        }
    }

    /// Builds the answer. `tried` is the host and port that the request was sent to.
    pub(crate) fn respond(self, provider: Provider, tried: Option<&str>) -> Response<Body> {
        let kind = self.kind(provider);
        let message = self.message(tried);
        let body = match provider {
            Provider::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Provider::OpenAi => json!({
                "error": {"message": message, "type": kind, "param": null, "code": self.code().as_str()}
            }),
        };
        let mut response = Response::new(whole(Bytes::from(body.to_string())));
        *response.status_mut() =
            StatusCode::from_u16(self.status(provider)).unwrap_or(StatusCode::BAD_GATEWAY);
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(
            headers::ERROR,
            HeaderValue::from_static(self.code().as_str()),
        );
        headers::annotate(headers, &[self.did()], None, None);
        if matches!(self, Self::Busy | Self::Full) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self == Self::NoUpgrade {
            // RFC 9110, section 15.5.22: the answer names the required protocol.
            headers.insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        }
        if matches!(self, Self::TooLarge { .. } | Self::TooSlow) {
            // The rest of the body is read only so that the client gets the answer.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Wraps bytes as a body.
pub(crate) fn whole(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}
