//! The agent: sends the whole conversation with each request, runs the tools that the model calls, and
//! goes on until the model is done. With a gateway before it, that is all it does; without one it keeps
//! its conversation within the window itself, as usual clients do.

use std::time::Duration;

use context::Tokens;
use context::summary::Field;
use serde::Deserialize;
use serde_json::{Value, json};
use wire::api::{Counts, Reply};

use super::http::{Answered, Http, Refused, broken};
use super::tools::Workspace;
use crate::failure::Failure;

/// More requests than this, and something goes in circles.
const REQUESTS: usize = 600;
/// The longest answer, in tokens. A gateway asks for summaries of another length.
pub const ANSWER: u64 = 4_096;
/// The share of its window at which an agent without a gateway summarises: the gateway's own hard
/// threshold, so that both compact equally often.
const FULL: f64 = 0.85;

/// Who keeps the conversation within the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// A gateway; the agent knows nothing of it.
    Gateway,
    /// The agent itself: where the last answer's usage says that the window is nearly full, it asks
    /// for a summary, waits for it, and goes on with nothing else.
    Agent {
        /// The window.
        window: Tokens,
    },
}

/// Who an agent is.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// What it calls its conversation.
    pub name: &'static str,
    /// The model it asks.
    pub model: &'a str,
    /// Who keeps its conversation within the window.
    pub keeper: Keeper,
}

/// One request of the agent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its number, from 1.
    pub number: usize,
    /// What the provider counted.
    pub usage: Counts,
    /// Until the first event of the answer, measured.
    pub first: Duration,
    /// The words of `x-ebbtide-did`.
    pub did: Vec<String>,
    /// Whether the agent asked for a summary for itself.
    pub summary: bool,
    /// The tools that the answer calls, each with its first argument.
    pub calls: Vec<(String, String)>,
}

impl Sent {
    /// Whether `x-ebbtide-did` has this word.
    pub fn did(&self, word: &str) -> bool {
        self.did.iter().any(|did| did == word)
    }

    /// Whether the conversation was made smaller with this request.
    pub fn is_boundary(&self) -> bool {
        self.summary || self.did("swapped") || self.did("rescued")
    }
}

/// A block of an answer: text, or a call of a tool.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    input: Value,
}

/// The agent and its conversation.
pub struct Agent<'a> {
    http: &'a Http,
    workspace: &'a Workspace,
    base: String,
    name: &'static str,
    keeper: Keeper,
    /// The body up to the messages.
    head: String,
    /// The messages, each as it is sent, again and again, byte for byte.
    messages: Vec<String>,
    /// All requests so far.
    pub sent: Vec<Sent>,
    /// The gateway's name for the conversation.
    conversation: Option<String>,
}

impl<'a> Agent<'a> {
    /// An agent that has not said anything.
    pub fn new(http: &'a Http, workspace: &'a Workspace, base: String, who: Who<'_>) -> Self {
        Self {
            http,
            workspace,
            base,
            name: who.name,
            keeper: who.keeper,
            head: head(who.model),
            messages: Vec::new(),
            sent: Vec::new(),
            conversation: None,
        }
    }

    /// The conversation as the agent has it, as a list of messages.
    pub fn messages(&self) -> String {
        format!("[{}]", self.messages.join(",\n"))
    }

    /// Asks, and goes on until the model is done. `watch` is called after each request.
    pub async fn task(&mut self, ask: &str, watch: &mut dyn FnMut(&Sent)) -> Result<(), Failure> {
        self.messages.push(user(&json!(ask)));
        loop {
            if let Keeper::Agent { window } = self.keeper
                && let Some(last) = self.sent.last()
                && !last.summary
                && last.usage.context() >= window.scaled(FULL)
            {
                self.summarise(watch).await?;
            }
            let reply = self.request(Purpose::Answer, watch).await?;
            let message = reply.message();
            if !message.is_empty() {
                self.messages.push(message);
            }
            let results: Vec<Value> = calls(&reply).map(|call| self.result(&call)).collect();
            if results.is_empty() {
                return Ok(());
            }
            self.messages.push(user(&Value::Array(results)));
        }
    }

    /// Has a text pinned in its conversation by the gateway.
    pub async fn pin(&self, text: &str) -> Result<(), Failure> {
        let Some(id) = &self.conversation else {
            return Err(broken("the gateway gave the conversation no name"));
        };
        let url = format!("{}/ebbtide/api/conversations/{id}/pins", self.base);
        let body = json!({ "text": text }).to_string();
        let (status, body) = self.http.post(&url, body).await?;
        if status.is_success() {
            Ok(())
        } else {
            Err(broken(format!("a pin got {status}: {body}")))
        }
    }

