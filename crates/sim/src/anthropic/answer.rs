//! `/v1/messages`: from a request to its answer.

use std::time::Duration;

use context::Heuristic;
use serde_json::{Map, Value, json};
use wire::api::Request;

use super::content::Kind;
use super::reply::{Pace, Written};
use super::request::{Call, parse};
use super::rules::compaction::Sealed;
use super::rules::editing::{amount, edits};
use super::rules::thinking::{Examined, examine, name_of, sign};
use super::rules::{self, Purpose};
use super::view::View;
use super::{diagnostics, terms, threads};
use crate::cache::{Moment, Rules, Share, later, signed};
use crate::config::Compaction;
use crate::exchange::{Answer, Body, Incoming};
use crate::faults::Fault;
use crate::form::asked_for;
use crate::members::set;
use crate::provider::Provider;
use crate::refusal::Refusal;
use crate::script::{Prompt, Say, asks_for_summary, newest, sources, summary};
use crate::seal::Print;

/// An answer before it has an id.
#[derive(Default)]
struct Draft {
    blocks: Vec<(Value, u64)>,
    stop: &'static str,
    stop_sequence: Option<String>,
    /// The input and output tokens of a compaction in front of the answer.
    compacted: Option<(u64, u64)>,
}

/// Everything that a request led to before it is answered.
struct Ready<'c> {
    call: &'c Call,
    examined: &'c Examined,
    input: u64,
    /// The tokens that may be written.
    room: u64,
    /// `true` where the window, and not `max_tokens`, sets the limit.
    by_window: bool,
}

/// Answers a request.
pub(super) fn messages(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Result<Answer, Refusal> {
    let request = parse(incoming.body)?;
    let threads = provider.config.threads;
    let org = provider.organisation(organisation);
    let rebuilt = threads::rebuild(&request, incoming, threads, org)?;
    let request = match &rebuilt {
        Some(body) => parse(body.as_bytes())?,
        None => request,
    };
    let call = Call::read(
        &request,
        incoming.headers,
        organisation,
        &mut provider.lexicon,
    )?;
    if provider.config.compaction == Compaction::Unknown {
        rules::unknown::check(&call)?;
    }
    rules::check(&call, Purpose::Answer, &provider.seal)?;
    let examined = examine(&call, &provider.seal, terms(provider))?;
    let view = View::of(&call, &examined);
    let ready = fit(provider, &call, &examined, &view)?;
    let readable = asks_in_words(&request);
    let summarises = call.compacts() || readable;
    let fault = provider.fault(incoming, summarises)?;
    let conversation = conversation(&call, incoming);
    let (share, pace) = account(provider, &ready, &view, incoming, fault.as_ref());
    let draft = if call.compacts() {
        native(provider, &ready, &request, fault.as_ref())
    } else if readable {
        in_words(provider, &ready, &request, fault.as_ref())
    } else {
        spoken(provider, &ready, &request)
    };
    let written = write(provider, &ready, &view, draft, &share);
    let price = call.known.model.price;
    let at = incoming.now;
    let ready_at = later(at, signed(pace.done(written.tokens())));
    let sent = diagnostics::remember(&call, &examined, ready.input, at);
    let held = call.field("thread").map(|thread| {
        (
            thread,
            threads::hold(&request, &written.message(), at, ready_at),
        )
    });
    let org = provider.organisation(organisation);
    org.sent.insert(written.id.clone(), sent);
    if let Some((thread, held)) = held {
        threads::mark_continued(thread, org);
        org.threads.insert(written.id.clone(), held);
    }
    let account = org.account(&conversation);
    account.requests += 1;
    account.summaries += u64::from(summarises);
    account.book(&share, written.tokens(), &price);
    if fault == Some(Fault::SummaryNever) {
        return Ok(Answer::ok(Body::Never));
    }
    Ok(if call.streams() {
        written.stream(pace)
    } else {
        written.whole(pace)
    })
}

/// Checks the window.
fn fit<'c>(
    provider: &Provider,
    call: &'c Call,
    examined: &'c Examined,
    view: &View,
) -> Result<Ready<'c>, Refusal> {
    let window = provider
        .config
        .window
        .unwrap_or(call.known.model.window)
        .get();
    let input = view.tokens();
    if input >= window {
        return Err(Refusal::invalid(format!(
            "prompt is too long: {input} tokens > {window} maximum"
        )));
    }
    let left = window - input;
    Ok(Ready {
        call,
        examined,
        input,
        room: left.min(call.max_tokens()),
        by_window: left < call.max_tokens(),
    })
}

