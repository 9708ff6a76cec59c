//! Message threads, which are refused: a gateway that does not hold the history would see fragments.

use wire::api::Request;

use crate::rewrite::Direct;

/// The refusal, where the request is part of a thread: 400, after which the client sends everything again
/// without threading for the rest of its session.
#[must_use]
pub fn refuse_thread(request: &Request<'_>) -> Option<Direct> {
    request.thread_refusal().map(Direct::refusal)
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
