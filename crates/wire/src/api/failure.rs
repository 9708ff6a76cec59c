//! Errors that a provider reports.

use context::Text;

use super::error::ApiError;
use super::json::scan::Kind;
use super::json::tree::{Tree, Value};
use super::limits::Limits;
use super::overflow::Overflow;
use super::request::checked_text;

/// An error that a provider reports, in a body or in a stream. The caller keeps the bytes: clients
/// match on the wording, so they are passed on unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The provider's name for the kind of error, such as `invalid_request_error`.
    pub kind: String,
    /// The code: Anthropic's `details.error_code`, OpenAI's `code`.
    pub code: Option<String>,
    /// The message.
    pub message: Text,
    /// The parameter that the error is about, where the provider names one.
    pub param: Option<String>,
    /// The provider's id for the request, where the body has one.
    pub request: Option<String>,
}

impl Failure {
    /// The error in `body`: `Ok(None)` where the body is JSON but reports no error.
    ///
    /// # Errors
    /// The body is not JSON: some proxies answer with pages.
    pub fn parse(body: &[u8]) -> Result<Option<Self>, ApiError> {
        let limits = Limits::default();
        let text = checked_text(body, limits)?;
        let tree =
            Tree::parse(text, limits.depth_in_force()).map_err(|fault| fault.in_body(body))?;
        Ok(Self::read(tree.root()))
    }

    /// Returns `true` if the request did not fit the model's window.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.overflow().is_some()
    }

    /// The sizes that the message names, where the request did not fit the model's window.
    #[must_use]
    pub fn overflow(&self) -> Option<Overflow> {
        Overflow::read(self.code.as_deref().unwrap_or_default(), &self.message)
            .or_else(|| Overflow::read(&self.kind, ""))
    }

    /// Returns `true` if the provider found thinking that was written in another conversation, or behind
    /// other messages than it follows now.
    #[must_use]
    pub fn is_foreign_thinking(&self) -> bool {
        self.kind == "invalid_request_error"
            && self
                .message
                .contains("Invalid `signature` in `thinking` block")
    }

    /// The error in a body or an event. OpenAI's stream events carry it without an envelope.
    pub(super) fn read(root: Value<'_>) -> Option<Self> {
        let marked = root.get("type").is_some_and(|kind| kind.is("error"));
        let nested = root.get("error").filter(|error| !error.is_null());
        let error = match nested {
            Some(error) => error,
            None if marked => root,
            None => return None,
        };
        let text = |key| error.get_text(key).map(std::borrow::Cow::into_owned);
        let detail = error
            .get("details")
            .and_then(|details| details.get_text("error_code"));
        // Some gateways put a number under `code`, some only a string under `error`.
        let code = detail.map(std::borrow::Cow::into_owned).or_else(|| {
            let code = error.get("code").filter(|code| !code.is_null())?;
            Some(
                code.text()
                    .map_or_else(|| code.raw().to_owned(), |text| text.into_owned()),
            )
        });
        let message = match error.kind() {
            Kind::Plain | Kind::Escaped => error.text().unwrap_or_default().into_owned(),
            _ => text("message").unwrap_or_default(),
        };
        Some(Self {
            kind: text("type").unwrap_or_else(|| "error".to_owned()),
            code,
            message: Text::from(message),
            param: text("param"),
            request: root
                .get_text("request_id")
                .map(std::borrow::Cow::into_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    fn check(body: &str, kind: &str, code: Option<&str>, overflow: bool) {
        let failure = Failure::parse(body.as_bytes()).unwrap().unwrap();
        assert_eq!(failure.kind, kind, "{body}");
        assert_eq!(failure.code.as_deref(), code, "{body}");
        assert_eq!(failure.is_overflow(), overflow, "{body}");
    }

    #[test]
    fn thinking_of_another_conversation() {
        let check = |kind: &str, message: &str, expected: bool| {
            let body =
                format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#);
            let failure = Failure::parse(body.as_bytes()).unwrap().unwrap();
            assert_eq!(failure.is_foreign_thinking(), expected, "{body}");
        };
        let bound = "messages.5.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation: prefix_binding_mismatch.";
        check("invalid_request_error", bound, true);
        check("api_error", bound, false);
        check(
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            false,
        );
    }

    #[test]
    fn the_shapes_that_providers_use() {
        check(
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"m",
                "details":{"error_code":"compaction_block_misplaced"}},"request_id":"req_1"}"#,
            "invalid_request_error",
            Some("compaction_block_misplaced"),
            false,
        );
        check(
            r#"{"type":"error","error":{"type":"invalid_request_error",
                "message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            "invalid_request_error",
            None,
            true,
        );
        check(
            r#"{"error":{"message":"m","type":"invalid_request_error","param":"messages",
                "code":"context_length_exceeded"}}"#,
            "invalid_request_error",
            Some("context_length_exceeded"),
            true,
        );
        check(
            r#"{"type":"error","code":"server_error","message":"m","param":null}"#,
            "error",
            Some("server_error"),
            false,
        );
        check(r#"{"error":"busy"}"#, "error", None, false);
        check(r#"{"error":{"code":503}}"#, "error", Some("503"), false);
    }

    #[test]
    fn other_bodies_are_no_failure() {
        assert_eq!(Failure::parse(br#"{"id":"msg_1","error":null}"#), Ok(None));
        assert!(Failure::parse(b"<html>").is_err());
    }
}
