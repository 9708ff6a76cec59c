//! A client that sends its whole conversation each time, the gateway, and the strict provider behind it.

use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use context::Tokens;
use gateway::config::{Config, RouteChoice, Upstreams};
use gateway::report::{Reports, Viewer};
use gateway::{Gateway, Running};
use history::{ConversationId, Engine, Limits, MemoryEngine};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The window of these tests, of the provider and the gateway alike.
pub const WINDOW: u64 = 16_000;

#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Time that passes only when it is told to.
#[derive(Clone)]
pub struct Time(Arc<AtomicI64>);

impl Time {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).expect("a time")
    }

    pub fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

/// A provider and a gateway before it.
pub struct House {
    pub sim: sim::Running,
    pub gateway: Running,
    pub engine: Arc<dyn Engine>,
    pub time: Time,
    config: Config,
    log: Kept,
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}

impl House {
    pub async fn new(change: impl FnOnce(&mut Config)) -> Self {
        Self::before(sim::Config::default(), change).await
    }

    /// With a provider of its own settings; unless they say otherwise, the window is that of these tests.
    pub async fn before(provider: sim::Config, change: impl FnOnce(&mut Config)) -> Self {
        let time = Time(Arc::new(AtomicI64::new(1_790_000_000)));
        let log = Kept::default();
        let clock = time.clone();
        let sim = sim::serve(
            listener().await,
            sim::Config {
                window: provider.window.or(Some(Tokens::new(WINDOW))),
                ..provider
            },
            Arc::new(move || clock.now()),
            Some(sim::Log::new(Box::new(log.clone()))),
        )
        .expect("a provider");
        let mut config = Config {
            upstream: Upstreams {
                anthropic: sim.url(),
                openai: sim.url(),
                ..Upstreams::default()
            },
            tenants: gateway::config::Tenancy::Keys,
            ..Config::default()
        };
        config.policy.window = Some(Tokens::new(WINDOW));
        config.policy.route = RouteChoice::Extractive;
        // These tests compare messages byte for byte; `breakpoints` says what is compared with them.
        config.policy.breakpoints = false;
        change(&mut config);
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new([7; 32], Limits::default()));
        let gateway = open(&config, &engine, &time).await;
        Self {
            sim,
            gateway,
            engine,
            time,
            config,
            log,
        }
    }

    /// Ends the gateway and starts another one with other settings on the same store.
    pub async fn reopen(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
        self.restart().await;
    }

    /// Ends the gateway and starts another one on the same store.
    pub async fn restart(&mut self) {
        let next = open(&self.config, &self.engine, &self.time).await;
        std::mem::replace(&mut self.gateway, next).shutdown().await;
    }

    /// The bodies of the messages that the provider was sent, summaries of ours excepted.
    pub fn sent(&self) -> Vec<Value> {
        let log = self.log.0.lock().expect("a lock").clone();
        let text = String::from_utf8(log).expect("text");
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .map(|line| line["body"].clone())
            .collect()
    }

    /// The messages of the newest request that the provider got.
    pub fn newest(&self) -> Vec<Value> {
        let newest = self.sent().pop().expect("a request");
        newest["messages"].as_array().expect("a list").clone()
    }

    /// Waits until no summary is being made in this conversation.
    pub async fn prepared(&self, conversation: &str) {
        // An answer that was only passed on belongs to none.
        let Some(id) = ConversationId::parse(conversation) else {
            return;
        };
        for looks in 0.. {
            let detail = self.gateway.core().detail(Viewer::All, id).await;
            if detail.expect("a report").line.state != "preparing" {
                return;
            }
            assert!(looks < 1_000, "a summary takes ten seconds");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn close(self) {
        self.gateway.shutdown().await;
        self.sim.shutdown().await;
    }
}

async fn open(config: &Config, engine: &Arc<dyn Engine>, time: &Time) -> Running {
    let clock = time.clone();
    let gateway = Gateway {
        config: config.clone(),
        engine: Arc::clone(engine),
        clock: Arc::new(move || clock.now()),
    };
    gateway::serve(listener().await, gateway).expect("a gateway")
}

/// An answer.
#[derive(Debug)]
pub struct Came {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Came {
    pub fn did(&self) -> &str {
        self.header("x-ebbtide-did")
    }

    pub fn conversation(&self) -> &str {
        self.header("x-ebbtide-conversation")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }
}

/// A client of Anthropic's interface.
#[derive(Clone)]
pub struct Agent {
    http: Client<HttpConnector, Full<Bytes>>,
    pub key: String,
    pub model: String,
    pub messages: Vec<Value>,
    /// The value of the header `anthropic-beta`.
    pub beta: &'static str,
    /// The other fields of its requests.
    pub fields: Value,
    /// The encoding of its bodies.
    pub coding: Option<Coding>,
}

/// A `content-encoding`, and what applies it.
pub type Coding = (&'static str, fn(&[u8]) -> Vec<u8>);

impl Agent {
    pub fn new(key: &str) -> Self {
        Self {
            http: Client::builder(TokioExecutor::new()).build_http(),
            key: key.to_owned(),
            model: "claude-opus-5-5".to_owned(),
            messages: Vec::new(),
            beta: "tools-2024-04-04",
            fields: json!({}),
            coding: None,
        }
    }

    /// One whose model thinks, and whose thinking is bound to what was shown before it.
    pub fn thinking(key: &str) -> Self {
        Self {
            fields: json!({"thinking": {"type": "adaptive"}}),
            ..Self::new(key)
        }
    }

    /// Sends what it has and this.
    pub async fn say(&mut self, house: &House, text: &str) -> Came {
        let text = match self.fields.get("thinking") {
            Some(_) => format!("@sim think let me see\n@sim say done\n{text}"),
            None => text.to_owned(),
        };
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        self.messages.push(message);
        self.go_on(house).await
    }

    /// Says some `tokens` tokens about file number `n`, and is answered.
    pub async fn tell(&mut self, house: &House, n: usize, tokens: usize) -> Came {
        let came = self.say(house, &words(n, tokens)).await;
        assert_eq!(came.status, 200, "{} at {n}: {came:?}", self.model);
        came
    }

    /// Asks the model to read file number `n`, and gives it some `tokens` tokens as the result.
    pub async fn read(&mut self, house: &House, n: usize, tokens: usize) -> [Came; 2] {
        let text = format!("@sim call read {{\"path\":\"src/module_{n}.rs\"}}");
        let asked = self.say(house, &text).await;
        assert_eq!(asked.status, 200, "{n}: {asked:?}");
        let call = &asked.body["content"][0];
        assert_eq!(call["type"], "tool_use", "{asked:?}");
        let result = json!({
            "type": "tool_result", "tool_use_id": call["id"], "content": words(n, tokens),
        });
        self.messages
            .push(json!({"role": "user", "content": [result]}));
        let came = self.go_on(house).await;
        [asked, came]
    }

    /// Says things until a summary is swapped in, and so many more of `tokens` tokens. How much was said.
    pub async fn until_swapped(&mut self, house: &House, more: usize, tokens: usize) -> usize {
        let mut n = 0;
        while !self.tell(house, n, 700).await.did().contains("swapped") {
            assert!(n < 60, "no swap in sixty requests");
            n += 1;
        }
        for behind in 1..=more {
            self.tell(house, n + behind, tokens).await;
        }
        n + more + 1
    }

    /// Sends what it has, and takes the answer into it.
    pub async fn go_on(&mut self, house: &House) -> Came {
        let came = self.send(house).await;
        if came.status == 200 {
            let content = came.body["content"].clone();
            self.messages
                .push(json!({"role": "assistant", "content": content}));
        }
        came
    }

    /// Sends what it has.
    pub async fn send(&self, house: &House) -> Came {
        self.post(house, "/v1/messages", &self.body()).await
    }

    /// The client's conversation, as a request.
    pub fn body(&self) -> Value {
        let tools = json!([{"name": "read", "description": "reads a file",
            "input_schema": {"type": "object"}}]);
        let mut body = json!({
            "model": self.model,
            "max_tokens": 400,
            "system": "You are a careful engineer.",
            "tools": tools,
            "messages": self.messages,
        });
        for (key, value) in self.fields.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        body
    }

    pub async fn post(&self, house: &House, path: &str, body: &Value) -> Came {
        house.time.pass(10);
        let request = Request::post(format!("{}{path}", house.gateway.url()));
        let body = body.to_string();
        match self.coding {
            Some((name, encode)) => {
                let request = request.header("content-encoding", name);
                self.ask(request, encode(body.as_bytes())).await
            }
            None => self.ask(request, body).await,
        }
    }

    /// Sends a request for a stream, which may be cut off with a fault of the provider, and reads it to its end.
    /// Returns the status.
    pub async fn stream(
        &self,
        house: &House,
        path: &str,
        (body, fault): (&Value, Option<&str>),
    ) -> u16 {
        house.time.pass(10);
        let mut request = Request::post(format!("{}{path}", house.gateway.url()))
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json");
        if let Some(fault) = fault {
            request = request.header("x-sim-fault", fault);
        }
        let request = request.body(Full::new(Bytes::from(body.to_string())));
        let answer = self.http.request(request.expect("a request")).await;
        let (head, body) = answer.expect("an answer").into_parts();
        // It may end early.
        let _ = body.collect().await;
        head.status.as_u16()
    }

    pub async fn get(&self, house: &House, path: &str) -> Came {
        let request = Request::get(format!("{}{path}", house.gateway.url()));
        self.ask(request, String::new()).await
    }

    /// A page that is not JSON.
    pub async fn text(&self, house: &House, path: &str) -> String {
        let request = Request::get(format!("{}{path}", house.gateway.url()));
        let request = request.body(Full::default()).expect("a request");
        let answer = self.http.request(request).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body");
        String::from_utf8(body.to_bytes().into()).expect("text")
    }

    async fn ask(&self, request: http::request::Builder, body: impl Into<Bytes>) -> Came {
        let request = request
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01")
            .header("anthropic-beta", self.beta)
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .expect("a request");
        self.came(request).await
    }

    async fn came(&self, request: Request<Full<Bytes>>) -> Came {
        let (head, body) = self
            .http
            .request(request)
            .await
            .expect("an answer")
            .into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Came {
            status: head.status.as_u16(),
            headers: head.headers,
            body: serde_json::from_slice(&body).expect("JSON"),
        }
    }
}

/// Some `tokens` tokens about file number `n`.
pub fn words(n: usize, tokens: usize) -> String {
    let mut text = format!("Look at src/module_{n}.rs and error E{n:04}. ");
    let mut word = 0;
    while text.len() < tokens * 3 {
        text.push_str(["first ", "then ", "after that ", "and so on "][word % 4]);
        word += 1;
    }
    text
}
