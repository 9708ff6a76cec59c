//! Message threads, which are refused: a gateway that does not hold the history would see fragments.

use serde_json::json;
use wire::api::{Dialect, Request};

use super::beta;
use crate::rewrite::Direct;
use crate::words::Did;

/// The refusal, where the request is part of a thread: 400, after which the client sends everything again
/// without threading for the rest of its session.
///
/// Clients look for different things in it: Anthropic's SDKs for `details.error_code`, Claude Code for the
/// words `capability_rejected: beta_header:…` in the message. With one of them alone the other client's run
/// dies.
#[must_use]
pub fn refuse_thread(request: &Request<'_>) -> Option<Direct> {
    let asked = request
        .field("thread")
        .is_some_and(|field| field.value != "null");
    if request.dialect() != Dialect::Anthropic || !asked {
        return None;
    }
    let message = format!(
        "capability_rejected: beta_header:{}: this gateway does not hold threads; send the whole conversation",
        beta::THREADS
    );
    let body = json!({
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": message,
            "details": {"error_code": "thread_unsupported_request"},
        },
    });
    Some(Direct {
        status: 400,
        content_type: "application/json",
        body: body.to_string().into(),
        did: vec![Did::Refused],
        conversation: None,
    })
}

#[cfg(test)]
mod tests {
    use wire::api::{Dialect, Failure, Request};

    use super::refuse_thread;

    fn check(dialect: Dialect, thread: &str, refused: bool) {
        let body = format!(r#"{{"messages":[]{thread}}}"#);
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        let answer = refuse_thread(&request);
        assert_eq!(answer.is_some(), refused, "{thread}");
        if let Some(answer) = answer {
            assert_eq!(answer.status, 400);
            let body = String::from_utf8(answer.body.to_vec()).unwrap();
            assert!(body.contains(r#""details":{"error_code":"thread_unsupported_request"}"#));
            assert!(body.contains("capability_rejected: beta_header:message-threads-2026-08-12"));
            assert!(Failure::parse(body.as_bytes()).unwrap().is_some());
        }
    }

    #[test]
    fn only_threads_are_refused() {
        check(Dialect::Anthropic, r#","thread":{"type":"create"}"#, true);
        check(Dialect::Anthropic, r#","thread":{"type":"continue"}"#, true);
        check(Dialect::Anthropic, r#","thread":null"#, false);
        check(Dialect::Anthropic, "", false);
        check(Dialect::Chat, r#","thread":{"type":"create"}"#, false);
    }
}

/// Whether the provider holds the conversation's state, so that the request is only a part of it.
#[must_use]
pub fn is_held_elsewhere(request: &Request<'_>) -> bool {
    let given = |key| {
        let field = request.field(key);
        field.is_some_and(|field| field.value != "null")
    };
    request.dialect() == Dialect::Responses
        && (given("previous_response_id") || given("conversation"))
}
