//! Changes to Anthropic requests.

use context::Tokens;
use serde_json::{Value, json};

use crate::api::beta;
use crate::api::dialect::TextAsk;
use crate::api::edit::Edit;
use crate::api::insertion::{Insertion, SystemMessages};
use crate::api::json::write::Object;
use crate::api::message::Message;
use crate::api::request::Request;

pub(super) fn note(
    request: &Request<'_>,
    newest: &Message<'_>,
    takes: SystemMessages,
    text: &str,
) -> Option<Insertion> {
    match takes {
        SystemMessages::InFront => newest.appended(text),
        // An automatic breakpoint falls on the last block, which would be the note. A note that is
        // cleared again ends no prefix, so the next request would read nothing behind the
        // breakpoint before.
        SystemMessages::Anywhere if request.field("cache_control").is_some() => {
            Some(Insertion::after("system", text))
        }
        SystemMessages::Anywhere => {
            let clears = "next_user_message";
            let message = json!({"role": "system", "clear_at": clears, "content": text});
            Some(Insertion::After(message.to_string()))
        }
    }
}

pub(super) fn ask_for_text<'r>(mut edit: Edit<'r>, ask: &TextAsk) -> Edit<'r> {
    let room = answer_room(edit.request(), ask);
    edit = edit.set("max_tokens", room.to_string()).remove_all(&[
        "stop_sequences",
        "output_format",
        "thread",
        "diagnostics",
    ]);
    edit = edit.change("output_config", |config| {
        config.shift_remove("format").is_some()
    });
    // Another `tool_choice` makes the provider read the messages anew, so the client's stands unless
    // it forces a call or the model insisted on one.
    if edit.request().has_tools() && ask.forbid_calls {
        edit.set("tool_choice", super::NO_CALLS)
    } else {
        drop_forced_call(edit)
    }
}

/// The answer and the client's thinking budget, up to the model's limit; always
/// more than the thinking budget, which the provider demands.
pub(super) fn answer_room(request: &Request<'_>, ask: &TextAsk) -> Tokens {
    let thinking = request.field_json("thinking").unwrap_or_default();
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
    let budget = Tokens::new(budget.unwrap_or_default());
    (ask.longest + budget)
        .min(ask.most)
        .max(budget + Tokens::new(1))
}

/// Removes a `tool_choice` that forces a call.
pub(super) fn drop_forced_call(edit: Edit<'_>) -> Edit<'_> {
    let choice = edit.request().field_json("tool_choice").unwrap_or_default();
    let kind = choice.get("type").and_then(Value::as_str);
    if matches!(kind, Some("any" | "tool")) {
        edit.remove("tool_choice")
    } else {
        edit
    }
}

/// Clients look for different things in the refusal: Anthropic's SDKs for `details.error_code`,
/// Claude Code for the words `capability_rejected: beta_header:…` in the message. With one of them
/// alone, the other client's run dies.
pub(super) fn thread_refusal(request: &Request<'_>) -> Option<String> {
    let threads = beta::THREADS;
    let message = format!(
        "capability_rejected: beta_header:{threads}: this gateway does not hold threads; send the whole conversation"
    );
    let body = json!({
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": message,
            "details": {"error_code": "thread_unsupported_request"},
        },
    });
    request.sets("thread").then(|| body.to_string())
}

pub(super) fn tool(named: Object, schema: &str) -> String {
    named.raw("input_schema", schema).end()
}