/// Accounts the cache, and computes when the answer comes.
fn account(
    provider: &mut Provider,
    ready: &Ready<'_>,
    view: &View,
    incoming: &Incoming<'_>,
    fault: Option<&Fault>,
) -> (Share, Pace) {
    let rules = Rules::of(&ready.call.known.model.cache);
    let prefixes = view.prefixes();
    let latency = provider.config.latency;
    let org = provider.organisation(ready.call.organisation);
    let cached = org.cache.readable(&prefixes, incoming.now);
    let mut first = latency.map_or(Duration::ZERO, |latency| {
        latency.first(ready.input.saturating_sub(cached), cached)
    });
    let begins = later(incoming.now, signed(first));
    let moment = Moment {
        now: incoming.now,
        begins,
    };
    let share = org.cache.by_breakpoints(&prefixes, rules, moment);
    if let Some(Fault::SummaryLate(delay)) = fault {
        first += *delay;
    }
    (share, Pace { first, latency })
}

/// The client's name for the conversation, for accounts.
fn conversation(call: &Call, incoming: &Incoming<'_>) -> String {
    let named = ["x-claude-code-session-id", "x-ebbtide-session"]
        .into_iter()
        .find_map(|name| incoming.header(name));
    let user = call
        .field("metadata")
        .and_then(|it| it.get("user_id"))
        .and_then(Value::as_str);
    named.or(user).unwrap_or_default().to_owned()
}

/// Returns `true` if the last message asks for a summary in words.
fn asks_in_words(request: &Request<'_>) -> bool {
    let last = request
        .len()
        .checked_sub(1)
        .and_then(|at| request.message(at));
    let words = last.is_some_and(|message| {
        let escaped = message.raw();
        escaped.contains("## ") && asks_for_summary(&escaped.replace("\\n", "\n"))
    });
    words
        || request
            .instructions()
            .is_some_and(|system| asks_for_summary(&system.text))
}

/// A signed block.
fn native(
    provider: &Provider,
    ready: &Ready<'_>,
    request: &Request<'_>,
    fault: Option<&Fault>,
) -> Draft {
    let call = ready.call;
    let turns = sources(request, false);
    let text = summary(&turns, ready.room, &*call.known.counter, fault);
    let output = call.known.count(&text);
    if text.is_empty() || output > ready.room {
        let stop = match (text.is_empty(), ready.by_window) {
            (true, _) => "end_turn",
            (false, true) => "model_context_window_exceeded",
            (false, false) => "max_tokens",
        };
        return Draft {
            stop,
            compacted: Some((ready.input, ready.room.min(output))),
            ..Draft::default()
        };
    }
    let changes = tool_changes(call);
    let sealed = Sealed {
        state: ready.examined.chain.state,
        head: call.head(),
        last: ready.examined.chain.last,
        preserves: call.known.model.can(tokens::Capability::KeepsThinking),
    };
    let signature = sealed.sign(&provider.seal, &text, changes.as_ref());
    let mut block = json!({
        "type": "compaction",
        "content": text,
        "signature": signature,
        "encrypted_content": null,
    });
    if let Some(changes) = changes {
        set(&mut block, "tool_changes", changes);
    }
    Draft {
        blocks: vec![(block, output)],
        stop: "compaction",
        compacted: Some((ready.input, output)),
        ..Draft::default()
    }
}

