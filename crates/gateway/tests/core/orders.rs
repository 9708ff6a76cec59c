//! Swaps that are taken back and made again at random, in OpenAI's dialects.

use gateway::config::RouteChoice;
use serde_json::{Value, json};

use crate::dialects::{CHAT, RESPONSES, post};
use crate::dice::Dice;
use crate::house::{House, words};

/// The conversations of each dialect and route, and the messages of each.
const RUNS: u64 = 10;
const STEPS: usize = 24;
const PIN: &str = "Never write to the table `orders`.";
const RULE: &str = "Answer in whole sentences.";

/// Counts of all runs.
#[derive(Debug, Default)]
struct Tally {
    swaps: usize,
    undone: usize,
    redone: usize,
}

/// A conversation in one of the dialects.
struct Talk {
    dice: Dice,
    house: House,
    /// The path, and the key of the messages.
    dialect: (&'static str, &'static str),
    messages: Vec<Value>,
    id: String,
}

impl Talk {
    /// Sends what there is, takes the answer, and returns what the gateway did and the calls to answer.
    async fn send(&mut self, case: &str) -> (String, Vec<String>) {
        let (path, list) = self.dialect;
        let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let function = json!({"name": "read", "parameters": parameters});
        let tool = match path == CHAT.0 {
            true => json!({"type": "function", "function": function}),
            false => json!({"type": "function", "name": "read", "parameters": parameters}),
        };
        let mut body = json!({"model": "gpt-5.5", "tools": [tool]});
        body[list] = Value::from(self.messages.clone());
        let came = post(&self.house, path, &body).await;
        assert_eq!(came.status, 200, "{case}: {came:?}");
        self.id = came.conversation().to_owned();
        let said = match path == CHAT.0 {
            true => vec![came.body["choices"][0]["message"].clone()],
            false => came.body["output"].as_array().expect("a list").clone(),
        };
        self.messages.extend(said.iter().cloned());
        let calls = match path == CHAT.0 {
            true => said[0]["tool_calls"].as_array().cloned(),
            false => Some(said),
        };
        let id = |call: &Value| {
            call["call_id"]
                .as_str()
                .or(call["id"].as_str())
                .map(str::to_owned)
        };
        let is_call = |it: &&Value| path == CHAT.0 || it["type"] == "function_call";
        let calls = calls.iter().flatten().filter(is_call).filter_map(id);
        (came.did().to_owned(), calls.collect())
    }

    /// Says something, answers what is called, and returns what the gateway did.
    async fn step(&mut self, number: usize, case: &str) -> Vec<String> {
        let call = match self.dice.once_in(3) {
            true => "\n@sim call read {\"path\": \"src/orders.rs\"}",
            false => "",
        };
        let first = match number {
            0 => format!("\n{RULE}\n#pin {PIN}"),
            _ => String::new(),
        };
        let size = usize::try_from(100 + self.dice.below(1_200)).expect("a size");
        let marker = format!("step {number}:");
        let text = format!("{marker} {}{first}{call}", words(number, size));
        self.messages.push(json!({"role": "user", "content": text}));
        let mut did = Vec::new();
        loop {
            let (done, calls) = self.send(case).await;
            did.push(done);
            if calls.is_empty() {
                break;
            }
            for id in calls {
                let size = usize::try_from(self.dice.below(1_500)).expect("a size");
                let text = words(number, size);
                self.messages.push(match self.dialect == CHAT {
                    true => json!({"role": "tool", "tool_call_id": id, "content": text}),
                    false => json!({"type": "function_call_output", "call_id": id, "output": text}),
                });
            }
        }
        self.arrived(&marker, case);
        did
    }

    /// Checks that the newest words reached the provider, with the pin and the rule of the first message.
    fn arrived(&self, marker: &str, case: &str) {
        let is_it = |body: &Value| {
            let all = body[self.dialect.1].as_array();
            let newest = all.and_then(|all| all.iter().rfind(|it| it["role"] == "user"));
            // Not the transcript in a request for a summary.
            let begins = format!("\"{marker}");
            newest.is_some_and(|it| it["content"].to_string().contains(&begins))
        };
        let sent = self.house.sent();
        let body = sent.iter().rfind(|body| is_it(body));
        let body = body.map(Value::to_string).unwrap_or_default();
        assert!(body.contains(PIN) && body.contains(RULE), "{case}: {body}");
    }

    /// Gives an order, which may be refused where there is nothing to take back. Returns true if it is accepted.
    async fn order(&self, order: &str, case: &str) -> bool {
        let path = format!("/ebbtide/api/conversations/{}/{order}", self.id);
        let came = post(&self.house, &path, &json!({})).await;
        let code = came.body["error"]["code"].as_str();
        let may_be = ["E0602", "E0606", "E0618", "E0619", "E0828"].map(Some);
        let is_fine = came.status == 202 || may_be.contains(&code);
        assert!(is_fine, "{case}: {order}: {came:?}");
        came.status == 202
    }
}

async fn check(dialect: (&'static str, &'static str)) {
    let mut tally = Tally::default();
    for route in [
        RouteChoice::Extractive,
        RouteChoice::Readable,
        RouteChoice::Native,
    ] {
        for seed in 0..RUNS {
            run((dialect, route, seed), &mut tally).await;
        }
    }
    assert!(tally.swaps > 20, "{tally:?}");
    assert!(tally.undone > 5 && tally.redone > 0, "{tally:?}");
}

async fn run(
    (dialect, route, seed): ((&'static str, &'static str), RouteChoice, u64),
    tally: &mut Tally,
) {
    let house = House::new(|config| config.policy.route = route).await;
    let mut talk = Talk {
        dice: Dice::new(seed),
        house,
        dialect,
        messages: Vec::new(),
        id: String::new(),
    };
    let mut taken_back = false;
    for number in 0..STEPS {
        let case = format!("{} {route:?} seed {seed} step {number}", dialect.0);
        let did = talk.step(number, &case).await.join(" ");
        let swapped = did.contains("swapped");
        tally.swaps += usize::from(swapped);
        if taken_back && talk.dice.once_in(2) {
            tally.redone += usize::from(talk.order("redo", &case).await);
            taken_back = false;
        } else if swapped || talk.dice.once_in(4) {
            taken_back = talk.order("undo", &case).await;
            tally.undone += usize::from(taken_back);
        }
    }
    talk.house.close().await;
}

#[tokio::test]
async fn chat() {
    check(CHAT).await;
}

#[tokio::test]
async fn responses() {
    check(RESPONSES).await;
}
