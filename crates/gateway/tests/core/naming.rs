//! Conversations whose client names the answer before in place of all messages.

use serde_json::{Value, json};

use gateway::config::{Config, Mode, RouteChoice};

use crate::dialects::{post, post_as};
use crate::house::{Came, House, words};

const PATH: &str = "/v1/responses";
const RULE: &str = "Never write below /srv/ledger; ask Ines first.";

/// A client of Responses that sends only what is new.
struct Namer {
    key: &'static str,
    previous: Value,
    /// More fields of its requests.
    fields: Value,
}

impl Namer {
    fn new(key: &'static str) -> Self {
        Self {
            key,
            previous: Value::Null,
            fields: json!({}),
        }
    }

    fn body(&self, input: impl Into<Value>) -> Value {
        let mut body = json!({"model": "gpt-5.5", "instructions": "Be careful."});
        body["input"] = input.into();
        if !self.previous.is_null() {
            body["previous_response_id"] = self.previous.clone();
        }
        for (key, value) in self.fields.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        body
    }

    async fn say(&mut self, house: &House, input: impl Into<Value>) -> Came {
        let came = post_as(self.key, house, PATH, &self.body(input)).await;
        if came.status == 200 {
            self.previous = came.body["id"].clone();
        }
        house.prepared(came.conversation()).await;
        came
    }

    /// Says the rule and then things about files, until as many summaries were swapped in. The swaps, and
    /// the number of requests.
    async fn until_swapped(&mut self, house: &House, swaps: usize) -> (usize, usize) {
        let (mut found, mut conversation) = (0, String::new());
        for n in 0..60 {
            let text = match n {
                0 => format!("{RULE}\n{}", words(n, 1_400)),
                _ => words(n, 1_400),
            };
            let came = self.say(house, text).await;
            assert_eq!(came.status, 200, "{n}: {came:?}");
            if n == 0 {
                came.conversation().clone_into(&mut conversation);
            }
            assert_eq!(came.conversation(), conversation, "{n}");
            found += usize::from(came.did().contains("swapped"));
            if found == swaps {
                return (found, n + 1);
            }
        }
        (found, 60)
    }
}

/// Checks each request of the client that the provider got: it names an answer before anything was left
/// out, or holds the rule and names none.
fn check_sent(house: &House) {
    let mut is_reduced = false;
    let sent = house.sent();
    // Requests for summaries are not kept.
    let clients = sent.iter().filter(|body| body["store"] != false);
    for (n, body) in clients.enumerate().skip(1) {
        let named = body.get("previous_response_id").is_some();
        is_reduced |= !named;
        assert_eq!(named, !is_reduced, "{n}");
        assert!(named || body["input"].to_string().contains(RULE), "{n}");
        assert_eq!(body["instructions"], "Be careful.", "{n}");
    }
    assert!(is_reduced);
}

async fn check_window(change: impl FnOnce(&mut Config)) {
    let house = House::new(change).await;
    let mut client = Namer::new("key-one");
    let (swaps, requests) = client.until_swapped(&house, 3).await;
    assert_eq!(swaps, 3, "{requests} requests");
    check_sent(&house);
    house.close().await;
}

#[tokio::test]
async fn a_long_chain_crosses_the_window_three_times() {
    check_window(|_| {}).await;
}

#[tokio::test]
async fn summaries_of_a_chain_are_written_by_the_model_and_by_the_provider() {
    check_window(|config| config.policy.route = RouteChoice::Readable).await;
    check_window(|config| config.policy.route = RouteChoice::Native).await;
}

#[tokio::test]
async fn a_request_that_need_not_change_goes_on_as_it_came() {
    let house = House::new(|config| config.policy.notes = false).await;
    let mut client = Namer::new("key-one");
    for input in [
        json!("Hello."),
        json!([{"role": "user", "content": "And now?"}]),
        json!("@sim call read {\"path\": \"a.rs\"}\nRead."),
    ] {
        let body = client.body(input.clone());
        let came = client.say(&house, input).await;
        assert_eq!((came.status, came.did()), (200, "kept"));
        assert_eq!(house.sent().pop(), Some(body));
    }
    house.close().await;
}

