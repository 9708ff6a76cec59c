//! The route on which the provider summarizes: Anthropic's on-demand compaction and the compaction
//! trigger of OpenAI Responses.
//!
//! The request is one that was sent already, with `system`, `tools` and messages byte for byte as they
//! were, so the summary covers exactly its messages and thinking behind it stays valid. Fields that the
//! provider refuses beside a compaction are removed; all of them stand outside the prefix.

use bytes::Bytes;
use context::extract::{beside, ledger};
use context::quality::{Gate, Rejection, is_degenerate};
use context::{Text, Tokens};
use history::Route;
use serde_json::Value;
use tokens::ModelTable;
use wire::api::{CompactionAsk, Reply, Request};

use crate::error::ModelError;
use crate::extractive::{shown, source};
use crate::made::{Course, Made};
use crate::order::{Order, Sent};
use crate::work::{Work, computed, longest_answer};

/// The least answer limit of a summary on demand, however short the client wants its answers: its thinking
/// counts too.
const LEAST_ANSWER: Tokens = Tokens::new(16_384);

/// The share of the budget that the ledger beside a provider's summary may have.
const LEDGER: f64 = 0.25;

pub(crate) async fn carry_out(work: &Work<'_>, sent: &Sent) -> Result<Made, ModelError> {
    let dialect = sent.endpoint.dialect();
    let asked = request(sent, work.order)?;
    let betas = dialect.facts().betas.compaction.iter();
    let endpoint = betas.fold(sent.endpoint.clone(), |endpoint, name| {
        endpoint.with_beta(name)
    });
    let reply = work
        .ask(&endpoint, &asked.model, Bytes::from(asked.body))
        .await?;
    let Block { json, text } = block(&reply)?;
    let message = dialect.message_of(std::slice::from_ref(&json));
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

/// Turns the request that was sent into one for a compaction.
fn request(sent: &Sent, order: &Order) -> Result<Asked, ModelError> {
    let request = Request::parse(sent.endpoint.dialect(), &sent.body)?;
    let model = request.model().unwrap_or_default().into_owned();
    let most = ModelTable::shipped().find(&model).max_output;
    let ask = CompactionAsk {
        instructions: order.instructions.as_deref(),
        least: longest_answer(order.budget, most).max(LEAST_ANSWER.min(most)),
    };
    let route = Route::Native;
    let edit = request.edit().asking_for_compaction(&ask);
    let edit = edit.map_err(|why| ModelError::NotOpen { route, why })?;
    let body = edit.render()?;
    Ok(Asked { model, body })
}

/// A compaction as the provider gave it.
struct Block {
    /// Byte for byte.
    json: String,
    /// The readable text; empty where it is sealed.
    text: String,
}

/// The compaction in an answer. An empty one does not count.
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

/// Judges the readable text, and collects the identifiers that it does not name. The provider's prompt is
/// not ours, so only a degenerate text is rejected.
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
    let beside = beside(&order.old, order.room(), counter);
    let pins = order.pins.iter().map(|pin| format!("\n{pin}"));
    let shown_texts = [text.clone(), beside.clone()];
    let already: String = shown_texts.into_iter().chain(pins).collect();
    let room = order.budget.scaled(LEDGER);
    let ledger = ledger(&order.old, &order.tail, &already, room, counter);
    Ok(Made {
        route: Route::Native,
        tokens: counter.count(&beside)
            + match sealed {
                true => written,
                false => shown(&text, counter),
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
        beside: Text::from(beside),
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
            words: Tokens::new(2_000),
            standing: Tokens::new(4_000),
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
