//! Runs a thousand fault schedules.

use std::collections::BTreeSet;

use context::Heuristic;
use gateway::config::RouteChoice;
use history::{Engine, Tenant};
use history_sqlite::Sqlite;
use http::{Method, StatusCode};
use serde_json::Value;
use sim::Fault;
use wire::api::{Dialect, Request};

use crate::client::{Attempt, Client};
use crate::dice::Dice;
use crate::harness::Stage;
use crate::schedule::{Schedule, Step, inject};

const PIN: &str = "Never write to the table `orders`.";
/// A phrase of every summary prompt.
const ASKS_FOR_A_RECORD: &str = "reads your record and nothing of what it replaces";
const MOST_ATTEMPTS: usize = 8;

#[test]
fn schedules_0() {
    check(0..250);
}

#[test]
fn schedules_1() {
    check(250..500);
}

#[test]
fn schedules_2() {
    check(500..750);
}

#[test]
fn schedules_3() {
    check(750..1000);
}

fn check(seeds: std::ops::Range<u64>) {
    let (mut kills, mut swaps, mut undone, mut redone) = (0, 0, 0, 0);
    for seed in seeds {
        // The client's own panics do not know it.
        println!("seed {seed}");
        let schedule = Schedule::random(seed);
        kills += schedule.steps.iter().filter(|step| step.killed).count();
        let (did, again) = run(&schedule);
        swaps += did.iter().filter(|did| did.contains("swapped")).count();
        undone += did.iter().filter(|did| did.contains("undone")).count();
        redone += again;
    }
    println!("{swaps} swaps, {undone} taken back, {redone} of those made again");
    assert!(undone > 0 && redone > 0, "{undone} {redone}");
    assert!(
        swaps > 250,
        "{swaps} swaps: hardly any boundary was crossed"
    );
    assert!(kills > 50, "{kills} kills");
}

/// Runs a schedule and returns what the gateway did with each request, and how often a swap that was taken back
/// was ordered again.
fn run(schedule: &Schedule) -> (Vec<String>, usize) {
    let seed = schedule.seed;
    let mut stage = Stage::new(schedule.route);
    stage.early = schedule.early;
    let mut client = Client::new();
    let mut dice = Dice::new(!seed);
    let mut did = Vec::new();
    let (mut acknowledged, mut redone) = (0, 0);
    let mut taken_back = false;
    for (index, step) in schedule.steps.iter().enumerate() {
        if step.killed {
            stage.kill();
            assert_eq!(
                known(&stage, &client, acknowledged),
                acknowledged,
                "seed {seed}"
            );
        }
        let swapped = did
            .last()
            .is_some_and(|did: &String| did.contains("swapped"));
        // Soon after a swap there is room for the whole conversation.
        let back = (swapped && schedule.early).then_some("undo");
        let order = match taken_back && dice.once_in(2) {
            true => Some("redo"),
            false => step.order.or(back),
        };
        if let Some(order) = order {
            let accepted = give(&mut stage, &client, order);
            taken_back = accepted && order == "undo";
            redone += usize::from(accepted && order == "redo");
        }
        client.says(&words(index, step, &mut dice));
        inject(step, &mut stage.provider.provider());
        did.push(answered(&mut stage, &mut client, step, seed));
        if let Some(length) = step.result {
            assert!(client.returns(&some(length, &mut dice)), "seed {seed}");
            did.push(answered(&mut stage, &mut client, step, seed));
        }
        // Answered messages are recorded: those of the request now, the answer with the next request.
        acknowledged = client.messages.len() - 1;
    }
    stage.close();
    let all = client.messages.len();
    assert_eq!(
        known(&stage, &client, all),
        all,
        "seed {seed}: a turn was lost"
    );
    received(&stage, schedule, &client);
    (did, redone)
}

/// Gives an order, which the gateway may refuse where there is nothing to take back or no room. Returns true if
/// it was accepted.
fn give(stage: &mut Stage, client: &Client, order: &str) -> bool {
    let api = format!("{}/ebbtide/api", stage.url());
    let (_, overview) = client.ask(Method::GET, &format!("{api}/overview"), None);
    let mut accepted = false;
    for line in overview["conversations"].as_array().unwrap() {
        let url = format!(
            "{api}/conversations/{}/{order}",
            line["id"].as_str().unwrap()
        );
        let (status, answer) = client.ask(Method::POST, &url, None);
        let code = answer["error"]["code"].as_str();
        let may_be = ["E0602", "E0606", "E0618", "E0619", "E0828"].map(Some);
        accepted |= status == 202;
        assert!(status == 202 || may_be.contains(&code), "{status} {answer}");
    }
    accepted
}

