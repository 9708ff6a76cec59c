//! The route by which the provider sums up itself: Anthropic's on-demand compaction and the compaction
//! trigger of OpenAI Responses.
//!
//! The request is one that was sent already, with `system`, `tools` and messages byte for byte as they
//! were, so the summary covers exactly its messages and thinking behind it stays valid. What the
//! provider refuses together with a compaction is taken out; all of that stands outside the prefix.

use bytes::Bytes;
use context::extract::ledger;
use context::quality::{Gate, Rejection, is_degenerate};
use context::{Text, Tokens};
use history::Route;
use serde_json::{Map, Value};
use tokens::ModelTable;
use wire::api::{Dialect, Edit, Piece, Reply, Request};

use crate::error::ModelError;
use crate::extractive::{shown, source};
use crate::made::{Course, Made};
use crate::order::{Order, Sent};
use crate::work::{Work, computed, longest_answer};

/// The beta that Anthropic's compaction on demand stands behind.
pub const COMPACTION_BETA: &str = "compact-2026-09-04";

/// What a summary on demand gets at least, however short the client wants its answers: its thinking
/// counts too.
const LEAST_ANSWER: Tokens = Tokens::new(16_384);

/// The longest instructions that Anthropic takes, in characters.
const LONGEST_INSTRUCTIONS: usize = 16_384;

/// The share of the budget that the ledger beside a provider's summary may have.
const LEDGER: f64 = 0.25;

/// The last item of a request that asks OpenAI for a compaction.
const TRIGGER: &str = r#"{"type":"compaction_trigger"}"#;

pub(crate) async fn carry_out(work: &Work<'_>, sent: &Sent) -> Result<Made, ModelError> {
    let dialect = sent.endpoint.dialect();
    let asked = request(sent, work.order)?;
    let endpoint = match dialect {
        Dialect::Anthropic => sent.endpoint.clone().with_beta(COMPACTION_BETA),
        Dialect::Chat | Dialect::Responses => sent.endpoint.clone(),
    };
    let reply = work
        .ask(&endpoint, &asked.model, Bytes::from(asked.body))
        .await?;
    let Block { json, text } = block(&reply)?;
    let message = match dialect {
        Dialect::Anthropic => format!(r#"{{"role":"assistant","content":[{json}]}}"#),
        Dialect::Chat | Dialect::Responses => json,
    };
    let written = reply.usage.billed().output;
    let order = work.order.clone();
    let judged = computed(move || judge(&order, text, written)).await??;
    Ok(Made {
        message: Some(Text::from(message)),
        ..judged
    })
}

/// A request for a compaction.
struct Asked {
    model: String,
    body: Vec<u8>,
}

/// The request that was sent, as one for a compaction.
fn request(sent: &Sent, order: &Order) -> Result<Asked, ModelError> {
    let dialect = sent.endpoint.dialect();
    let request = Request::parse(dialect, &sent.body)?;
    let model = request.model().unwrap_or_default().into_owned();
    let body = match dialect {
        Dialect::Anthropic => anthropic(&request, order)?,
        Dialect::Responses => responses(&request)?,
        Dialect::Chat => return Err(not_open("Chat Completions has no compaction")),
    };
    Ok(Asked { model, body })
}

const fn not_open(why: &'static str) -> ModelError {
    ModelError::NotOpen {
        route: Route::Native,
        why,
    }
}

/// Takes out what is refused together with `compaction`, and a thread, which would be another one.
fn anthropic(request: &Request<'_>, order: &Order) -> Result<Vec<u8>, ModelError> {
    if request.field("compaction").is_some() {
        return Err(not_open("the request asks for a compaction itself"));
    }
    let mut compaction = Map::new();
    compaction.insert("type".to_owned(), Value::from("summarize"));
    let said = order.instructions.as_deref().map(str::trim);
    if let Some(text) = said.filter(|text| !text.is_empty()) {
        let text: String = text.chars().take(LONGEST_INSTRUCTIONS).collect();
        compaction.insert("instructions".to_owned(), Value::from(text));
    }
    let most = longest(request, "max_tokens", order);
    let mut edit = request
        .edit()
        .set("compaction", Value::Object(compaction).to_string())
        .set("max_tokens", most.to_string())
        .set("stream", "true");
    for key in [
        "context_management",
        "stop_sequences",
        "output_format",
        "thread",
        "diagnostics",
    ] {
        edit = edit.remove(key);
    }
    if forces_a_call(request) {
        edit = edit.remove("tool_choice");
    }
    edit = without(edit, request, "output_config", |config| {
        let budget = config.get_mut("task_budget").and_then(Value::as_object_mut);
        let remaining = budget.and_then(|budget| budget.remove("remaining"));
        config.remove("format").or(remaining).is_some()
    });
    edit = without_formats_of_fallbacks(edit, request);
    Ok(edit.render()?)
}

/// Appends the trigger.
fn responses(request: &Request<'_>) -> Result<Vec<u8>, ModelError> {
    if ["previous_response_id", "conversation"]
        .iter()
        .any(|key| request.field(key).is_some_and(|it| it.value != "null"))
    {
        return Err(not_open("the provider holds the conversation itself"));
    }
    if request
        .messages()
        .any(|it| it.raw().contains("\"compaction_trigger\""))
    {
        return Err(not_open("the request asks for a compaction itself"));
    }
    let pieces = vec![
        Piece::Kept(0..request.len()),
        Piece::Written(TRIGGER.into()),
    ];
    let edit = request
        .edit()
        .messages(pieces)
        .set("stream", "true")
        .remove("context_management")
        .remove("max_output_tokens")
        .remove("background");
    Ok(edit.render()?)
}

/// The most tokens to ask for: what the client asks for, and no less than a summary may need.
fn longest(request: &Request<'_>, key: &str, order: &Order) -> Tokens {
    let own = request.field(key).and_then(|it| it.value.parse().ok());
    let model = request.model().unwrap_or_default();
    let most = ModelTable::shipped().find(&model).max_output;
    let least = longest_answer(order.budget, most).max(LEAST_ANSWER.min(most));
    Tokens::new(own.unwrap_or_default()).max(least)
}

/// Whether the answer has to be a call: a compaction is none.
pub(crate) fn forces_a_call(request: &Request<'_>) -> bool {
    let Some(choice) = request.field("tool_choice") else {
        return false;
    };
    let choice: Value = serde_json::from_str(choice.value).unwrap_or_default();
    let kind = choice.get("type").and_then(Value::as_str);
    matches!(kind, Some("any" | "tool"))
}

/// Changes an object under a top-level key; where it is empty then, it goes. `change` says whether it
/// changed anything.
pub(crate) fn without<'r>(
    edit: Edit<'r>,
    request: &Request<'_>,
    key: &str,
    change: impl FnOnce(&mut Map<String, Value>) -> bool,
) -> Edit<'r> {
    let field = request.field(key);
    let value = field.and_then(|it| serde_json::from_str(it.value).ok());
    let Some(Value::Object(mut object)) = value else {
        return edit;
    };
    if !change(&mut object) {
        edit
    } else if object.is_empty() {
        edit.remove(key)
    } else {
        edit.set(key, Value::Object(object).to_string())
    }
}

