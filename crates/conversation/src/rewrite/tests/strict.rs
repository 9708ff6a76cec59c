//! Conversations with the strict provider, in process: nothing that is rendered is refused.
//!
//! A client that knows of nothing sends its whole history each time; between it and the provider the
//! history is shown by views that cross swaps of each route. The provider calls tools, and on Anthropic
//! it thinks, with signatures that it verifies.

use context::note::RuntimeContext;
use context::shrink::Limits;
use context::{Heuristic, Part, Role, Tokens, TurnId};
use history::Change;
use http::{HeaderMap, HeaderValue, Method};
use jiff::Timestamp;
use serde_json::{Value, json};
use sim::{Config, Incoming, Provider, Say, Script};
use tokens::ModelTable;
use wire::api::{Dialect, Reply, Request, Response};

use crate::view::{Front, View};
use crate::rewrite::{beta, betas, note, render, restate, shrink_new};

/// The way in which the summaries of a run are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Readable,
    /// Without a text: the turns before the cut are dropped.
    Dropped,
    Native,
}

/// A client, what stands between, and the provider.
struct Run {
    dialect: Dialect,
    model: &'static str,
    provider: Provider,
    /// The client's words and its answers, as it sends them: the messages of its next request.
    said: Vec<String>,
    second: i64,
    front: Option<(Route, String)>,
    from: usize,
    stripped: usize,
    changes: Vec<(usize, Change)>,
    /// The number of messages of the history that were sent already.
    known: usize,
    /// The newest sent body, with its betas.
    sent: (Vec<u8>, Vec<&'static str>),
    shrunk: usize,
}

/// The provider thinks, speaks and calls one or two tools; with every third answer it asks nothing more.
fn script() -> Script {
    let call = |path: &str| Say::Call {
        name: "read".to_owned(),
        input: json!({ "path": path }),
    };
    let steps = (0..60).map(|step| {
        let mut says = vec![
            Say::Think(format!("thought {step}")),
            Say::Text(format!("answer {step}")),
        ];
        if step % 3 != 2 {
            says.push(call(&format!("src/file_{step}.rs")));
        }
        if step % 3 == 1 {
            says.push(call("README.md"));
        }
        says
    });
    Script::Steps(steps.collect())
}

impl Run {
    fn new(dialect: Dialect, model: &'static str) -> Self {
        let mut said = Vec::new();
        if dialect == Dialect::Chat {
            said.push(json!({"role": "system", "content": "be careful"}).to_string());
        }
        if dialect == Dialect::Responses {
            said.push(json!({"role": "developer", "content": "be careful"}).to_string());
        }
        said.push(json!({"role": "user", "content": "start"}).to_string());
        let provider = Provider::new(Config {
            script: script(),
            ..Config::default()
        });
        Self {
            dialect,
            model,
            provider,
            said,
            second: 0,
            front: None,
            from: 0,
            stripped: 0,
            changes: Vec::new(),
            known: 0,
            sent: (Vec::new(), Vec::new()),
            shrunk: 0,
        }
    }

    /// The client's request: on Anthropic its breakpoints move with the newest message.
    fn body(&self) -> String {
        let messages = format!("[{}]", self.said.join(", "));
        let schema = json!({"type": "object"});
        match self.dialect {
            Dialect::Anthropic => {
                let mut messages: Vec<Value> = serde_json::from_str(&messages).unwrap();
                let users = messages.iter_mut().rev().filter(|it| it["role"] == "user");
                for message in users.take(2) {
                    if let Some(text) = message["content"].as_str().map(str::to_owned) {
                        message["content"] = json!([{"type": "text", "text": text}]);
                    }
                    let blocks = message["content"].as_array_mut().unwrap();
                    blocks.last_mut().unwrap()["cache_control"] = json!({"type": "ephemeral"});
                }
                let system = json!([{"type": "text", "text": "be careful", "cache_control": {"type": "ephemeral"}}]);
                json!({"model": self.model, "max_tokens": 1_000, "system": system, "messages": messages,
                    "thinking": {"type": "adaptive"},
                    "tools": [{"name": "read", "input_schema": schema}]})
                .to_string()
            }
            Dialect::Chat => format!(
                r#"{{"model":"{}","messages":{messages},"tools":[{{"type":"function","function":{{"name":"read","parameters":{schema}}}}}]}}"#,
                self.model
            ),
            Dialect::Responses => format!(
                r#"{{"model":"{}","input":{messages},"tools":[{{"type":"function","name":"read","parameters":{schema}}}]}}"#,
                self.model
            ),
        }
    }

