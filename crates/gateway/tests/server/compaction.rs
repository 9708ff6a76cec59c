//! Compaction as a protocol: clients compact in every dialect, in front of a provider that knows none of them.

use std::sync::Arc;

use gateway::Running;
use gateway::config::Config;
use history::{Engine, Limits, MemoryEngine};
use serde_json::{Value, json};
use sim::Compaction;
use wire::api::{Accumulator, Decoder, Dialect};

use crate::harness::{Came, Received, anthropic, ask, keeping, logged, openai};

const FACT: &str = "#pin The port of the ledger is 7341. Never write below /srv/ledger.";
const BETAS: &str = "compact-2026-09-04,compact-2026-01-12,context-management-2025-06-27";

/// A provider without compaction and a gateway before it.
struct House {
    received: Received,
    provider: sim::Running,
    gateway: Running,
    engine: Arc<dyn Engine>,
}

impl House {
    async fn new(compaction: Compaction, change: impl FnOnce(&mut Config)) -> Self {
        let received = Received::default();
        let config = sim::Config {
            compaction,
            ..sim::Config::default()
        };
        let provider = logged(config, received.clone()).await;
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new([7; 32], Limits::default()));
        let gateway = keeping(Arc::clone(&engine), &provider.url(), change).await;
        Self {
            received,
            provider,
            gateway,
            engine,
        }
    }

    async fn without() -> Self {
        Self::new(Compaction::Unknown, |_| {}).await
    }

    /// Another gateway on the same store.
    async fn restart(&mut self) {
        let next = keeping(Arc::clone(&self.engine), &self.provider.url(), |_| {}).await;
        std::mem::replace(&mut self.gateway, next).shutdown().await;
    }

    /// The newest request that the provider received.
    fn newest(&self) -> String {
        self.received.lines().pop().expect("a request")
    }

    fn refused(&self) -> u64 {
        self.provider.provider().total().refused
    }

    async fn close(self) {
        self.gateway.shutdown().await;
        self.provider.shutdown().await;
    }
}

fn did<'c>(came: &'c Came, word: &str) -> bool {
    let words: &'c str = came.header("x-ebbtide-did");
    words.split(',').any(|it| it == word)
}

/// Some words about this number, which stand nowhere else.
fn words(n: usize) -> String {
    let line = |at: usize| format!("In src/part_{n}_{at}.rs the writer renames segment {n}{at}. ");
    (0..40).map(line).collect()
}

/// A client of Responses that keeps its items.
struct Responses {
    key: &'static str,
    model: &'static str,
    items: Vec<Value>,
    said: usize,
    fields: Value,
}

impl Responses {
    fn new() -> Self {
        Self {
            key: "key-of-a-test",
            model: "gpt-5.5",
            items: Vec::new(),
            said: 0,
            fields: json!({"store": false}),
        }
    }

    async fn post(&self, house: &House, path: &str, input: &Value, more: &Value) -> Came {
        let mut body = json!({"model": self.model, "input": input});
        for (key, value) in more.as_object().expect("fields") {
            body[key] = value.clone();
        }
        let mut request = openai(&house.gateway.url(), path, body.to_string());
        let key = format!("Bearer {}", self.key);
        let key = key.parse().expect("a header");
        request.headers_mut().insert("authorization", key);
        ask(request).await
    }

    /// Says something, and a tool call in between.
    async fn say(&mut self, house: &House) -> Came {
        let n = self.said;
        self.said += 1;
        let text = match n {
            0 => format!("{FACT}\n{}", words(n)),
            _ => words(n),
        };
        self.items.push(json!({"role": "user", "content": text}));
        let call = json!({"type": "function_call", "call_id": format!("c{n}"), "name": "read",
            "arguments": format!("{{\"path\":\"src/file_{n}.rs\"}}")});
        let result = json!({"type": "function_call_output", "call_id": format!("c{n}"),
            "output": words(100 + n)});
        self.items.extend([call, result]);
        let came = self
            .post(house, "/v1/responses", &json!(self.items), &self.fields)
            .await;
        assert_eq!(came.status, 200, "{came:?}");
        self.items.extend(output(&came));
        came
    }
}

