//! Message threads: a client sends only what is new, the provider holds the rest.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use wire::api::Request;

use super::request::{beta, betas};
use crate::cache::later;
use crate::config::Threads;
use crate::exchange::Incoming;
use crate::organisation::Organisation;
use crate::refusal::Refusal;

/// The lifetime of a thread after its last request.
const LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// A conversation that is held, up to one answer.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// The messages, the answer included, as JSON without the brackets around.
    messages: String,
    /// `system` and `tools`, as they were created, as members of a body.
    fixed: Vec<(String, String)>,
    model: String,
    ready: Timestamp,
    pub until: Timestamp,
    continued: bool,
}

/// The whole body of a request with a thread. `None` for a request without one.
pub(crate) fn rebuild(
    request: &Request<'_>,
    incoming: &Incoming<'_>,
    mode: Threads,
    organisation: &mut Organisation,
) -> Result<Option<String>, Refusal> {
    let Some(field) = request.field("thread").filter(|it| it.value != "null") else {
        return Ok(None);
    };
    if !betas(incoming.headers).contains(beta::THREADS) {
        return Err(Refusal::extra("thread"));
    }
    let thread: Value = serde_json::from_str(field.value)
        .map_err(|error| Refusal::invalid(format!("thread: {error}")))?;
    if mode == Threads::Refuse {
        return Err(Refusal::invalid(format!(
            "capability_rejected: beta_header:{}: message threads are not supported here",
            beta::THREADS
        ))
        .coded("thread_unsupported_request"));
    }
    let unsupported: Vec<&str> = ["context_management", "fallbacks"]
        .into_iter()
        .filter(|key| request.field(key).is_some_and(|it| it.value != "null"))
        .collect();
    if !unsupported.is_empty() {
        return Err(Refusal::invalid(format!(
            "thread: not supported together with {}",
            unsupported.join(", ")
        ))
        .coded("thread_unsupported_request")
        .detailed(json!({"unsupported": unsupported})));
    }
    match thread.get("type").and_then(Value::as_str) {
        Some("create") => Ok(None),
        Some("continue") => continued(request, &thread, incoming.now, organisation).map(Some),
        _ => Err(Refusal::invalid(
            "thread.type: Input should be 'create' or 'continue'",
        )),
    }
}

fn continued(
    request: &Request<'_>,
    thread: &Value,
    now: Timestamp,
    organisation: &mut Organisation,
) -> Result<String, Refusal> {
    if let Some(key) = ["system", "tools"]
        .into_iter()
        .find(|key| request.field(key).is_some())
    {
        return Err(Refusal::invalid(format!(
            "{key}: may only be given when a thread is created"
        )));
    }
    let Some(id) = thread.get("previous_message_id").and_then(Value::as_str) else {
        return Err(Refusal::invalid(
            "thread.continue.previous_message_id: Field required",
        ));
    };
    let held = organisation
        .threads
        .get_mut(id)
        .filter(|held| now < held.until);
    let Some(held) = held else {
        return Err(Refusal::new(
            404,
            "not_found_error",
            format!("thread: no thread ends with {id}"),
        )
        .coded("thread_not_found"));
    };
    if held.continued {
        return Err(
            Refusal::invalid(format!("thread: {id} was already continued"))
                .coded("thread_already_continued"),
        );
    }
    if now < held.ready {
        return Err(
            Refusal::invalid(format!("thread: {id} is still being answered"))
                .coded("thread_continue_in_flight"),
        );
    }
    if request.model().as_deref() != Some(&held.model) {
        return Err(
            Refusal::invalid("thread: the request does not fit the thread it continues")
                .coded("thread_fingerprint_mismatch"),
        );
    }
    let new = request
        .messages()
        .map(|message| message.raw())
        .collect::<Vec<_>>()
        .join(",");
    if new.is_empty() {
        return Err(Refusal::invalid(
            "messages: at least one message is required",
        ));
    }
    let mut members: Vec<String> = held
        .fixed
        .iter()
        .map(|(key, value)| format!("{}:{value}", json!(key)))
        .collect();
    for field in request.fields().filter(|it| it.key != "messages") {
        members.push(format!("{}:{}", json!(field.key), field.value));
    }
    members.push(format!("\"messages\":[{},{new}]", held.messages));
    Ok(format!("{{{}}}", members.join(",")))
}

/// Marks the thread that a request continued, so that it cannot be continued again.
pub(crate) fn mark_continued(thread: &Value, organisation: &mut Organisation) {
    let id = thread.get("previous_message_id").and_then(Value::as_str);
    if let Some(held) = id.and_then(|id| organisation.threads.get_mut(id)) {
        held.continued = true;
        held.messages = String::new();
    }
}

/// Keeps the conversation of `request` (rebuilt, if it continued one) up to its answer.
pub(crate) fn hold(
    request: &Request<'_>,
    answer: &str,
    now: Timestamp,
    ready: Timestamp,
) -> Thread {
    let messages = request
        .messages()
        .map(|message| message.raw())
        .chain([answer])
        .collect::<Vec<_>>();
    let fixed = ["system", "tools"].into_iter().filter_map(|key| {
        let field = request.field(key)?;
        Some((key.to_owned(), field.value.to_owned()))
    });
    Thread {
        messages: messages.join(","),
        fixed: fixed.collect(),
        model: request.model().unwrap_or_default().into_owned(),
        ready,
        until: later(now, LIFETIME),
        continued: false,
    }
}