    /// The body to send for a request of the client's, and the betas that it needs.
    fn rendered(&self, request: &Request<'_>) -> (Vec<u8>, Vec<&'static str>) {
        let front = match &self.front {
            None => Front::Nothing,
            Some((Route::Native, message)) => Front::Native { message: message.as_str().into() },
            Some((Route::Readable, summary)) => Front::Readable {
                pins: "[Pinned, in full:]\n- never push".into(),
                summary: summary.as_str().into(),
            },
            Some((Route::Dropped, _)) => Front::Readable {
                pins: "".into(),
                summary: "".into(),
            },
        };
        let view = View {
            front,
            from: self.from,
            cleared: 0,
            stripped: self.stripped,
            changes: self.changes.clone(),
        };
        (
            render(request, &view).unwrap(),
            betas(self.dialect, &view),
        )
    }

    fn send(&mut self, body: &[u8], betas: &[&'static str]) -> Reply {
        let mut headers = HeaderMap::new();
        let path = match self.dialect {
            Dialect::Anthropic => "/v1/messages",
            Dialect::Chat => "/v1/chat/completions",
            Dialect::Responses => "/v1/responses",
        };
        if self.dialect == Dialect::Anthropic {
            headers.insert("x-api-key", HeaderValue::from_static("key"));
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            headers.insert(
                "anthropic-beta",
                HeaderValue::from_str(&betas.join(",")).unwrap(),
            );
        } else {
            headers.insert("authorization", HeaderValue::from_static("Bearer key"));
        }
        self.second += 1;
        let answer = self.provider.answer(&Incoming {
            method: &Method::POST,
            path,
            headers: &headers,
            body,
            now: Timestamp::from_second(self.second).unwrap(),
        });
        let text = answer.text();
        let sent = String::from_utf8_lossy(body);
        assert_eq!(answer.status, 200, "{text}\n{sent}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value.get("input_transformations"), None, "{text}\n{sent}");
        Response::parse(self.dialect, text.as_bytes())
            .unwrap()
            .reply()
    }

    /// One request of the client's and what it does with the answer.
    fn turn(&mut self) {
        let body = self.body();
        let request = Request::parse(self.dialect, body.as_bytes()).unwrap();
        let new = vec![TurnId::from_bytes([1; 16]); request.len() - self.known];
        let limits = Limits::new(Tokens::new(Limits::MIN));
        let shrunk = shrink_new(&request, &new, (&limits, Tokens::ZERO), &Heuristic);
        self.shrunk += shrunk.len();
        self.changes.extend(shrunk);
        let model = ModelTable::shipped().find(self.model);
        let facts = RuntimeContext {
            used: Some(Tokens::new(self.second.unsigned_abs())),
            ..RuntimeContext::default()
        };
        let newest = request.message(request.len() - 1).unwrap();
        if newest.draft().role == Role::User
            && let Some(addition) = note(&request, &model, &facts)
        {
            self.changes.push((addition.message, addition.change));
        }
        self.known = request.len();
        let (sent, betas) = self.rendered(&request);
        let reply = self.send(&sent, &betas);
        self.sent = (sent, betas);
        self.hear(&reply);
    }

    /// The client appends the answer and its tools' results, or says something new.
    fn hear(&mut self, reply: &Reply) {
        self.said.push(reply.message());
        let draft = reply.draft();
        let calls = draft.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call.id.as_str().to_owned()),
            _ => None,
        });
        let output = "line of a file\n".repeat(if self.second % 5 == 0 { 200 } else { 2 });
        let results: Vec<Value> = calls
            .map(|id| match self.dialect {
                Dialect::Anthropic => {
                    json!({"type": "tool_result", "tool_use_id": id, "content": output})
                }
                Dialect::Chat => json!({"role": "tool", "tool_call_id": id, "content": output}),
                Dialect::Responses => {
                    json!({"type": "function_call_output", "call_id": id, "output": output})
                }
            })
            .collect();
        if results.is_empty() {
            let text = format!("go on, {}", self.second);
            self.said
                .push(json!({"role": "user", "content": text}).to_string());
        } else if self.dialect == Dialect::Anthropic {
            self.said
                .push(json!({"role": "user", "content": results}).to_string());
        } else {
            self.said.extend(results.iter().map(Value::to_string));
        }
    }

