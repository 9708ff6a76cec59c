//! A client that sends its whole conversation each time, and the strict provider behind the engine.

use ebbtide::{Builder, Client, ConversationId, Did, Engine, Next, Timestamp, Tokens, Work};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

/// The window of these tests, of the provider and the engine alike.
pub const WINDOW: u64 = 8_000;

/// A provider's refusal of a request as too long.
pub const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 8000 maximum"}}"#;

/// The result of saying something.
#[derive(Debug)]
pub struct Came {
    /// The body that the client wrote.
    pub body: String,
    /// The body that was sent.
    pub sent: String,
    pub did: Vec<Did>,
    pub of: Option<ConversationId>,
    pub work: Option<Work>,
}

pub struct Talk {
    pub engine: Engine,
    pub client: Client,
    pub provider: sim::Provider,
    pub messages: Vec<Value>,
    pub stream: bool,
    /// The number of times the provider finds a request too long before it answers.
    pub refusals: usize,
    pub model: &'static str,
    seconds: i64,
}

pub fn builder() -> Builder {
    Engine::builder().window(WINDOW)
}

impl Talk {
    pub fn new(builder: Builder) -> Self {
        let engine = builder.open().unwrap();
        Self {
            client: engine.client("key-one"),
            engine,
            provider: provider(WINDOW),
            messages: Vec::new(),
            stream: false,
            refusals: 0,
            model: "claude-opus-4-5",
            seconds: 1_790_000_000,
        }
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_second(self.seconds).unwrap()
    }

    /// Says something, and hears the answer; a held request makes its summary without a model.
    pub fn say(&mut self, text: &str) -> Came {
        self.messages.push(json!({"role": "user", "content": text}));
        self.seconds += 30;
        let mut body = json!({"model": self.model, "max_tokens": 500, "messages": self.messages});
        if self.stream {
            body["stream"] = true.into();
        }
        let body = body.to_string();
        let now = self.now();
        let mut next = self
            .engine
            .request(&self.client, body.clone(), now)
            .unwrap();
        let out = loop {
            next = match next {
                Next::Send(out) => break out,
                Next::Hold(mut held) => {
                    if let Some(work) = held.work.take() {
                        self.engine.extract(work, now);
                    }
                    self.engine.resume(held, now).unwrap()
                }
                other => panic!("{other:?}"),
            };
        };
        let (mut sent, mut ticket, mut betas) = (out.body, out.ticket, out.betas);
        for _ in 0..self.refusals {
            let refusal = (400, TOO_LONG.as_bytes());
            sent = self
                .engine
                .refused(&mut ticket, refusal, now)
                .unwrap_or(sent);
            betas.extend(ticket.betas());
        }
        let mut answer = self.answer(&sent, &betas);
        if answer.status != 200 {
            let refusal = (answer.status, answer.text());
            let again = self
                .engine
                .refused(&mut ticket, (refusal.0, refusal.1.as_bytes()), now);
            sent = again.unwrap_or_else(|| panic!("{refusal:?}"));
            betas.extend(ticket.betas());
            answer = self.answer(&sent, &betas);
        }
        let (status, text) = (answer.status, answer.text());
        assert_eq!(status, 200, "{text}");
        let of = ticket.conversation();
        let half = text.floor_char_boundary(text.len() / 2);
        let (first, rest) = text.split_at(half);
        // As servers do that keep the connection awake.
        assert!(!ticket.hear(b"\n"));
        ticket.hear(first.as_bytes());
        let work = self.engine.observe(ticket, rest.as_bytes(), now).unwrap();
        let content = match self.stream {
            true => json!("heard"),
            false => serde_json::from_str::<Value>(&text).unwrap()["content"].clone(),
        };
        self.messages
            .push(json!({"role": "assistant", "content": content}));
        Came {
            body,
            sent: String::from_utf8(sent.to_vec()).unwrap(),
            did: out.did,
            of,
            work,
        }
    }

    /// Says things until something is done.
    pub fn until(&mut self, done: Did) -> Came {
        for number in 0..60 {
            let came = self.say(&words(number));
            if came.did.contains(&done) {
                return came;
            }
        }
        panic!("never {done}");
    }

    fn answer(&mut self, body: &[u8], betas: &[&str]) -> sim::Answer {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static("key-one"));
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if !betas.is_empty() {
            let named = HeaderValue::from_str(&betas.join(",")).unwrap();
            headers.insert("anthropic-beta", named);
        }
        let now = self.now();
        self.provider.answer(&sim::Incoming {
            method: &Method::POST,
            path: "/v1/messages",
            headers: &headers,
            body,
            now,
        })
    }
}

pub fn provider(window: u64) -> sim::Provider {
    sim::Provider::new(sim::Config {
        window: Some(Tokens::new(window)),
        ..sim::Config::default()
    })
}

pub fn words(number: usize) -> String {
    format!("Look at src/part_{number}.rs and mend what is wrong there. ").repeat(30)
}
