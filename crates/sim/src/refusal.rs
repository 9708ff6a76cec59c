//! A refusal, and the two forms in which providers write one.

use serde_json::{Value, json};

use crate::exchange::Answer;
use crate::members::set;

/// The refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The error's type.
    pub kind: &'static str,
    /// The text.
    pub message: String,
    /// The stable code: `details.error_code` (Anthropic) or `code` (OpenAI).
    pub code: Option<&'static str>,
    /// More members of `details` (Anthropic).
    pub details: Option<Box<Value>>,
    /// The parameter that is wrong (OpenAI).
    pub param: Option<String>,
    /// Seconds after which to come again.
    pub retry_after: Option<u64>,
}

impl Refusal {
    /// A refusal of this status and type.
    #[must_use]
    pub fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            code: None,
            details: None,
            param: None,
            retry_after: None,
        }
    }

    /// 400 `invalid_request_error`.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    /// 400 for a field that may not be there.
    #[must_use]
    pub fn extra(path: &str) -> Self {
        Self::invalid(format!("{path}: Extra inputs are not permitted"))
    }

    /// The same with a stable code.
    #[must_use]
    pub fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// The same, naming the parameter.
    #[must_use]
    pub fn about(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// The same with another member in `details`.
    #[must_use]
    pub fn detailed(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The body as Anthropic writes it.
    #[must_use]
    pub fn anthropic(&self, request: &str) -> String {
        let mut error = json!({"type": self.kind, "message": self.message});
        if self.code.is_some() || self.details.is_some() {
            let own = self.details.as_deref().cloned();
            let mut details = own.unwrap_or_else(|| json!({}));
            if let Some(code) = self.code {
                set(&mut details, "error_code", code);
            }
            set(&mut error, "details", details);
        }
        json!({"type": "error", "error": error, "request_id": request}).to_string()
    }

    /// The body as OpenAI writes it.
    #[must_use]
    pub fn openai(&self) -> String {
        json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }})
        .to_string()
    }

    /// The answer with `body`.
    pub(crate) fn answer(&self, body: String) -> Answer {
        let mut answer = Answer::json(self.status, body);
        if let Some(seconds) = self.retry_after {
            answer.headers.push(("retry-after", seconds.to_string()));
        }
        answer
    }
}