    fn result(&self, call: &Block) -> Value {
        let outcome = self.workspace.call(&call.name, &call.input);
        json!({
            "type": "tool_result", "tool_use_id": call.id, "content": outcome.text,
            "is_error": outcome.failed,
        })
    }

    /// Stops, has everything summarised, and goes on with the summary alone.
    async fn summarise(&mut self, watch: &mut dyn FnMut(&Sent)) -> Result<(), Failure> {
        self.messages.push(user(&json!(summary_request())));
        let reply = self.request(Purpose::Summary, watch).await?;
        let texts = blocks(&reply, "text").map(|block| block.text);
        let text = texts.collect::<Vec<_>>().join("\n");
        self.messages = vec![user(&json!(format!(
            "The conversation so far did not fit any more. This is its summary:\n\n{text}\n\nGo on \
             where it ends."
        )))];
        Ok(())
    }

    async fn request(
        &mut self,
        purpose: Purpose,
        watch: &mut dyn FnMut(&Sent),
    ) -> Result<Reply, Failure> {
        let number = self.sent.len() + 1;
        if number > REQUESTS {
            return Err(broken(format!("it is not done after {REQUESTS} requests")));
        }
        let body = format!("{},\"messages\":[{}]}}", self.head, self.messages.join(","));
        let answer = self.http.ask(&self.base, (self.name, number), body).await?;
        let answer = match answer {
            Ok(answer) => answer,
            Err(Refused { status, body }) => {
                let body: String = body.chars().take(300).collect();
                return Err(broken(format!("request {number} got {status}: {body}")));
            }
        };
        let sent = record(number, purpose, &answer);
        let named = text(&answer, "x-ebbtide-conversation");
        self.conversation = Some(named).filter(|named| !named.is_empty());
        watch(&sent);
        self.sent.push(sent);
        Ok(answer.reply)
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Answer,
    Summary,
}

fn record(number: usize, purpose: Purpose, answer: &Answered) -> Sent {
    let did = text(answer, "x-ebbtide-did");
    let words = did
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    Sent {
        number,
        usage: answer.reply.usage.counts,
        first: answer.first,
        did: words.map(str::to_owned).collect(),
        summary: purpose == Purpose::Summary,
        calls: calls(&answer.reply).map(|call| shown(&call)).collect(),
    }
}

fn text(answer: &Answered, header: &str) -> String {
    let value = answer.headers.get(header).and_then(|it| it.to_str().ok());
    value.unwrap_or_default().to_owned()
}

/// The blocks of one kind.
fn blocks(reply: &Reply, kind: &'static str) -> impl Iterator<Item = Block> {
    let pieces = reply.pieces.iter();
    pieces
        .filter_map(|piece| serde_json::from_str::<Block>(piece).ok())
        .filter(move |block| block.kind == kind)
}

fn calls(reply: &Reply) -> impl Iterator<Item = Block> {
    blocks(reply, "tool_use")
}

/// A call in a few words: the tool and its first argument.
fn shown(call: &Block) -> (String, String) {
    let argument = call
        .input
        .as_object()
        .and_then(|input| input.values().next());
    let argument = argument.and_then(Value::as_str).unwrap_or_default();
    (call.name.clone(), argument.to_owned())
}

fn user(content: &Value) -> String {
    json!({ "role": "user", "content": content }).to_string()
}

/// The request for a summary of an agent without a gateway, by the headings that ours has too.
fn summary_request() -> String {
    let headings: Vec<String> = Field::ALL
        .iter()
        .map(|field| format!("## {}", field.heading()))
        .collect();
    format!(
        "The window is nearly full. Summarise the conversation so that you can go on from the summary \
         alone, under these headings:\n{}",
        headings.join("\n")
    )
}

/// The body of every request up to its messages. The breakpoint at the end of the conversation is the
/// provider's automatic one, so that no message changes from one request to the next.
fn head(model: &str) -> String {
    let body = json!({
        "model": model,
        "max_tokens": ANSWER,
        "stream": true,
        "thinking": { "type": "adaptive" },
        "cache_control": { "type": "ephemeral" },
        "system": [{
            "type": "text",
            "text": "You review source code. You work with tools that list, read and search the files \
                     of one folder. You say what you do before you do it, in one sentence, and you do \
                     not guess: what you report, you have read.",
            "cache_control": { "type": "ephemeral" },
        }],
        "tools": Workspace::declarations(),
    });
    let text = body.to_string();
    text.strip_suffix('}').unwrap_or(&text).to_owned()
}
