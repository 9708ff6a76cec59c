//! `ebbtide bench behaviour`: asks a model what it does after a compaction.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use context::Part;
use ebbtide::{Client, Engine, EngineError, Next, Ticket};
use jiff::{SignedDuration, Timestamp};
use lab::behaviour::{Case, Kind, Memory, Share, Truth, cases};
use lab::figures;
use model::{Endpoint, Restart};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use wire::api::Dialect;

use crate::command::runtime;
use crate::console::Console;
use crate::environment::account;
use crate::failure::{Exit, Failure};
use crate::table::{self, Column};

#[derive(Debug, Args)]
#[command(after_help = "\
In each case the user says something first, 40 exchanges about files follow, and \
the user asks last: for a rule to be followed (8 cases), for a fact (8), for the \
task that is left when another one is closed (6), and for the state of the model's \
memory (5: the date, the time since the last message, the fullness of the window, \
the compactions). The words of the answers decide; no model judges.

\"whole\": the model is shown all of it. \"compacted\": the engine has replaced most \
of it with a summary made without a model. \"no note\": the same without the note \
about the memory. The interval holds the true share with 95 % confidence (Wilson).

One run asks 54 questions, which takes about 400,000 tokens of input; the answers \
in between are scripted and cost nothing. The key comes from OPENAI_API_KEY and \
goes to the endpoint. Exit status 3: the time was not enough for all questions.

Example:
  ebbtide bench behaviour --endpoint https://api.openai.com --model gpt-5.5")]
pub struct BehaviourArgs {
    /// Base URL of an OpenAI Chat Completions API
    #[arg(long, value_name = "URL")]
    endpoint: String,
    /// The model to ask
    #[arg(long, value_name = "NAME")]
    model: String,
    /// Ask everything this many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u16,
    /// Tokens of the longest answer, reasoning included
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    max_tokens: u32,
    /// Stop after this many minutes, and report the answers so far
    #[arg(long, value_name = "N", default_value_t = 30)]
    minutes: u16,
    /// Print the result as JSON, with the wrong answers
    #[arg(long)]
    json: bool,
}

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.behaviour/1";

/// The window in which the engine compacts. It fills twice.
const WINDOW: u64 = 6_000;

/// The pause before the last question.
const PAUSE: SignedDuration = SignedDuration::from_hours(5);

/// The start of each conversation: no model knows this date by itself.
const START: i64 = 1_936_600_000;

/// The result of a run.
#[derive(Default)]
struct Behaved {
    shares: BTreeMap<(Kind, Memory), Share>,
    wrong: Vec<Value>,
    /// True if the time was enough for all questions.
    is_complete: bool,
    /// The error that ended it early.
    stopped: Option<String>,
}

pub fn run(args: &BehaviourArgs, console: &mut Console) -> Result<Exit, Failure> {
    let endpoint = Endpoint::new(Dialect::Chat, &args.endpoint);
    let endpoint = endpoint.map_err(|error| Failure::of(&error))?;
    let endpoint = match account("OPENAI").key {
        Some(key) => endpoint.with_key(&key),
        None => Ok(endpoint),
    };
    let endpoint = endpoint.map_err(|error| Failure::of(&error))?;
    let behaved = runtime()?.block_on(ask_all(args, &endpoint))?;
    if !behaved.is_complete {
        console.note(format!(
            "stopped after {} minutes; the report covers the answers so far",
            args.minutes
        ));
    }
    if args.json {
        console.json(&report(args, &behaved))?;
    } else {
        print(&behaved, console)?;
    }
    Ok(match behaved.is_complete {
        true => Exit::Success,
        false => Exit::Partial,
    })
}

async fn ask_all(args: &BehaviourArgs, endpoint: &Endpoint) -> Result<Behaved, Failure> {
    let client = model::Client::default();
    let end = Instant::now() + Duration::from_secs(60 * u64::from(args.minutes));
    let mut behaved = Behaved::default();
    for case in (0..args.repeat).flat_map(|_| cases()) {
        for memory in case.kind.memories() {
            if Instant::now() >= end {
                return Ok(behaved);
            }
            let (body, truth) = question(&case, memory, args).map_err(|it| Failure::of(&it))?;
            let asked = client.reply(endpoint, body, Restart::FromTheStart);
            let Ok(answer) = timeout_at(end, asked).await else {
                return Ok(behaved);
            };
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) if behaved.shares.is_empty() => return Err(Failure::of(&error)),
                // The answers so far were paid for.
                Err(error) => {
                    behaved.stopped = Some(error.to_string());
                    return Ok(behaved);
                }
            };
            let parts = answer.reply.draft().parts;
            let texts = parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let text = texts.collect::<Vec<_>>().join("\n");
            let is_right = case.is_right(&text, &truth);
            let share = behaved.shares.entry((case.kind, memory)).or_default();
            share.count(is_right);
            if !is_right {
                behaved.wrong.push(json!({
                    "kind": case.kind, "memory": memory, "asks": case.asks, "answer": text,
                }));
            }
        }
    }
    behaved.is_complete = true;
    Ok(behaved)
}