    /// Swaps in a summary. A native one is made of exactly what was sent last.
    fn swap(&mut self, route: Route) {
        match route {
            Route::Native => {
                let (sent, mut betas) = self.sent.clone();
                let covered = self.known;
                betas.push(beta::COMPACT);
                let reply = self.summarise(&sent, &betas);
                let block = reply.compaction().unwrap();
                let message = match self.dialect {
                    Dialect::Anthropic => format!(r#"{{"role":"assistant","content":[{block}]}}"#),
                    Dialect::Chat | Dialect::Responses => block.to_owned(),
                };
                // The client goes on meanwhile.
                self.turn();
                self.from = covered;
                self.front = Some((route, message));
                self.changes.retain(|(at, _)| *at >= covered);
                let body = self.body();
                let request = Request::parse(self.dialect, body.as_bytes()).unwrap();
                let pins = restate(&request, "[Pinned, in full:]\n- never push").unwrap();
                self.changes.push((pins.message, pins.change));
            }
            Route::Readable | Route::Dropped => {
                let body = self.body();
                let request = Request::parse(self.dialect, body.as_bytes()).unwrap();
                let turns: Vec<Role> = request.messages().map(|it| it.draft().role).collect();
                let later =
                    (request.len() / 2..request.len()).filter(|at| turns[*at] != Role::Tool);
                self.from = later.min().unwrap();
                let binds = ModelTable::shipped()
                    .find(self.model)
                    .can(tokens::Capability::ThinkingBinding);
                self.stripped = if binds { request.len() } else { 0 };
                self.front = Some((route, "a summary of what was said".to_owned()));
            }
        }
    }

    /// The provider's own summary of a request that was made.
    fn summarise(&mut self, sent: &[u8], betas: &[&'static str]) -> Reply {
        let request = Request::parse(self.dialect, sent).unwrap();
        let body = match self.dialect {
            Dialect::Anthropic => request
                .edit()
                .set("compaction", r#"{"type":"summarize"}"#)
                .render()
                .unwrap(),
            Dialect::Chat | Dialect::Responses => {
                let trigger = r#"{"type":"compaction_trigger"}"#;
                let pieces = vec![
                    wire::api::Piece::Kept(0..request.len()),
                    wire::api::Piece::Written(trigger.into()),
                ];
                request.edit().messages(pieces).render().unwrap()
            }
        };
        self.send(&body, betas)
    }
}

fn check(dialect: Dialect, model: &'static str, routes: &[Route]) {
    let mut run = Run::new(dialect, model);
    for route in routes {
        for _ in 0..7 {
            run.turn();
        }
        run.swap(*route);
        for _ in 0..5 {
            run.turn();
        }
    }
    assert!(run.shrunk > 0);
}

#[test]
fn a_model_that_binds_thinking() {
    let model = "claude-opus-5-5";
    check(
        Dialect::Anthropic,
        model,
        &[Route::Readable, Route::Readable],
    );
    check(
        Dialect::Anthropic,
        model,
        &[Route::Dropped, Route::Readable],
    );
    check(Dialect::Anthropic, model, &[Route::Native, Route::Native]);
    check(
        Dialect::Anthropic,
        model,
        &[
            Route::Readable,
            Route::Native,
            Route::Readable,
            Route::Native,
        ],
    );
}

#[test]
fn models_without_system_messages_in_between() {
    for model in ["claude-sonnet-4-6", "claude-haiku-4-5"] {
        check(
            Dialect::Anthropic,
            model,
            &[Route::Readable, Route::Dropped],
        );
    }
    check(
        Dialect::Anthropic,
        "claude-sonnet-4-6",
        &[Route::Native, Route::Readable, Route::Native],
    );
}

#[test]
fn chat() {
    check(
        Dialect::Chat,
        "gpt-5.6-sol",
        &[Route::Readable, Route::Dropped],
    );
    check(
        Dialect::Chat,
        "qwen3-coder",
        &[Route::Readable, Route::Dropped],
    );
}

#[test]
fn responses() {
    let model = "gpt-5.6-sol";
    check(
        Dialect::Responses,
        model,
        &[Route::Readable, Route::Dropped],
    );
    check(Dialect::Responses, model, &[Route::Native, Route::Native]);
    check(
        Dialect::Responses,
        model,
        &[Route::Native, Route::Readable, Route::Native],
    );
}