/// The output of an answer, whole or as a stream.
fn output(came: &Came) -> Vec<Value> {
    pieces(Dialect::Responses, "output", came)
}

fn pieces(dialect: Dialect, key: &str, came: &Came) -> Vec<Value> {
    if !came.header("content-type").starts_with("text/event-stream") {
        return came.json()[key].as_array().expect("a list").clone();
    }
    let mut decoder = Decoder::default();
    decoder.push(&came.body);
    let mut accumulator = Accumulator::new(dialect);
    while let Some(event) = decoder.next_event() {
        let event = event.expect("an event");
        accumulator
            .accept(&event)
            .expect("an event that can be read");
    }
    assert!(accumulator.is_complete(), "{came:?}");
    let reply = accumulator.reply();
    let pieces = reply.pieces.iter();
    pieces
        .map(|piece| serde_json::from_str(piece).expect("JSON"))
        .collect()
}

/// Checks what the provider sees once a client goes on from its compaction.
fn goes_on(house: &House, came: &Came, earlier: usize) {
    assert!(did(came, "opened"), "{came:?}");
    let newest = house.newest();
    assert!(
        newest.contains("The port of the ledger is 7341."),
        "{newest}"
    );
    assert!(
        newest.contains("[Summary of earlier conversation"),
        "{newest}"
    );
    assert!(!newest.contains("\"compaction"), "{newest}");
    let call = format!("\"c{earlier}\"");
    assert!(!newest.contains(&call), "the call is summarised: {newest}");
}

#[tokio::test]
async fn responses_compact_by_their_path() {
    let mut house = House::without().await;
    let mut client = Responses::new();
    for round in 0..3 {
        for _ in 0..3 {
            client.say(&house).await;
        }
        let input = json!(client.items);
        let came = client
            .post(&house, "/v1/responses/compact", &input, &json!({}))
            .await;
        assert_eq!(came.status, 200, "{came:?}");
        assert!(did(&came, "answered"), "{came:?}");
        let body = came.json();
        assert_eq!(body["object"], "response.compaction");
        let list = body["output"].as_array().expect("a list").clone();
        let (item, users) = list.split_last().expect("an item");
        assert_eq!(item["type"], "compaction");
        assert!(
            item["encrypted_content"]
                .as_str()
                .is_some_and(|it| it.starts_with("ebb1."))
        );
        assert_eq!(
            users.len(),
            client.said,
            "all messages of the user and nothing else"
        );
        assert!(
            users
                .iter()
                .all(|it| it["role"] == "user" && it["type"] == "message")
        );
        client.items = list;
        if round == 1 {
            // Another process opens what this one sealed.
            house.restart().await;
        }
        let came = client.say(&house).await;
        goes_on(&house, &came, client.said - 2);
    }
    // The provider was asked once, and its refusal was remembered; so it was after the restart.
    assert_eq!(house.refused(), 2);
    house.close().await;
}

#[tokio::test]
async fn responses_compact_by_a_trigger() {
    let house = House::new(Compaction::Unknown, |config| {
        config.policy.native_compaction = Some(false);
    })
    .await;
    let mut client = Responses::new();
    client.fields = json!({"store": false, "stream": true});
    for _ in 0..3 {
        for _ in 0..2 {
            client.say(&house).await;
        }
        let mut input = client.items.clone();
        input.push(json!({"type": "compaction_trigger"}));
        let fields = client.fields.clone();
        let came = client
            .post(&house, "/v1/responses", &json!(input), &fields)
            .await;
        assert_eq!(came.status, 200, "{came:?}");
        let text = String::from_utf8(came.body.to_vec()).expect("text");
        assert!(text.contains("response.compaction.compacting"), "{text}");
        let output = output(&came);
        assert_eq!(output.len(), 1, "{output:?}");
        client.items = output;
        let came = client.say(&house).await;
        goes_on(&house, &came, client.said - 2);
    }
    assert_eq!(house.refused(), 0, "it was never asked");
    house.close().await;
}