fn without_formats_of_fallbacks<'r>(edit: Edit<'r>, request: &Request<'_>) -> Edit<'r> {
    let field = request.field("fallbacks");
    let value = field.and_then(|it| serde_json::from_str(it.value).ok());
    let Some(Value::Array(mut fallbacks)) = value else {
        return edit;
    };
    let mut changed = false;
    for fallback in &mut fallbacks {
        let config = fallback.get_mut("output_config");
        let config = config.and_then(Value::as_object_mut);
        changed |= config.is_some_and(|config| config.remove("format").is_some());
    }
    if changed {
        edit.set("fallbacks", Value::Array(fallbacks).to_string())
    } else {
        edit
    }
}

/// A compaction as the provider gave it.
struct Block {
    /// Byte for byte.
    json: String,
    /// What can be read of it.
    text: String,
}

/// The compaction in an answer. One without anything in it is none.
fn block(reply: &Reply) -> Result<Block, ModelError> {
    let none = || ModelError::NoSummary {
        stop: reply.stop.clone(),
    };
    let json = reply.compaction().ok_or_else(none)?;
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let (readable, sealed) = (text("content"), text("encrypted_content"));
    if readable.trim().is_empty() && sealed.is_empty() {
        return Err(none());
    }
    Ok(Block {
        json: json.to_owned(),
        text: readable.to_owned(),
    })
}

