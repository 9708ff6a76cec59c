//! Requests that name an answer which the provider does not hold and the gateway does not know.

use wire::api::Request;

use crate::rewrite::Direct;

/// The refusal, where the request names an answer in place of the messages before its own: 400, after which the
/// client sends everything again. Without it, the model would answer without its context.
#[must_use]
pub fn refuse_unknown_answer(request: &Request<'_>) -> Option<Direct> {
    request.unknown_answer().map(Direct::refusal)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wire::api::{Dialect, Request};

    use super::refuse_unknown_answer;

    fn refusal(dialect: Dialect, body: &Value) -> Option<Value> {
        let body = body.to_string();
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        let answer = refuse_unknown_answer(&request)?;
        assert_eq!(answer.status, 400);
        Some(serde_json::from_slice(&answer.body).unwrap())
    }

    #[test]
    fn only_a_named_answer_is_refused_and_its_name_is_clipped() {
        let named = |id: &str| json!({"input": "a", "previous_response_id": id});
        let answer = refusal(Dialect::Responses, &named("resp_1")).unwrap();
        let error = json!({
            "message": "Previous response with id 'resp_1' not found.",
            "type": "invalid_request_error",
            "param": "previous_response_id",
            "code": "previous_response_not_found",
        });
        assert_eq!(answer, json!({"error": error}));
        let long = refusal(Dialect::Responses, &named(&"ä".repeat(5_000))).unwrap();
        let message = long["error"]["message"].as_str().unwrap();
        assert!(message.ends_with("ä…' not found."), "{message}");
        assert!(message.len() < 300, "{message}");
        let none = json!({"input": "a", "previous_response_id": null});
        assert_eq!(refusal(Dialect::Responses, &none), None);
        let chat = json!({"messages": [], "previous_response_id": "r"});
        assert_eq!(refusal(Dialect::Chat, &chat), None);
    }
}
