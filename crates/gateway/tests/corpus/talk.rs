//! A client that holds a recorded conversation over HTTP.

use std::time::{Duration, Instant};

use bytes::Bytes;
use context::summary::Field;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::session::{Exchange, Recorded, Said};

/// The header that numbers the requests of the client, from 0.
pub const NUMBER: &str = "x-client-request";

/// The breakpoint that moves with the newest message.
pub const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// The client's choices.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub model: &'static str,
    /// The JSON of `thinking`.
    pub thinking: &'static str,
    /// Texts to pin, each with the number of the request that first holds it.
    pub pins: &'static [(usize, &'static str)],
}

/// The client's view of one request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The number of blocks in the client's newest message.
    pub blocks: usize,
    pub did: Vec<String>,
    pub fresh: u64,
    pub written: u64,
    pub read: u64,
    pub output: u64,
    pub took: Duration,
}

impl Seen {
    /// Tokens that were not read from the cache.
    pub const fn uncached(&self) -> u64 {
        self.fresh + self.written
    }

    /// The tokens that it leaves in the cache.
    pub const fn left(&self) -> u64 {
        self.read + self.written
    }

    /// All tokens of the request.
    pub const fn input(&self) -> u64 {
        self.uncached() + self.read
    }

    pub fn did(&self, word: &str) -> bool {
        self.did.iter().any(|did| did == word)
    }
}

struct Talk<'a> {
    url: &'a str,
    choice: Choice,
    tools: String,
    client: Client<HttpConnector, Full<Bytes>>,
    messages: Vec<String>,
    /// The ids of the calls of the newest answer.
    calls: Vec<String>,
}

/// Where a conversation is held.
pub struct Setup<'a> {
    pub url: String,
    /// The gateway there, if it is one. Its preparations are waited for between requests: an agent's
    /// tools take longer than a summary, those of a test take no time.
    pub gateway: Option<&'a gateway::Running>,
    pub keeper: Keeper,
}

/// Who keeps the conversation within the window.
#[derive(Clone, Copy, Debug)]
pub enum Keeper {
    /// A gateway, or nobody has to; the client knows nothing of it.
    Gateway,
    /// The client: where the window would be nearly full, it stops, has everything summarised, and goes on
    /// with that alone.
    Client { window: u64 },
}

/// A client summarises for itself where what it is about to send would fill this share of the window: the
/// gateway's hard threshold.
const FULL: f64 = 0.85;

/// Holds the whole conversation there.
pub async fn hold(place: &Setup<'_>, recorded: &Recorded, choice: Choice) -> Vec<Seen> {
    let url = place.url.as_str();
    let tools: Vec<Value> = recorded.tools.iter().map(|name| tool(name)).collect();
    let mut talk = Talk {
        url,
        choice,
        tools: Value::from(tools).to_string(),
        client: Client::builder(TokioExecutor::new()).build_http(),
        messages: Vec::new(),
        calls: Vec::new(),
    };
    let mut seen: Vec<Seen> = Vec::new();
    for (number, exchange) in recorded.exchanges.iter().enumerate() {
        if let Keeper::Client { window } = place.keeper
            && let Some(last) = seen.last()
            && (last.input() + last.output + exchange.tokens(choice.model)) as f64
                >= window as f64 * FULL
        {
            seen.push(talk.summarise(number, exchange).await);
        }
        seen.push(talk.exchange(number, exchange).await);
        if let Some(gateway) = place.gateway {
            let ordered = seen.iter().filter(|it| it.did("preparing")).count();
            settled(gateway, ordered).await;
        }
    }
    seen
}

/// Returns when as many preparations have ended.
async fn settled(gateway: &gateway::Running, preparations: usize) {
    let ended = async {
        let count = || {
            let counts = counts(gateway, "ebbtide_preparations_total");
            counts.iter().map(|(_, count)| count).sum::<usize>()
        };
        while count() < preparations {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
    ended.expect("a preparation ends");
}

/// A counter in the metrics' text: its labels as they stand there, and the count.
pub fn counts(gateway: &gateway::Running, name: &str) -> Vec<(String, usize)> {
    let text = gateway.metrics().render();
    let lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines
        .filter_map(|rest| {
            let (labels, count) = rest.strip_prefix('{')?.split_once("} ")?;
            Some((labels.to_owned(), count.parse().ok()?))
        })
        .collect()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "As recorded.", "input_schema": {"type": "object"}})
}