/// Judges what can be read, and collects the identifiers that it does not name. The provider's prompt is
/// not ours, so only what is no summary at all is turned away.
fn judge(order: &Order, text: String, written: Tokens) -> Result<Made, ModelError> {
    let counter = &*order.counter;
    let sealed = text.trim().is_empty();
    let mut quality = None;
    if !sealed {
        if is_degenerate(&text) {
            return Err(ModelError::Rejected(Rejection::Degenerate));
        }
        let verdict = Gate::default().judge(&source(&order.old), &text, counter);
        quality = Some(verdict.quality());
    }
    let pins = order.pins.iter().map(|pin| format!("\n{pin}"));
    let already: String = std::iter::once(text.clone()).chain(pins).collect();
    let room = order.budget.scaled(LEDGER);
    let ledger = ledger(&order.old, &order.tail, &already, room, counter);
    Ok(Made {
        route: Route::Native,
        tokens: if sealed {
            written
        } else {
            shown(&text, counter)
        },
        text: Text::from(text),
        message: None,
        spent: Vec::new(),
        course: Course {
            asked: 1,
            ledger: ledger.len(),
            quality,
            ..Course::default()
        },
        ledger,
        fallen: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use context::{Heuristic, Text, Tokens};
    use serde_json::{Value, json};
    use wire::api::{Dialect, Request, Response};

    use super::{block, request};
    use crate::endpoint::Endpoint;
    use crate::order::{Order, Sent, Shows};

    fn order(instructions: Option<&str>) -> Order {
        Order {
            old: Arc::new([]),
            tail: Arc::new([]),
            pins: Vec::new(),
            budget: Tokens::new(2_000),
            instructions: instructions.map(Text::from),
            counter: Arc::new(Heuristic),
            model: "claude-opus-5-5".to_owned(),
        }
    }

    fn asked(body: &str, instructions: Option<&str>) -> Vec<u8> {
        let sent = Sent {
            endpoint: Endpoint::new(Dialect::Anthropic, "http://h").unwrap(),
            body: Bytes::from(body.to_owned()),
            shows: Shows::Originals,
            tokens: Tokens::ZERO,
            window: Tokens::ZERO,
        };
        request(&sent, &order(instructions)).unwrap().body
    }

    #[test]
    fn what_the_summary_is_bound_to_stays_byte_for_byte() {
        let body = r#"{ "model":"claude-opus-5-5","max_tokens" : 10, "system":[ {"type":"text","text":"\u0073"} ],
            "tools":[{"name" : "t"}], "thread":{"type":"create"}, "fallbacks":[{"model":"m","output_config":{"format":{}}}],
            "output_config":{"task_budget":{"type":"tokens","total":9,"remaining":3}},
            "messages":[ {"role":"user", "content":"\u00e4" } ] }"#;
        let asked = asked(body, Some("  Keep names. "));
        let [before, after] =
            [body.as_bytes(), &asked].map(|body| Request::parse(Dialect::Anthropic, body).unwrap());
        for key in ["system", "tools", "messages"] {
            let raw = |request: &Request<'_>| request.field(key).unwrap().value.to_owned();
            assert_eq!(raw(&before), raw(&after), "{key}");
        }
        let asked: Value = serde_json::from_slice(&asked).unwrap();
        assert_eq!(
            asked["compaction"],
            json!({"type": "summarize", "instructions": "Keep names."})
        );
        assert_eq!(asked["max_tokens"], 16_384);
        assert!(asked.get("thread").is_none());
        assert_eq!(asked["fallbacks"][0]["output_config"], json!({}));
        let budget = json!({"task_budget": {"type": "tokens", "total": 9}});
        assert_eq!(asked["output_config"], budget);
    }

    #[test]
    fn blank_instructions_are_none() {
        let body = r#"{"model":"m","messages":[]}"#;
        let asked: Value = serde_json::from_slice(&asked(body, Some(" \n"))).unwrap();
        assert_eq!(asked["compaction"], json!({"type": "summarize"}));
    }

    #[track_caller]
    fn check_block(content: &str, expected: Option<&str>) {
        let body = format!(r#"{{"content":[{content}],"stop_reason":"compaction"}}"#);
        let reply = Response::parse(Dialect::Anthropic, body.as_bytes());
        let found = block(&reply.unwrap().reply()).ok();
        assert_eq!(found.as_ref().map(|it| it.json.as_str()), expected);
    }

    #[test]
    fn a_compaction_without_content_is_none() {
        let whole = r#"{"type":"compaction", "content":"\u0053um", "signature":"E"}"#;
        check_block(whole, Some(whole));
        let sealed = r#"{"type":"compaction","content":null,"encrypted_content":"x"}"#;
        check_block(sealed, Some(sealed));
        check_block(r#"{"type":"compaction","content":null}"#, None);
        check_block(r#"{"type":"compaction","content":" "}"#, None);
        check_block(r#"{"type":"text","text":"Sum"}"#, None);
        check_block("", None);
    }
}