#[tokio::test]
async fn calls_and_their_outputs_stay_together_over_swaps() {
    let house = House::new(|_| {}).await;
    let mut client = Namer::new("key-one");
    client.fields =
        json!({"tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}}]});
    let mut swaps = 0;
    for n in 0..30 {
        let ask =
            format!("@sim think let me see\n@sim call read {{\"path\": \"src/{n}.rs\"}}\n{n}");
        let came = client.say(&house, ask).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += usize::from(came.did().contains("swapped"));
        let output = came.body["output"].as_array().expect("a list").clone();
        let call = output.last().expect("an item");
        assert_eq!(call["type"], "function_call");
        let result = json!({"type": "function_call_output", "call_id": call["call_id"],
            "output": words(n, 1_400)});
        let came = client.say(&house, json!([result])).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += usize::from(came.did().contains("swapped"));
    }
    assert!(swaps >= 3, "{swaps}");
    house.close().await;
}

#[tokio::test]
async fn streamed_answers_are_named_too() {
    let house = House::new(|_| {}).await;
    let mut client = Namer::new("key-one");
    client.fields = json!({"stream": true});
    let mut swaps = 0;
    for n in 0..30 {
        let body = client.body(words(n, 1_400));
        let (did, text) = crate::dialects::stream(&house, PATH, &body).await;
        swaps += usize::from(did.contains("swapped"));
        let last = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("data: "));
        let last: Value = serde_json::from_str(last.expect("an event")).expect("JSON");
        assert_eq!(last["type"], "response.completed", "{n}");
        client.previous = last["response"]["id"].clone();
    }
    assert!(swaps >= 3, "{swaps}");
    house.close().await;
}

#[tokio::test]
async fn a_client_goes_back_to_an_earlier_answer() {
    let house = House::new(|_| {}).await;
    let mut client = Namer::new("key-one");
    let mut answers = Vec::new();
    let mut swapped = false;
    for n in 0..16 {
        let came = client.say(&house, words(n, 1_400)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swapped |= came.did().contains("swapped");
        answers.push(came.body["id"].clone());
    }
    assert!(swapped);
    for (at, unsaid) in [(13, 14), (1, 2)] {
        client.previous = answers[at].clone();
        let came = client.say(&house, "Another way.").await;
        assert_eq!(came.status, 200, "{came:?}");
        let sent = house.sent().pop().expect("a request").to_string();
        assert!(!sent.contains(&format!("src/module_{unsaid}.rs")), "{sent}");
        assert!(sent.contains(&format!("src/module_{at}.rs")), "{sent}");
        assert_ne!(came.did(), "passed", "{came:?}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_tenant_cannot_name_anothers_answer() {
    let house = House::new(|_| {}).await;
    let mut one = Namer::new("key-one");
    one.until_swapped(&house, 1).await;
    let mut other = Namer::new("key-other");
    other.previous = one.previous.clone();
    let body = other.body("What was said?");
    let came = other.say(&house, "What was said?").await;
    // The provider keeps them apart as well; it got the request as it came.
    assert_eq!((came.status, came.did()), (400, "passed"));
    assert_eq!(house.sent().pop(), Some(body));
    house.close().await;
}

#[tokio::test]
async fn answers_that_are_not_kept_and_unknown_ones_are_passed_on() {
    let house = House::new(|_| {}).await;
    let mut client = Namer::new("key-one");
    client.fields = json!({"store": false});
    client.say(&house, "Not kept.").await;
    let body = client.body("And?");
    let came = client.say(&house, "And?").await;
    assert_eq!((came.status, came.did()), (400, "passed"));
    assert_eq!(house.sent().pop(), Some(body));
    client.fields = json!({"conversation": "conv_1"});
    let body = client.body("And?");
    let came = client.say(&house, "And?").await;
    assert_eq!(came.did(), "passed");
    assert_eq!(house.sent().pop(), Some(body));
    house.close().await;
}

#[tokio::test]
async fn a_chain_goes_on_after_a_restart() {
    let mut house = House::new(|_| {}).await;
    let mut client = Namer::new("key-one");
    let (swaps, _) = client.until_swapped(&house, 1).await;
    assert_eq!(swaps, 1);
    let again = client.body("And now?");
    post(&house, PATH, &again).await;
    house.restart().await;
    let came = client.say(&house, "And now?").await;
    assert_eq!(came.status, 200, "{came:?}");
    let sent = house.sent();
    let [one, other] = &sent[sent.len() - 2..] else {
        panic!("two requests");
    };
    assert_eq!(one, other, "the same bytes");
    let (swaps, _) = client.until_swapped(&house, 2).await;
    assert_eq!(swaps, 2);
    house.close().await;
}

/// Begins as Codex asks for a summary.
const CODEX: &str = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.";

#[tokio::test]
async fn an_answer_of_the_gateways_own_is_named_too() {
    let house = House::new(|_| {}).await;
    let mut client = Namer::new("key-one");
    let mut n = 0;
    while !house
        .gateway
        .metrics()
        .render()
        .contains(r#"result="ready""#)
    {
        assert!(n < 20, "no summary was prepared");
        client.say(&house, words(n, 1_400)).await;
        n += 1;
    }
    let asked = house.sent().len();
    let came = client.say(&house, CODEX).await;
    assert!(came.did().contains("answered"), "{came:?}");
    assert_eq!(house.sent().len(), asked);
    let answer = came.body["output"][0]["content"][0]["text"].clone();
    let came = client.say(&house, "Go on.").await;
    assert_eq!(came.status, 200, "{came:?}");
    let sent = house.sent().pop().expect("a request");
    assert_eq!(sent.get("previous_response_id"), None);
    let items = sent["input"].as_array().expect("a list");
    assert!(
        items
            .iter()
            .any(|item| item["content"][0]["text"] == answer)
    );
    house.close().await;
}

#[tokio::test]
async fn a_chain_goes_on_from_the_providers_compaction() {
    let house = House::new(|config| config.policy.notes = false).await;
    let mut client = Namer::new("key-one");
    client.say(&house, "Hello.").await;
    let came = client
        .say(&house, json!([{"type": "compaction_trigger"}]))
        .await;
    assert_eq!(came.status, 200, "{came:?}");
    assert_eq!(came.body["output"][0]["type"], "compaction");
    let (swaps, _) = client.until_swapped(&house, 1).await;
    assert_eq!(swaps, 1);
    let sent = house.sent().pop().expect("a request");
    assert!(!sent.to_string().contains("compaction_trigger"), "{sent}");
    house.close().await;
}

#[tokio::test]
async fn the_view_of_a_chain_is_counted() {
    let house = House::new(|_| {}).await;
    let mut client = Namer::new("key-one");
    client.say(&house, "Hello.").await;
    let count = async |client: &Namer| {
        let body = client.body("And?");
        let came = post(&house, "/v1/responses/input_tokens", &body).await;
        assert_eq!(came.status, 200, "{came:?}");
        came.body["input_tokens"].as_u64().expect("a number")
    };
    assert!(count(&client).await < 200);
    client.until_swapped(&house, 1).await;
    let counted = count(&client).await;
    let came = client.say(&house, "And?").await;
    let used = came.body["usage"]["input_tokens"].as_u64().expect("tokens");
    assert!(counted.abs_diff(used) < 400, "{counted} {used}");
    house.close().await;
}

#[tokio::test]
async fn a_chain_is_observed_and_not_changed() {
    let house = House::new(|config| config.mode = Mode::Observe).await;
    let mut client = Namer::new("key-one");
    let mut would = Vec::new();
    for n in 0..14 {
        let body = client.body(words(n, 1_400));
        let came = client.say(&house, words(n, 1_400)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        would.push(came.did().to_owned());
        assert_eq!(house.sent().pop(), Some(body));
    }
    assert!(would.iter().any(|did| did == "would-prepare"), "{would:?}");
    house.close().await;
}