/// The tool changes of the range, those that an earlier block recorded first.
fn tool_changes(call: &Call) -> Option<Value> {
    let carried = call.carried().and_then(|it| it.value.get("tool_changes"));
    let mut changes: Vec<Value> = carried
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let blocks = call.messages.iter().flat_map(|message| &message.blocks);
    let said = blocks.filter(|block| block.kind == Kind::ToolChange);
    changes.extend(said.map(|block| super::content::unmarked(&block.value)));
    (!changes.is_empty()).then_some(Value::Array(changes))
}

/// A summary that was asked for in words.
fn in_words(
    provider: &Provider,
    ready: &Ready<'_>,
    request: &Request<'_>,
    fault: Option<&Fault>,
) -> Draft {
    let turns = sources(request, true);
    let text = summary(&turns, ready.room, &*ready.call.known.counter, fault);
    speak(provider, ready, vec![Say::Text(text)])
}

/// The answer of the script, after a compaction by threshold where one is due.
fn spoken(provider: &mut Provider, ready: &Ready<'_>, request: &Request<'_>) -> Draft {
    let due = edits(ready.call).iter().find(|edit| {
        let trigger = amount(edit, "trigger").map_or(150_000, |(_, value)| value);
        edit.get("type").is_some_and(|it| it == "compact_20260112") && ready.input >= trigger
    });
    let block = due.map(|_| {
        let turns = sources(request, false);
        let text = summary(&turns, ready.room, &*ready.call.known.counter, None);
        let tokens = ready.call.known.count(&text);
        let block = json!({"type": "compaction", "content": text, "encrypted_content": null});
        (block, tokens)
    });
    let pauses = due
        .and_then(|edit| edit.get("pause_after_compaction"))
        .and_then(Value::as_bool)
        == Some(true);
    let mut draft = if pauses {
        Draft {
            stop: "compaction",
            ..Draft::default()
        }
    } else {
        let turns = if provider.script().reads_all() {
            request.turns(&Heuristic)
        } else {
            newest(request)
        };
        let names: Vec<String> = ready.call.tools.iter().map(|it| it.name.clone()).collect();
        let says = provider.script().next(&Prompt {
            model: &ready.call.known.asked,
            turns: &turns,
            tools: &names,
            form: asked_for(request).as_ref(),
        });
        speak(provider, ready, says)
    };
    if let Some((block, tokens)) = block {
        draft.compacted = Some((ready.input, tokens));
        draft.blocks.insert(0, (block, tokens));
    }
    draft
}

/// Puts the pieces into blocks, within the limits.
fn speak(provider: &Provider, ready: &Ready<'_>, says: Vec<Say>) -> Draft {
    let call = ready.call;
    let thinks = matches!(call.kind_of("thinking"), Some("enabled" | "adaptive"));
    let silent = call.kind_of("tool_choice") == Some("none");
    let mut previous = ready.examined.previous;
    let mut left = ready.room;
    let mut draft = Draft {
        stop: "end_turn",
        ..Draft::default()
    };
    for (index, say) in says.into_iter().enumerate() {
        let full = match say {
            Say::Think(text) if thinks => {
                let chain = &ready.examined.chain;
                let signature = sign(&provider.seal, call, chain, previous, &text);
                previous = name_of(&signature);
                let tokens = call.known.count(&text);
                let block = json!({"type": "thinking", "thinking": text, "signature": signature});
                push(&mut draft, block, tokens, &mut left)
            }
            Say::Text(text) if !text.is_empty() => say_text(call, text, &mut draft, &mut left),
            Say::Call { name, input }
                if !silent && call.tools.iter().any(|tool| tool.name == name) =>
            {
                let id = provider.id("toolu_", index as u64 + 1);
                let tokens = call.known.count(&name) + call.known.count(&input.to_string());
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
                draft.stop = "tool_use";
                push(&mut draft, block, tokens, &mut left)
            }
            _ => false,
        };
        if full {
            draft.stop = if ready.by_window {
                "model_context_window_exceeded"
            } else {
                "max_tokens"
            };
            break;
        }
        if draft.stop_sequence.is_some() {
            draft.stop = "stop_sequence";
            break;
        }
    }
    draft
}

