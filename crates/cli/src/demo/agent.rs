//! The demo's agent: a tool loop that resends the whole conversation with each request.
//!
//! Behind a gateway it does nothing else. Without one, it summarizes the conversation itself when the
//! window is nearly full, as common clients do.

use std::time::Duration;

use context::Tokens;
use context::summary::Field;
use serde::Deserialize;
use serde_json::{Value, json};
use wire::api::{Counts, Reply};

use super::http::{Answer, Http, broken};
use super::tools::Workspace;
use crate::failure::Failure;

/// A run with more requests than this is stuck in a loop.
const REQUESTS: usize = 600;
/// The `max_tokens` of the agent's requests. The gateway's summary requests have another value, which
/// tells the two apart in the provider's log.
pub const ANSWER: u64 = 4_096;
/// The share of the window at which an agent without a gateway summarizes. It equals the gateway's
/// hard threshold, so that both compact equally often.
const FULL: f64 = 0.85;

/// The party that keeps the conversation within the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compactor {
    /// A gateway, which is invisible to the agent.
    Gateway,
    /// The agent itself: when the last usage shows a nearly full window, it asks for a summary, waits
    /// for it, and continues with the summary only.
    Agent { window: Tokens },
}

/// The parameters of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentConfig<'a> {
    /// The value of the `x-ebbtide-session` header.
    pub name: &'static str,
    pub model: &'a str,
    pub compactor: Compactor,
}

/// One request of the agent and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Counted from 1.
    pub number: usize,
    /// The token counts that the provider reported.
    pub usage: Counts,
    /// The measured time to the first event of the answer.
    pub first: Duration,
    /// The words of `x-ebbtide-did`.
    pub did: Vec<String>,
    /// True if the agent asked for a summary for itself.
    pub summary: bool,
    /// The tools that the answer calls, each with its first argument.
    pub calls: Vec<(String, String)>,
}

impl Exchange {
    /// Says if `x-ebbtide-did` contains this word.
    pub fn did(&self, word: &str) -> bool {
        self.did.iter().any(|did| did == word)
    }

    /// Says if this exchange compacted the conversation.
    pub fn is_boundary(&self) -> bool {
        self.summary || self.did("swapped") || self.did("rescued")
    }
}

/// A block of an answer: text or a tool call.
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

/// An agent with its conversation.
pub struct Agent<'a> {
    http: &'a Http,
    workspace: &'a Workspace,
    base: String,
    name: &'static str,
    compactor: Compactor,
    /// The request body up to the messages.
    head: String,
    /// The messages as JSON. Each request resends the same bytes, which the provider's cache needs.
    messages: Vec<String>,
    pub sent: Vec<Exchange>,
    /// The gateway's ID for the conversation.
    conversation: Option<String>,
}

impl<'a> Agent<'a> {
    pub fn new(
        http: &'a Http,
        workspace: &'a Workspace,
        base: String,
        config: AgentConfig<'_>,
    ) -> Self {
        Self {
            http,
            workspace,
            base,
            name: config.name,
            compactor: config.compactor,
            head: head(config.model),
            messages: Vec::new(),
            sent: Vec::new(),
            conversation: None,
        }
    }

    /// The conversation as a JSON array of messages.
    pub fn messages(&self) -> String {
        format!("[{}]", self.messages.join(",\n"))
    }