/// The request that asks the last question, and what a right answer says.
fn question(
    case: &Case,
    memory: Memory,
    args: &BehaviourArgs,
) -> Result<(Bytes, Truth), EngineError> {
    let builder = Engine::builder().window(WINDOW);
    let engine = builder
        .notes(memory != Memory::CompactedWithoutNote)
        .open()?;
    let client = engine.client("bench").speaking(Dialect::Chat);
    let mut now = Timestamp::from_second(START).unwrap_or_default();
    let mut messages = Vec::new();
    for (role, text) in case.conversation() {
        let is_answer = role == context::Role::Assistant;
        if is_answer && memory != Memory::Whole {
            now = later(now, SignedDuration::from_secs(30));
            let (_, ticket) = sent(&engine, &client, body(&messages, args), now)?;
            let answer = json!({"choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": text}}]});
            let answer = answer.to_string();
            if let Some(work) = engine.observe(ticket, answer.as_bytes(), now)? {
                engine.extract(work, now);
            }
        }
        let role = if is_answer { "assistant" } else { "user" };
        messages.push(json!({"role": role, "content": text}));
    }
    now = later(now, PAUSE);
    messages.push(json!({"role": "user", "content": case.asks}));
    let body = body(&messages, args);
    let mut truth = Truth {
        date: now.strftime("%Y-%m-%d").to_string(),
        hours: u32::try_from(PAUSE.as_hours()).unwrap_or_default(),
        percent: 0.0,
        compactions: 0,
    };
    if memory == Memory::Whole {
        return Ok((body.into(), truth));
    }
    let (sent, _ticket) = sent(&engine, &client, body, now)?;
    if let Some(told) = engine.conversations(&client)?.first() {
        truth.compactions = told.compactions;
        let used = told.view.map_or(0, context::Tokens::get);
        truth.percent = 100.0 * used as f64 / WINDOW as f64;
    }
    Ok((sent, truth))
}

/// A request as the engine sends it. Summaries that it waits for are made on the spot.
fn sent(
    engine: &Engine,
    client: &Client,
    body: String,
    now: Timestamp,
) -> Result<(Bytes, Ticket), EngineError> {
    let own = Bytes::from(body);
    let mut next = engine.request(client, own.clone(), now)?;
    while let Next::Hold(mut held) = next {
        if let Some(work) = held.work.take() {
            engine.extract(work, now);
        }
        next = engine.resume(held, now)?;
    }
    Ok(match next {
        Next::Send(out) => (out.body, out.ticket),
        _ => (own, Ticket::default()),
    })
}

fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(now)
}

fn body(messages: &[Value], args: &BehaviourArgs) -> String {
    let longest = Dialect::Chat.facts().keys.longest_answer;
    json!({"model": args.model, "messages": messages, longest: args.max_tokens}).to_string()
}

fn report(args: &BehaviourArgs, behaved: &Behaved) -> Value {
    let rows = behaved.shares.iter().map(|((kind, memory), share)| {
        let (low, high) = share.interval();
        json!({
            "kind": kind, "memory": memory, "right": share.right, "asked": share.asked,
            "share": share.of_all(), "low": low, "high": high,
        })
    });
    json!({
        "schema": SCHEMA,
        "model": args.model,
        "complete": behaved.is_complete,
        "stopped": behaved.stopped,
        "rows": rows.collect::<Vec<_>>(),
        "wrong": behaved.wrong,
    })
}

fn print(behaved: &Behaved, console: &mut Console) -> Result<(), Failure> {
    let all: Vec<(&(Kind, Memory), &Share)> = behaved.shares.iter().collect();
    let names: Vec<String> = all
        .iter()
        .map(|((kind, memory), _)| format!("{}, {}", kind.as_str(), memory.as_str()))
        .collect();
    let interval = |share: &Share| {
        let (low, high) = share.interval();
        format!("{} – {}", figures::percent(low), figures::percent(high))
    };
    let columns = [
        Column::of("right", &all, |(_, it)| it.right.to_string()),
        Column::of("asked", &all, |(_, it)| it.asked.to_string()),
        Column::of("share", &all, |(_, it)| figures::percent(it.of_all())),
        Column::of("95 %", &all, |(_, it)| interval(it)),
    ];
    console.lines(table::render("behavior", &names, &columns, console.width))?;
    match &behaved.stopped {
        Some(error) => console.line(format!("Stopped early: {error}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use lab::behaviour::{Memory, cases};

    use super::{BehaviourArgs, question};

    #[test]
    fn what_is_called_compacted_was_compacted() {
        let args = BehaviourArgs {
            endpoint: String::new(),
            model: "gpt-5.5".to_owned(),
            repeat: 1,
            max_tokens: 100,
            minutes: 1,
            json: false,
        };
        for case in cases() {
            let ask = |memory| question(&case, memory, &args).unwrap();
            let (whole, truth) = ask(Memory::Whole);
            assert_eq!(truth.compactions, 0, "{case:?}");
            for memory in [Memory::Compacted, Memory::CompactedWithoutNote] {
                let (body, truth) = ask(memory);
                assert!(truth.compactions > 0, "{case:?}");
                let (sent, all) = (body.len(), whole.len());
                assert!(sent < all, "{sent} of {all} bytes: {case:?}");
                let text = String::from_utf8(body.to_vec()).unwrap();
                assert!(text.contains(case.asks) && text.contains("made by compaction"));
                let is_noted = text.contains("compactions in this session");
                assert_eq!(is_noted, memory == Memory::Compacted, "{case:?}");
            }
        }
    }
}
