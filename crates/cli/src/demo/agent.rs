//! The demo's agent: a tool loop that resends the whole conversation with each request.
//!
//! Behind a gateway it does nothing else. Without one, it summarizes the conversation itself when the
//! window is nearly full, as common clients do.

use std::time::Duration;

use context::pin::Subject;
use context::summary::Field;
use context::turn::ToolCall;
use context::{Part, Tokens, TurnDraft};
use gateway::Remote;
use gateway::config::Secret;
use model::{Client, Endpoint};
use serde_json::{Value, json};
use wire::api::{Counts, Dialect};

use super::http::{Answer, KEY, ask, broken};
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

/// An agent with its conversation.
pub struct Agent<'a> {
    client: Client,
    endpoint: Endpoint,
    workspace: &'a Workspace,
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
    /// An agent of `model` whose provider, or the gateway in front of it, is at `url`.
    pub fn new(
        client: &Client,
        workspace: &'a Workspace,
        url: &str,
        model: &str,
        compactor: Compactor,
    ) -> Result<Self, Failure> {
        let endpoint = Endpoint::new(Dialect::Anthropic, url)
            .and_then(|endpoint| endpoint.with_key(KEY))
            .and_then(|endpoint| endpoint.with_header("x-ebbtide-session", "demo"));
        Ok(Self {
            client: client.clone(),
            endpoint: endpoint.map_err(broken)?,
            workspace,
            compactor,
            head: head(model),
            messages: Vec::new(),
            sent: Vec::new(),
            conversation: None,
        })
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
            let answer = self.request(Purpose::Answer, watch).await?;
            let message = answer.reply.message();
            if !message.is_empty() {
                self.messages.push(message);
            }
            let said = answer.reply.draft();
            let results: Vec<Value> = calls(&said).map(|call| self.result(call)).collect();
            if results.is_empty() {
                return Ok(());
            }
            self.messages.push(user(&Value::Array(results)));
        }
    }

    /// Pins a text in the conversation through the control API of the gateway at `url`.
    pub async fn pin(&self, url: &str, text: &str) -> Result<(), Failure> {
        let Some(id) = &self.conversation else {
            return Err(broken("the gateway sent no conversation ID"));
        };
        let gateway = Remote::new(url, Some(Secret::new(KEY))).map_err(broken)?;
        gateway
            .pin(id, &Subject::Text(text.to_owned()))
            .await
            .map_err(broken)?;
        Ok(())
    }

    fn result(&self, call: &ToolCall) -> Value {
        let output = self.workspace.call(&call.name, &input(call));
        json!({
            "type": "tool_result", "tool_use_id": call.id.as_str(), "content": output.text,
            "is_error": output.failed,
        })
    }

    /// Asks the model for a summary and replaces the conversation with it.
    async fn summarise(&mut self, watch: &mut dyn FnMut(&Exchange)) -> Result<(), Failure> {
        self.messages.push(user(&json!(summary_request())));
        let answer = self.request(Purpose::Summary, watch).await?;
        let said = answer.reply.draft();
        let texts = said.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        // The summary is the model's own message: in the newest one, its headings would ask for another.
        let told = "The conversation no longer fits the context window. Summarize it.";
        let summary = json!({ "role": "assistant", "content": text }).to_string();
        let go_on = user(&json!("Continue where the summary ends."));
        self.messages = vec![user(&json!(told)), summary, go_on];
        Ok(())
    }

    async fn request(
        &mut self,
        purpose: Purpose,
        watch: &mut dyn FnMut(&Exchange),
    ) -> Result<Answer, Failure> {
        let number = self.sent.len() + 1;
        if number > REQUESTS {
            return Err(broken(format!(
                "the agent did not finish within {REQUESTS} requests"
            )));
        }
        let body = format!("{},\"messages\":[{}]}}", self.head, self.messages.join(","));
        let answer = ask(&self.client, self.endpoint.clone(), number, body).await?;
        let sent = record(number, purpose, &answer);
        let id = answer.header("x-ebbtide-conversation");
        self.conversation = (!id.is_empty()).then(|| id.to_owned());
        watch(&sent);
        self.sent.push(sent);
        Ok(answer)
    }
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Answer,
    Summary,
}

fn record(number: usize, purpose: Purpose, answer: &Answer) -> Exchange {
    let did = answer.header("x-ebbtide-did").split(',').map(str::trim);
    let did = did.filter(|word| !word.is_empty());
    Exchange {
        number,
        usage: answer.reply.usage.counts,
        first: answer.first,
        did: did.map(str::to_owned).collect(),
        summary: purpose == Purpose::Summary,
        calls: calls(&answer.reply.draft()).map(shown).collect(),
    }
}

fn calls(said: &TurnDraft) -> impl Iterator<Item = &ToolCall> {
    said.parts.iter().filter_map(|part| match part {
        Part::Call(call) => Some(call),
        _ => None,
    })
}

fn input(call: &ToolCall) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_default()
}

/// The tool's name and its first argument.
fn shown(call: &ToolCall) -> (String, String) {
    let input = input(call);
    let argument = input.as_object().and_then(|input| input.values().next());
    let argument = argument.and_then(Value::as_str).unwrap_or_default();
    (call.name.to_string(), argument.to_owned())
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