/// Adds a block. Returns `true` if it did not fit.
fn push(draft: &mut Draft, block: Value, tokens: u64, left: &mut u64) -> bool {
    if tokens > *left {
        return true;
    }
    *left -= tokens;
    draft.blocks.push((block, tokens));
    false
}

fn say_text(call: &Call, text: String, draft: &mut Draft, left: &mut u64) -> bool {
    let stops = call.field("stop_sequences").and_then(Value::as_array);
    let stop = stops
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .find(|stop| !stop.is_empty() && text.contains(stop));
    let text = match stop.and_then(|stop| Some((stop, text.split_once(stop)?))) {
        Some((stop, (before, _))) => {
            draft.stop_sequence = Some(stop.to_owned());
            before.to_owned()
        }
        None => text,
    };
    let full = call.known.count(&text) > *left;
    let (text, tokens) = call.known.shorten(text, *left);
    if !text.is_empty() {
        *left -= tokens;
        draft
            .blocks
            .push((json!({"type": "text", "text": text}), tokens));
    }
    full
}

/// Gives the answer its id, its usage and its reports.
fn write(
    provider: &mut Provider,
    ready: &Ready<'_>,
    view: &View,
    draft: Draft,
    share: &Share,
) -> Written {
    let call = ready.call;
    provider.serial += 1;
    let output: u64 = draft.blocks.iter().map(|(_, tokens)| tokens).sum();
    let mut more = Map::new();
    if call.field("context_management").is_some() {
        more.insert(
            "context_management".to_owned(),
            json!({"applied_edits": view.applied}),
        );
    }
    let controls = call.has(super::request::beta::BINDING_CONTROLS);
    if controls || !ready.examined.transformations.is_empty() {
        more.insert(
            "input_transformations".to_owned(),
            json!(ready.examined.transformations),
        );
    }
    let org = provider.organisation(call.organisation);
    if let Some(found) = diagnostics::diagnose(call, ready.examined, org, share.read) {
        more.insert("diagnostics".to_owned(), found);
    }
    Written {
        id: provider.id("msg_", 0),
        model: call.known.asked.clone(),
        stop: draft.stop,
        stop_sequence: draft.stop_sequence,
        usage: usage(call, share, output, draft.compacted),
        blocks: draft.blocks,
        more,
    }
}

/// `usage`. The tokens of a compaction stand in the iterations, not at the top.
fn usage(
    call: &Call,
    share: &Share,
    output: u64,
    compacted: Option<(u64, u64)>,
) -> Map<String, Value> {
    let counts = |share: &Share, output: u64| {
        json!({
            "input_tokens": share.fresh,
            "output_tokens": output,
            "cache_creation_input_tokens": share.write + share.write_long,
            "cache_read_input_tokens": share.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": share.write,
                "ephemeral_1h_input_tokens": share.write_long,
            },
        })
    };
    let pass = |kind: &str, share: &Share, output: u64| {
        let mut pass = counts(share, output);
        set(&mut pass, "type", kind);
        pass
    };
    let none = Share::default();
    let (top, iterations) = match compacted {
        None => (counts(share, output), None),
        Some((_, summary)) if call.compacts() => (
            counts(&none, 0),
            Some(json!([pass("compaction", share, summary)])),
        ),
        Some((_, summary)) => {
            // The answer itself was written over the summary alone.
            let over = Share {
                fresh: summary,
                ..none
            };
            let said = output.saturating_sub(summary);
            let mut passes = vec![pass("compaction", share, summary)];
            if said > 0 {
                passes.push(pass("message", &over, said));
            }
            (counts(&over, said), Some(json!(passes)))
        }
    };
    let mut usage = match top {
        Value::Object(usage) => usage,
        _ => Map::new(),
    };
    usage.insert("service_tier".to_owned(), json!("standard"));
    if let Some(iterations) = iterations {
        usage.insert("iterations".to_owned(), iterations);
    }
    usage
}