    /// Sends a user message and runs tools until the model calls none. Calls `watch` after each request.
    pub async fn task(
        &mut self,
        ask: &str,
        watch: &mut dyn FnMut(&Exchange),
    ) -> Result<(), Failure> {
        self.messages.push(user(&json!(ask)));
        loop {
            if let Compactor::Agent { window } = self.compactor
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

    /// Pins a text in the conversation through the gateway's control API.
    pub async fn pin(&self, text: &str) -> Result<(), Failure> {
        let Some(id) = &self.conversation else {
            return Err(broken("the gateway sent no conversation ID"));
        };
        let url = format!("{}/ebbtide/api/conversations/{id}/pins", self.base);
        let body = json!({ "text": text }).to_string();
        let (status, body) = self.http.post(&url, body).await?;
        if status.is_success() {
            Ok(())
        } else {
            Err(broken(format!(
                "the gateway answered a pin with {status}: {body}"
            )))
        }
    }

    fn result(&self, call: &Block) -> Value {
        let output = self.workspace.call(&call.name, &call.input);
        json!({
            "type": "tool_result", "tool_use_id": call.id, "content": output.text,
            "is_error": output.failed,
        })
    }

    /// Asks the model for a summary and replaces the conversation with it.
    async fn summarise(&mut self, watch: &mut dyn FnMut(&Exchange)) -> Result<(), Failure> {
        self.messages.push(user(&json!(summary_request())));
        let reply = self.request(Purpose::Summary, watch).await?;
        let texts = blocks(&reply, "text").map(|block| block.text);
        let text = texts.collect::<Vec<_>>().join("\n");
        self.messages = vec![user(&json!(format!(
            "The conversation no longer fits the context window. This is its summary:\n\n{text}\n\n\
             Continue where it ends."
        )))];
        Ok(())
    }

    async fn request(
        &mut self,
        purpose: Purpose,
        watch: &mut dyn FnMut(&Exchange),
    ) -> Result<Reply, Failure> {
        let number = self.sent.len() + 1;
        if number > REQUESTS {
            return Err(broken(format!(
                "the agent did not finish within {REQUESTS} requests"
            )));
        }
        let body = format!("{},\"messages\":[{}]}}", self.head, self.messages.join(","));
        let answer = self.http.ask(&self.base, (self.name, number), body).await?;
        let sent = record(number, purpose, &answer);
        let id = text(&answer, "x-ebbtide-conversation");
        self.conversation = Some(id).filter(|id| !id.is_empty());
        watch(&sent);
        self.sent.push(sent);
        Ok(answer.reply)
    }
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Answer,
    Summary,
}

fn record(number: usize, purpose: Purpose, answer: &Answer) -> Exchange {
    let did = text(answer, "x-ebbtide-did");
    let words = did
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    Exchange {
        number,
        usage: answer.reply.usage.counts,
        first: answer.first,
        did: words.map(str::to_owned).collect(),
        summary: purpose == Purpose::Summary,
        calls: calls(&answer.reply).map(|call| shown(&call)).collect(),
    }
}

fn text(answer: &Answer, header: &str) -> String {
    let value = answer.headers.get(header).and_then(|it| it.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn blocks(reply: &Reply, kind: &'static str) -> impl Iterator<Item = Block> {
    let pieces = reply.pieces.iter();
    pieces
        .filter_map(|piece| serde_json::from_str::<Block>(piece).ok())
        .filter(move |block| block.kind == kind)
}

fn calls(reply: &Reply) -> impl Iterator<Item = Block> {
    blocks(reply, "tool_use")
}

/// The tool's name and its first argument.
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

/// The summary request of an agent without a gateway. It asks for the gateway's headings, so that the
/// summaries are comparable.
fn summary_request() -> String {
    let headings: Vec<String> = Field::ALL
        .iter()
        .map(|field| format!("## {}", field.heading()))
        .collect();
    format!(
        "The context window is nearly full. Summarize the conversation so that you can continue from \
         the summary alone, under these headings:\n{}",
        headings.join("\n")
    )
}

/// The body of every request up to the messages. It uses the provider's automatic cache breakpoint at
/// the end of the conversation, so that no message changes from one request to the next.
fn head(model: &str) -> String {
    let body = json!({
        "model": model,
        "max_tokens": ANSWER,
        "stream": true,
        "thinking": { "type": "adaptive" },
        "cache_control": { "type": "ephemeral" },
        "system": [{
            "type": "text",
            "text": "You review source code. Your tools list, read and search the files in one \
                     folder. Before each action, say in one sentence what you are about to do. Do not \
                     guess: report only what you have read.",
            "cache_control": { "type": "ephemeral" },
        }],
        "tools": Workspace::declarations(),
    });
    let text = body.to_string();
    text.strip_suffix('}').unwrap_or(&text).to_owned()
}