#[tokio::test]
async fn responses_compact_from_a_size_on() {
    for streams in [false, true] {
        let house = House::without().await;
        let mut client = Responses::new();
        client.fields = json!({"store": false, "stream": streams,
            "context_management": [{"type": "compaction", "compact_threshold": 16_000}]});
        let mut compactions = 0;
        for _ in 0..60 {
            let came = client.say(&house).await;
            let items = output(&came);
            assert_eq!(
                items.last().expect("an item")["type"],
                "message",
                "{items:?}"
            );
            if items[0]["type"] != "compaction" {
                continue;
            }
            assert!(did(&came, "answered"), "{came:?}");
            compactions += 1;
            if compactions == 2 {
                // Items before it may go; another client keeps them.
                client.items = items;
            }
            let came = client.say(&house).await;
            goes_on(&house, &came, client.said - 2);
            if compactions == 3 {
                break;
            }
        }
        assert_eq!(compactions, 3);
        assert_eq!(house.refused(), 1, "asked once");
        house.close().await;
    }
}

/// A client of Messages that keeps its messages.
struct Messages {
    model: &'static str,
    messages: Vec<Value>,
    said: usize,
    fields: Value,
}

impl Messages {
    fn new() -> Self {
        Self {
            model: "claude-opus-5-5",
            messages: Vec::new(),
            said: 0,
            fields: json!({}),
        }
    }

    async fn post(&self, house: &House, path: &str, more: &Value) -> Came {
        let mut body = json!({"model": self.model, "messages": self.messages});
        if path == "/v1/messages" {
            body["max_tokens"] = json!(500);
        }
        for (key, value) in more.as_object().expect("fields") {
            body[key] = value.clone();
        }
        let mut request = anthropic(&house.gateway.url(), path, body.to_string());
        let betas = BETAS.parse().expect("a header");
        request.headers_mut().insert("anthropic-beta", betas);
        ask(request).await
    }

    async fn say(&mut self, house: &House) -> Came {
        let n = self.said;
        self.said += 1;
        let text = match n {
            0 => format!("{FACT}\n{}", words(n)),
            _ => words(n),
        };
        self.messages.push(json!({"role": "user", "content": text}));
        let call = json!({"type": "tool_use", "id": format!("c{n}"), "name": "read",
            "input": {"path": format!("src/file_{n}.rs")}});
        let result = json!({"type": "tool_result", "tool_use_id": format!("c{n}"),
            "content": words(100 + n)});
        self.messages
            .push(json!({"role": "assistant", "content": [call]}));
        self.messages
            .push(json!({"role": "user", "content": [result]}));
        let came = self.post(house, "/v1/messages", &self.fields).await;
        assert_eq!(came.status, 200, "{came:?}");
        let content = pieces(Dialect::Anthropic, "content", &came);
        self.messages
            .push(json!({"role": "assistant", "content": content}));
        came
    }
}

