//! `/v1/responses`, `/v1/responses/compact` and `/v1/responses/input_tokens`.

use std::sync::Arc;

use serde_json::{Value, json};
use wire::api::{Dialect, Request};

use super::account::{self, Taken};
use super::items::{Call, Item, parse, sealed};
use super::speech::{Speech, asks_in_words, fit, speak, summarise};
use super::stored::Stored;
use super::write_responses::{self, Output, Reply};
use super::{diagnostics, offered, rules, unknown};
use crate::config::Compaction;
use crate::exchange::{Answer, Body, Incoming};
use crate::faults::Fault;
use crate::provider::Provider;
use crate::refusal::Refusal;
use crate::script::Say;
use crate::seal::Print;

/// Reads a request with the response it continues.
fn read(
    provider: &mut Provider,
    request: &Request<'_>,
    organisation: Print,
) -> Result<Call, Refusal> {
    let id = request.field_text("previous_response_id");
    let org = provider.organisation(organisation);
    let earlier = match &id {
        Some(id) => Some(org.stored.get(&**id).cloned().ok_or_else(|| {
            Refusal::invalid(format!("Previous response with id '{id}' not found."))
                .coded("previous_response_not_found")
                .about("previous_response_id")
        })?),
        None => None,
    };
    let call = Call::read(
        request,
        organisation,
        earlier.as_ref(),
        &mut provider.lexicon,
    )?;
    if provider.config.compaction == Compaction::Unknown {
        unknown::check(&call)?;
    }
    rules::parameters(&call)?;
    rules::responses(&call, &provider.seal)?;
    Ok(call)
}

/// The number of items to leave out so that the rest fits.
fn truncated(provider: &Provider, call: &Call) -> Result<usize, Refusal> {
    let window = account::window(provider, call);
    let mut input = call.input();
    if input < window {
        return Ok(0);
    }
    if call.text("truncation") != "auto" {
        return Err(Refusal::invalid(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        )
        .coded("context_length_exceeded")
        .about("input"));
    }
    let mut dropped = 0;
    for item in call.shown() {
        if input < window {
            break;
        }
        input -= item.tokens;
        dropped += 1;
    }
    Ok(dropped)
}