/// Sends until answered. Every failure must come from the schedule.
fn answered(stage: &mut Stage, client: &mut Client, step: &Step, seed: u64) -> String {
    let mut failures = Vec::new();
    for _ in 0..MOST_ATTEMPTS {
        let url = stage.url();
        match client.send(&url, step.streamed) {
            Attempt::Answered { did } => {
                assert!(
                    failures.len() <= step.turn.len(),
                    "seed {seed}: {failures:?} of {:?}",
                    step.turn
                );
                return did;
            }
            failure => {
                assert!(is_ordered(&failure, step), "seed {seed}: {failure:?}");
                failures.push(failure);
            }
        }
    }
    panic!("seed {seed}: no answer after {failures:?}");
}

fn is_ordered(failure: &Attempt, step: &Step) -> bool {
    let broken = |fault: &Fault| matches!(fault, Fault::Reset | Fault::Cut(_));
    step.turn.iter().any(|fault| match failure {
        Attempt::Answered { .. } => false,
        Attempt::Broken => broken(fault),
        Attempt::Refused { status, body } => match fault {
            Fault::RateLimited(_) => *status == 429 && body.contains("rate_limit_error"),
            Fault::Internal => *status == 500 && body.contains("Internal server error"),
            Fault::Overloaded => *status == 529 && body.contains("Overloaded"),
            // A provider that disconnects without an answer makes a bad gateway.
            _ => broken(fault) && *status == StatusCode::BAD_GATEWAY,
        },
    })
}

/// Counts the conversation's leading messages in the store.
fn known(stage: &Stage, client: &Client, most: usize) -> usize {
    let engine = Sqlite::open(&stage.store(), history::Limits::NONE).unwrap();
    let secret = engine.secret().unwrap();
    let tenant = Tenant::of(&secret, b"sk-ant-secret-of-one");
    let body = client.body(false).to_string();
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
    let turns = request.turns(&Heuristic);
    let mut known = 0;
    engine
        .read(tenant, &mut |store| {
            known = store.known(&turns[..most])?;
            Ok(())
        })
        .unwrap();
    known
}

/// Checks the received requests: each of the user's messages arrived in full as the newest one, and each
/// such request contains the pin in full.
fn received(stage: &Stage, schedule: &Schedule, client: &Client) {
    let seed = schedule.seed;
    let said = client.messages.iter().filter(|it| it["role"] == "user");
    let said: Vec<&str> = said.filter_map(|it| it["content"].as_str()).collect();
    let mut arrived = BTreeSet::new();
    for line in stage.log.lines() {
        let request: Value = serde_json::from_str(&line).unwrap();
        let body = &request["body"];
        let messages = body["messages"].as_array().unwrap();
        // A summary that repeats the question is in the first message.
        let asks = |value: &Value| value.to_string().contains(ASKS_FOR_A_RECORD);
        let is_ours = asks(&body["system"]) || messages.iter().skip(1).any(asks);
        if body.get("compaction").is_some() || is_ours {
            continue;
        }
        // A note may follow as a system message.
        let newest = messages.iter().rfind(|message| message["role"] == "user");
        let newest = &newest.unwrap()["content"];
        if newest[0]["type"] == "tool_result" {
            // The call that it answers stands before it, whatever was taken away.
            let id = newest[0]["tool_use_id"].as_str().unwrap();
            let calls = messages.iter().filter(|it| it["role"] == "assistant");
            let mut calls = calls.flat_map(|it| it["content"].as_array().into_iter().flatten());
            assert!(calls.any(|call| call["id"] == id), "seed {seed}: {line}");
            assert!(body["messages"].to_string().contains(PIN));
            continue;
        }
        // With additions, it is a list of blocks that starts with the client's text.
        let text = newest.as_str().or_else(|| newest[0]["text"].as_str());
        let step = said.iter().position(|said| Some(*said) == text);
        arrived.insert(step.unwrap_or_else(|| panic!("seed {seed}: nobody said {newest}")));
        assert!(
            body["messages"].to_string().contains(PIN),
            "seed {seed}: {line}"
        );
    }
    assert!(
        arrived.iter().copied().eq(0..said.len()),
        "seed {seed}: {arrived:?} of {}",
        said.len()
    );
    if schedule.route == RouteChoice::Extractive {
        assert_eq!(
            stage.provider.provider().total().summaries,
            0,
            "seed {seed}"
        );
    }
}

/// The user's message of a step.
fn words(index: usize, step: &Step, dice: &mut Dice) -> String {
    let mut text = format!("step {index}:{}", some(step.words, dice));
    if index == 0 {
        text.push_str(&format!("\n#pin {PIN}"));
    }
    if step.result.is_some() {
        text.push_str("\n@sim call read {\"path\": \"src/orders.rs\"}");
    }
    text
}

/// So many words.
fn some(length: usize, dice: &mut Dice) -> String {
    const SAID: [&str; 12] = [
        "look",
        "into",
        "the",
        "order",
        "service",
        "src/orders.rs",
        "and",
        "retry_limit",
        "of",
        "4711",
        "again",
        "please",
    ];
    (0..length)
        .map(|_| format!(" {}", SAID[usize::try_from(dice.below(12)).unwrap()]))
        .collect()
}