#[tokio::test]
async fn messages_compact_on_demand() {
    for streams in [false, true] {
        let mut house = House::without().await;
        let mut client = Messages::new();
        for round in 0..3 {
            for _ in 0..2 {
                client.say(&house).await;
            }
            let asks = json!({"compaction": {"type": "summarize"}, "stream": streams});
            let came = client.post(&house, "/v1/messages", &asks).await;
            assert_eq!(came.status, 200, "{came:?}");
            assert!(did(&came, "answered"), "{came:?}");
            let content = pieces(Dialect::Anthropic, "content", &came);
            let [block] = content.as_slice() else {
                panic!("{content:?}");
            };
            assert_eq!(block["encrypted_content"], Value::Null);
            let readable = block["content"].as_str().expect("a text");
            assert!(readable.contains("The port of the ledger is 7341."));
            let text = String::from_utf8(came.body.to_vec()).expect("text");
            assert!(text.contains(r#""stop_reason":"compaction""#), "{text}");
            client.messages = vec![json!({"role": "assistant", "content": [block]})];
            // The official runner goes on without a message of the user.
            let alone = client.post(&house, "/v1/messages", &json!({})).await;
            assert_eq!(alone.status, 200, "{alone:?}");
            let counted = client
                .post(&house, "/v1/messages/count_tokens", &json!({}))
                .await;
            assert!(
                counted.json()["input_tokens"].as_u64() > Some(100),
                "{counted:?}"
            );
            if round == 1 {
                house.restart().await;
            }
            let came = client.say(&house).await;
            goes_on(&house, &came, client.said - 2);
        }
        let betas = house.newest();
        assert!(!betas.contains("compact-2026"), "{betas}");
        assert!(betas.contains("context-management-2025-06-27"), "{betas}");
        house.close().await;
    }
}

#[tokio::test]
async fn messages_compact_from_a_size_on() {
    for (streams, pauses) in [(false, false), (true, false), (false, true), (true, true)] {
        let house = House::without().await;
        let mut client = Messages::new();
        client.fields = json!({"stream": streams, "context_management": {"edits": [
            {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 16_000},
                "pause_after_compaction": pauses}]}});
        let mut compactions = 0;
        for _ in 0..60 {
            let came = client.say(&house).await;
            let content = pieces(Dialect::Anthropic, "content", &came);
            if content[0]["type"] != "compaction" {
                continue;
            }
            assert!(did(&came, "answered"), "{came:?}");
            assert!(
                content[0]["content"]
                    .as_str()
                    .is_some_and(|it| it.contains(FACT))
            );
            assert_eq!(content.len(), if pauses { 1 } else { 2 }, "{content:?}");
            compactions += 1;
            let came = client.say(&house).await;
            goes_on(&house, &came, client.said - 2);
            if compactions == 3 {
                break;
            }
        }
        assert_eq!(compactions, 3, "{streams} {pauses}");
        house.close().await;
    }
}

#[tokio::test]
async fn what_is_sealed_for_another_or_changed_is_left_out_and_the_talk_goes_on() {
    let house = House::new(Compaction::Unknown, |config| {
        config.policy.native_compaction = Some(false);
    })
    .await;
    let mut client = Responses::new();
    client.say(&house).await;
    let mut input = client.items.clone();
    input.push(json!({"type": "compaction_trigger"}));
    let fields = client.fields.clone();
    let came = client
        .post(&house, "/v1/responses", &json!(input), &fields)
        .await;
    let item = output(&came).remove(0);
    let seal = item["encrypted_content"]
        .as_str()
        .expect("a seal")
        .to_owned();
    let mut changed = item.clone();
    let last = if seal.ends_with('A') { "B" } else { "A" };
    let at = seal.len() / 2;
    let other = if seal.as_bytes()[at] == b'x' {
        "y"
    } else {
        "x"
    };
    let (before, after) = seal.split_at(at);
    let after = after.get(1..).expect("a letter");
    changed["encrypted_content"] = json!(format!("{before}{other}{after}"));
    let mut foreign = item.clone();
    foreign["encrypted_content"] = json!(format!("gAAAA{last}"));
    for (item, key, code) in [
        (&item, "somebody-else", "E0860"),
        (&changed, "key-of-a-test", "E0860"),
        (&foreign, "key-of-a-test", "E0863"),
    ] {
        let mut client = Responses::new();
        client.key = key;
        client.items = vec![item.clone()];
        client.said = 1;
        let came = client.say(&house).await;
        assert!(did(&came, "seal-refused"), "{came:?}");
        let newest = house.newest();
        assert!(newest.contains(code), "{newest}");
        assert!(!newest.contains("7341"), "{newest}");
        let id = came.header("x-ebbtide-conversation");
        let path = format!("{}/ebbtide/api/conversations/{id}", house.gateway.url());
        let told = http::Request::get(path).header("authorization", format!("Bearer {key}"));
        let told = ask(told.body(crate::harness::whole("")).expect("a request")).await;
        let told = String::from_utf8(told.body.to_vec()).expect("text");
        assert!(told.contains(code), "{told}");
        client.say(&house).await;
    }
    // A block whose readable text was changed.
    let mut client = Messages::new();
    client.say(&house).await;
    let asks = json!({"compaction": {"type": "summarize"}});
    let came = client.post(&house, "/v1/messages", &asks).await;
    let mut block = came.json()["content"][0].clone();
    let text = block["content"].as_str().expect("a text");
    block["content"] = json!(text.replace("7341", "7342"));
    client.messages = vec![json!({"role": "assistant", "content": [block]})];
    let came = client.say(&house).await;
    assert!(did(&came, "seal-refused"), "{came:?}");
    assert!(house.newest().contains("E0861"));
    assert_eq!(house.refused(), 0);
    house.close().await;
}

#[tokio::test]
async fn each_summary_is_made_from_the_originals() {
    let house = House::new(Compaction::Unknown, |config| {
        config.policy.native_compaction = Some(false);
    })
    .await;
    let mut client = Messages::new();
    for round in 0..3 {
        for _ in 0..2 {
            client.say(&house).await;
        }
        let asks = json!({"compaction": {"type": "summarize"}});
        let came = client.post(&house, "/v1/messages", &asks).await;
        let block = came.json()["content"][0].clone();
        let text = block["content"].as_str().expect("a text").to_owned();
        // Four turns for each thing said; the summary itself is not counted.
        let turns = (round + 1) * 8;
        let replaces = format!("It replaces {turns} turns");
        assert!(text.contains(&replaces), "{replaces}: {text}");
        let file = "src/file_0.rs";
        assert!(text.contains(file), "the first call is still known: {text}");
        client.messages = vec![json!({"role": "assistant", "content": [block]})];
    }
    house.close().await;
}

#[tokio::test]
async fn a_provider_that_compacts_is_left_to_it() {
    let house = House::new(Compaction::Known, |_| {}).await;
    let mut client = Responses::new();
    client.say(&house).await;
    let input = json!(client.items);
    let came = client
        .post(&house, "/v1/responses/compact", &input, &json!({}))
        .await;
    assert!(did(&came, "yielded"), "{came:?}");
    client.items = came.json()["output"].as_array().expect("a list").clone();
    let came = client.say(&house).await;
    assert!(
        !did(&came, "opened") && !did(&came, "seal-refused"),
        "{came:?}"
    );
    assert!(house.newest().contains("\"compaction\""));
    let mut client = Messages::new();
    client.say(&house).await;
    let asks = json!({"compaction": {"type": "summarize"}});
    let came = client.post(&house, "/v1/messages", &asks).await;
    assert!(did(&came, "yielded"), "{came:?}");
    assert_eq!(house.refused(), 0);
    house.close().await;
}

#[tokio::test]
async fn an_answer_by_its_id_goes_on_from_a_sealed_one() {
    let house = House::new(Compaction::Unknown, |config| {
        config.policy.native_compaction = Some(false);
    })
    .await;
    let mut client = Responses::new();
    client.fields = json!({});
    client.say(&house).await;
    let mut input = client.items.clone();
    input.push(json!({"type": "compaction_trigger"}));
    let came = client
        .post(&house, "/v1/responses", &json!(input), &json!({}))
        .await;
    let id = came.json()["id"].clone();
    let next = json!([{"role": "user", "content": "And the port?"}]);
    let came = client
        .post(
            &house,
            "/v1/responses",
            &next,
            &json!({"previous_response_id": id}),
        )
        .await;
    assert_eq!(came.status, 200, "{came:?}");
    let newest = house.newest();
    assert!(
        newest.contains("7341") && newest.contains("And the port?"),
        "{newest}"
    );
    assert!(!newest.contains("\"compaction"), "{newest}");
    house.close().await;
}
