//! Responses clients in front of a provider that speaks Chat Completions only.

use gateway::config::{Config, Mode};
use serde_json::{Value, json};
use wire::api::{Accumulator, Decoder, Dialect, Reply, Response};

use crate::harness::{Came, Received, ask, gateway, logged, openai};

const fn over_chat(config: &mut Config) {
    config.openai_over_chat = true;
}

/// The answer as a client reads it.
fn reply(came: &Came) -> Reply {
    if !came.header("content-type").starts_with("text/event-stream") {
        let response = Response::parse(Dialect::Responses, &came.body);
        return response.expect("a response").reply();
    }
    let mut decoder = Decoder::default();
    decoder.push(&came.body);
    let mut accumulator = Accumulator::new(Dialect::Responses);
    while let Some(event) = decoder.next_event() {
        let event = event.expect("an event");
        accumulator.accept(&event).expect("an event");
    }
    assert!(accumulator.is_complete(), "{came:?}");
    accumulator.reply()
}

fn items(reply: &Reply) -> Vec<Value> {
    let pieces = reply.pieces.iter();
    pieces
        .map(|it| serde_json::from_str(it).expect("JSON"))
        .collect()
}

fn tools() -> Value {
    json!([{"type": "function", "name": "read", "parameters": {"type": "object"}},
        {"type": "custom", "name": "patch"}, {"type": "web_search"}])
}

/// A client of Responses, and what it has said.
struct Client {
    url: String,
    streams: bool,
    list: Vec<Value>,
}

impl Client {
    /// Sends everything and takes the output; its last item.
    async fn send(&mut self) -> Value {
        let body = json!({"model": "gpt-5.5", "instructions": "Be brief.", "input": self.list,
            "tools": tools(), "store": false, "stream": self.streams});
        let came = ask(openai(&self.url, "/v1/responses", body.to_string())).await;
        assert_eq!(came.status, 200, "{came:?}");
        let output = items(&reply(&came));
        let last = output.last().expect("an item").clone();
        self.list.extend(output);
        last
    }

    /// A question, after which the model does what the directive says.
    async fn ask(&mut self, directive: &str) -> Value {
        let filler = "The writer renames a segment. ".repeat(60);
        let text = format!("The port is 7341.\n{filler}\n{directive}");
        self.list.push(json!({"role": "user", "content": text}));
        self.send().await
    }

    /// The result of a call, and the answer to it.
    async fn answer(&mut self, call: &Value) {
        let kind = call["type"].as_str().expect("a type");
        self.list.push(
            json!({"type": format!("{kind}_output"), "call_id": call["call_id"],
            "output": "Done."}),
        );
        self.send().await;
    }
}

#[tokio::test]
async fn a_tool_loop_and_three_compactions_reach_a_chat_model() {
    for streams in [false, true] {
        let received = Received::default();
        let provider = logged(sim::Config::default(), received.clone()).await;
        let gateway = gateway(&provider.url(), over_chat).await;
        let mut client = Client {
            url: gateway.url(),
            streams,
            list: Vec::new(),
        };
        for n in 0..3 {
            let call = client
                .ask(&format!("@sim call read {{\"path\":\"{n}\"}}"))
                .await;
            assert_eq!(call["arguments"], format!("{{\"path\":\"{n}\"}}"));
            client.answer(&call).await;
            let call = client
                .ask(&format!("@sim call patch {{\"input\":\"a {n}\"}}"))
                .await;
            assert_eq!(call["type"], "custom_tool_call");
            assert_eq!(call["input"], format!("a {n}"));
            client.answer(&call).await;
            let said = client.ask(&format!("@sim say It is {n}.")).await;
            assert_eq!(said["content"][0]["text"], format!("It is {n}."));
            client.list.push(json!({"type": "compaction_trigger"}));
            let item = client.send().await;
            assert_eq!(item["type"], "compaction");
            client.list = vec![item];
        }
        let lines = received.lines();
        assert_eq!(lines.len(), 15);
        for line in &lines {
            assert!(line.contains(r#""path":"/v1/chat/completions""#), "{line}");
            assert!(line.contains("7341"), "{line}");
            assert!(!line.contains("\"compaction"), "{line}");
            let system = r#"{"role":"system","content":"Be brief."}"#;
            assert!(line.contains(system), "{line}");
        }
        assert_eq!(provider.provider().total().refused, 0);
        gateway.shutdown().await;
        provider.shutdown().await;
    }
}

#[tokio::test]
async fn an_answer_is_named_and_a_refusal_is_passed_on() {
    let received = Received::default();
    let provider = logged(sim::Config::default(), received.clone()).await;
    let gateway = gateway(&provider.url(), over_chat).await;
    let url = gateway.url();
    let post = |body: Value| ask(openai(&url, "/v1/responses", body.to_string()));
    let first = post(json!({"model": "gpt-5.5", "input": "My name is Ada."})).await;
    let id = first.json()["id"].clone();
    let next = json!({"model": "gpt-5.5", "input": "And my name?", "previous_response_id": id});
    let came = post(next).await;
    assert_eq!(came.status, 200, "{came:?}");
    let newest = received.lines().pop().expect("a request");
    assert!(newest.contains("My name is Ada."), "{newest}");
    assert!(newest.contains("And my name?"), "{newest}");
    // The provider's refusal, in its own words.
    let came = post(json!({"model": "claude-opus-5-5", "input": "hi"})).await;
    assert_eq!(came.status, 404, "{came:?}");
    assert_eq!(came.json()["error"]["code"], "model_not_found");
    let orphan = json!([{"type": "function_call_output", "call_id": "x", "output": "y"}]);
    let came = post(json!({"model": "gpt-5.5", "input": orphan})).await;
    assert_eq!(came.status, 400, "{came:?}");
    assert!(
        came.json()["error"]["message"]
            .as_str()
            .is_some_and(|it| it.contains("tool"))
    );
    gateway.shutdown().await;
    provider.shutdown().await;
}

#[tokio::test]
async fn an_unknown_answer_is_refused_as_the_provider_itself_refuses_it() {
    let received = Received::default();
    let provider = logged(sim::Config::default(), received.clone()).await;
    let next = json!({"model": "gpt-5.5", "input": "And my name?",
        "previous_response_id": "resp_of_another_gateway"});
    let asked = |url: &str| ask(openai(url, "/v1/responses", next.to_string()));
    let own = asked(&provider.url()).await;
    let lines = received.lines().len();
    for mode in [Mode::On, Mode::Observe] {
        let in_mode = |config: &mut Config| {
            over_chat(config);
            config.mode = mode;
        };
        let gateway = gateway(&provider.url(), in_mode).await;
        let came = asked(&gateway.url()).await;
        assert_eq!(came.status, 400, "{came:?}");
        assert_eq!(came.json(), own.json());
        assert_eq!(came.header("x-ebbtide-did"), "refused");
        gateway.shutdown().await;
    }
    assert_eq!(received.lines().len(), lines, "nothing is sent");
    provider.shutdown().await;
}