impl Talk<'_> {
    async fn exchange(&mut self, number: usize, exchange: &Exchange) -> Seen {
        let mut content: Vec<Value> = exchange.said.iter().map(|it| self.block(it)).collect();
        let pins = self.choice.pins.iter().filter(|(at, _)| *at == number);
        content
            .extend(pins.map(|(_, text)| json!({"type": "text", "text": format!("#pin {text}")})));
        let (seen, answer) = self.ask(number, &content).await;
        let blocks = &answer["content"];
        self.messages
            .push(json!({"role": "assistant", "content": blocks}).to_string());
        self.calls = blocks
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|block| Some(block.get("id")?.as_str()?.to_owned()))
            .collect();
        seen
    }

    /// Has everything summarised and begins again with the summary. Of the results that are about to be
    /// sent, which must stand there, only the beginning is shown.
    async fn summarise(&mut self, number: usize, exchange: &Exchange) -> Seen {
        let results = exchange.said.iter().filter_map(Said::begun);
        let mut content: Vec<Value> = results.map(|it| self.block(&it)).collect();
        let headings = Field::ALL.map(|field| format!("## {}", field.heading()));
        let headings = headings.join("\n");
        let ask =
            format!("The window is nearly full. Summarise the conversation under:\n{headings}");
        content.push(json!({"type": "text", "text": ask}));
        let (mut seen, answer) = self.ask(number, &content).await;
        seen.did.push("summarised".to_owned());
        let texts = answer["content"].as_array().into_iter().flatten();
        let texts: String = texts.filter_map(|block| block["text"].as_str()).collect();
        let opened = json!({"type": "text", "text": format!("So far: {texts}")});
        let agreed = json!({"type": "text", "text": "I go on from there."});
        self.messages = vec![
            json!({"role": "user", "content": [opened]}).to_string(),
            json!({"role": "assistant", "content": [agreed]}).to_string(),
        ];
        self.calls.clear();
        seen
    }

    /// Sends all there is and this, which stays.
    async fn ask(&mut self, number: usize, content: &[Value]) -> (Seen, Value) {
        let message = json!({"role": "user", "content": content}).to_string();
        let before = message.strip_suffix("}]}").expect("blocks");
        let marked = format!("{before}{MARK}}}]}}");
        let started = now();
        let (status, headers, answer) = self.send(number, &marked).await;
        let took = started.elapsed();
        assert_eq!(status, 200, "request {number}: {answer}");
        self.messages.push(message);
        let usage = |key: &str| answer["usage"][key].as_u64().expect("a count");
        let seen = Seen {
            blocks: content.len(),
            did: words(&headers),
            fresh: usage("input_tokens"),
            written: usage("cache_creation_input_tokens"),
            read: usage("cache_read_input_tokens"),
            output: usage("output_tokens"),
            took,
        };
        (seen, answer)
    }

    fn block(&self, said: &Said) -> Value {
        match said {
            Said::Text(text) => json!({"type": "text", "text": text}),
            Said::Result { call, text, failed } => match self.calls.get(*call) {
                Some(id) => json!({
                    "type": "tool_result",
                    "tool_use_id": id,
                    "content": text,
                    "is_error": failed,
                }),
                // Its call was summarised.
                None => json!({"type": "text", "text": format!("The result: {text}")}),
            },
        }
    }

    async fn send(&self, number: usize, newest: &str) -> (u16, HeaderMap, Value) {
        let Choice {
            model, thinking, ..
        } = self.choice;
        let tools = &self.tools;
        let history: String = self.messages.iter().flat_map(|it| [it, ","]).collect();
        let body = format!(
            r#"{{"model":"{model}","max_tokens":16000,"thinking":{thinking},"tools":{tools},"system":[{{"type":"text","text":"You are a careful engineer."}}],"messages":[{history}{newest}]}}"#
        );
        let request = Request::post(format!("{}/v1/messages", self.url))
            .header("x-api-key", "key-of-a-test")
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
            .header(NUMBER, number)
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        let (head, body) = self
            .client
            .request(request)
            .await
            .expect("an answer")
            .into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let answer = serde_json::from_slice(&body).expect("JSON");
        (head.status.as_u16(), head.headers, answer)
    }
}

fn words(headers: &HeaderMap) -> Vec<String> {
    let words = headers
        .get("x-ebbtide-did")
        .map(|it| it.to_str().expect("text"));
    let words = words.into_iter().flat_map(|list| list.split(','));
    words.map(|word| word.trim().to_owned()).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long an answer took to come is what is looked at"
)]
fn now() -> Instant {
    Instant::now()
}