/// Answers.
pub(super) fn create(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Result<Answer, Refusal> {
    let request = parse(Dialect::Responses, incoming.body)?;
    let call = read(provider, &request, organisation)?;
    let dropped = truncated(provider, &call)?;
    let triggered = call
        .items
        .last()
        .is_some_and(|it| it.kind() == "compaction_trigger");
    let in_words = asks_in_words(&call);
    let fault = provider.fault(incoming, triggered || in_words)?;
    let taken = account::take(provider, &call, dropped, incoming, fault.as_ref());
    provider.serial += 1;
    let due = triggered || threshold(&call).is_some_and(|threshold| taken.input >= threshold);
    let mut outputs = Vec::new();
    if due {
        let text = summarise(&call, &request, taken.room, false, fault.as_ref());
        let tokens = call.known.count(&text);
        if !text.is_empty() {
            outputs.push((compaction(provider, &text), tokens));
        }
    }
    let left = taken
        .room
        .saturating_sub(outputs.iter().map(|(_, it)| it).sum());
    let speech = if triggered {
        Speech::default()
    } else if in_words {
        let text = summarise(&call, &request, left, true, fault.as_ref());
        fit(&call, [Say::Text(text)].into_iter(), left)
    } else {
        speak(provider, &call, &request, left)
    };
    let mut reply = reply(provider, &call, &taken, incoming);
    reply.reasoning = speech.reasoning();
    reply.cut = speech.cut;
    outputs.extend(said(provider, &call, speech));
    reply.outputs = outputs;
    account::book(
        provider,
        &call,
        &taken,
        reply.tokens(),
        triggered || in_words,
    );
    store(provider, &call, &reply, incoming)?;
    if fault == Some(Fault::SummaryNever) {
        return Ok(Answer::ok(Body::Never));
    }
    Ok(if call.streams() {
        write_responses::stream(&reply, &taken)
    } else {
        write_responses::whole(&reply, &taken)
    })
}

/// The threshold of compaction in line.
fn threshold(call: &Call) -> Option<u64> {
    let edits = call.field("context_management")?.as_array()?;
    let edit = edits.first()?;
    Some(
        edit.get("compact_threshold")
            .and_then(Value::as_u64)
            .unwrap_or(200_000),
    )
}

fn compaction(provider: &Provider, text: &str) -> Value {
    json!({
        "type": "compaction",
        "id": provider.id("cmp_", 0),
        "encrypted_content": sealed(&provider.seal, text),
    })
}

/// The pieces of an answer as items.
fn said(provider: &Provider, call: &Call, speech: Speech) -> Vec<Output> {
    let tools = offered::tools(call);
    let pieces = speech.says.into_iter().enumerate();
    let mut items: Vec<Output> = pieces
        .map(|(at, (say, tokens))| {
            let salt = at as u64 + 1;
            let item = match say {
                Say::Think(text) => json!({
                    "type": "reasoning",
                    "id": provider.id("rs_", salt),
                    "summary": [{"type": "summary_text", "text": text}],
                }),
                Say::Text(text) => json!({
                    "type": "message",
                    "id": provider.id("msg_", salt),
                    "status": "completed",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": text, "annotations": []}],
                }),
                Say::Call { name, input } => {
                    let ids = (provider.id("fc_", salt), provider.id("call_", salt));
                    offered::item(&tools, &name, &input, ids)
                }
            };
            (item, tokens)
        })
        .collect();
    // Reasoning that led to nothing could not be sent back.
    while items
        .last()
        .is_some_and(|(item, _)| item.get("type").is_some_and(|it| it == "reasoning"))
    {
        items.pop();
    }
    items
}

/// The response without its output.
fn reply(provider: &mut Provider, call: &Call, taken: &Taken, incoming: &Incoming<'_>) -> Reply {
    let id = provider.id("resp_", 0);
    let compared = diagnostics::Compared::of(call, taken.input);
    let org = provider.organisation(call.organisation);
    let diagnosis = diagnostics::diagnose(call, &compared, org, taken.share.read);
    org.compared.insert(id.clone(), (incoming.now, compared));
    Reply {
        id,
        model: call.known.asked.clone(),
        created: incoming.now.as_second(),
        previous: call.field("previous_response_id").cloned(),
        outputs: Vec::new(),
        reasoning: 0,
        cut: false,
        diagnosis,
    }
}

/// Keeps the response, so that others can go on from it.
fn store(
    provider: &mut Provider,
    call: &Call,
    reply: &Reply,
    incoming: &Incoming<'_>,
) -> Result<(), Refusal> {
    if call.field("store").is_some_and(|it| it == false) {
        return Ok(());
    }
    let said = call.items.iter();
    let mut items: Vec<Arc<Item>> = said
        .filter(|item| item.kind() != "compaction_trigger")
        .cloned()
        .collect();
    for (item, _) in &reply.outputs {
        items.push(provider.lexicon.item(&call.known, &item.to_string())?);
    }
    let stored = Stored {
        at: incoming.now,
        model: call.known.asked.clone(),
        items,
    };
    let org = provider.organisation(call.organisation);
    org.stored.insert(reply.id.clone(), stored);
    Ok(())
}

/// `/v1/responses/compact`: all user messages and one compaction item.
pub(super) fn compact(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Result<Answer, Refusal> {
    let request = parse(Dialect::Responses, incoming.body)?;
    let call = read(provider, &request, organisation)?;
    truncated(provider, &call)?;
    let fault = provider.fault(incoming, true)?;
    let taken = account::take(provider, &call, 0, incoming, fault.as_ref());
    provider.serial += 1;
    let text = summarise(&call, &request, taken.room, false, fault.as_ref());
    let tokens = call.known.count(&text);
    account::book(provider, &call, &taken, tokens, true);
    if fault == Some(Fault::SummaryNever) {
        return Ok(Answer::ok(Body::Never));
    }
    let by_user = |item: &&Arc<Item>| item.kind() == "message" && item.text("role") == "user";
    let kept = call
        .items
        .iter()
        .filter(by_user)
        .map(|item| item.value.clone());
    let output: Vec<Value> = kept.chain([compaction(provider, &text)]).collect();
    let body = json!({
        "id": provider.id("resp_", 0),
        "object": "response.compaction",
        "created_at": incoming.now.as_second(),
        "output": output,
        "usage": write_responses::usage(&taken, tokens, 0),
    });
    Ok(Answer::ok(Body::Whole {
        text: body.to_string(),
        after: taken.pace.done(tokens),
    }))
}

/// `/v1/responses/input_tokens`.
pub(super) fn input_tokens(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Result<Answer, Refusal> {
    let request = parse(Dialect::Responses, incoming.body)?;
    let call = read(provider, &request, organisation)?;
    let body = json!({"object": "response.input_tokens", "input_tokens": call.input()});
    Ok(Answer::json(200, body.to_string()))
}
