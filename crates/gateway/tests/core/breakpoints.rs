//! A plain loop that sets no cache breakpoints: the gateway places them, and the provider's cache is read
//! before a swap, at it, and after it.

use gateway::config::{Mode, RouteChoice};
use serde_json::{Value, json};

use crate::house::{Agent, Came, House, words};

/// The input of one request.
#[derive(Clone, Copy, Debug, Default)]
struct Input {
    all: u64,
    read: u64,
    swapped: bool,
}

impl Input {
    fn of(came: &Came) -> Self {
        let usage = &came.body["usage"];
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        let read = count("cache_read_input_tokens");
        Self {
            all: count("input_tokens") + count("cache_creation_input_tokens") + read,
            read,
            swapped: came.did().contains("swapped"),
        }
    }
}

/// The share of the input that was read from the cache, in percent.
fn share(inputs: &[Input]) -> u64 {
    let read: u64 = inputs.iter().map(|input| input.read).sum();
    let all: u64 = inputs.iter().map(|input| input.all).sum();
    100 * read / all.max(1)
}

/// A client with instructions that are worth caching.
fn agent() -> Agent {
    let mut agent = Agent::new("key-one");
    agent.fields = json!({ "system": words(900, 1_500) });
    agent
}

/// Talks until there were some requests behind a second swap.
async fn talk(house: &House, agent: &mut Agent) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut behind = 0;
    for n in 0.. {
        assert!(n < 80, "fewer than two swaps: {inputs:?}");
        let input = Input::of(&agent.tell(house, n, 500).await);
        inputs.push(input);
        let swaps = inputs.iter().filter(|input| input.swapped).count();
        behind += usize::from(swaps >= 2);
        if behind > 6 {
            break;
        }
    }
    inputs
}

/// The blocks of a body that carry a breakpoint, tools and system prompt included.
fn marks(body: &Value) -> usize {
    body.to_string().matches(r#""cache_control""#).count()
}

fn bare(value: &Value) -> Value {
    let mut value = value.clone();
    match &mut value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(|each| *each = bare(each));
        }
        Value::Array(items) => items.iter_mut().for_each(|each| *each = bare(each)),
        _ => {}
    }
    value
}

/// No more than four breakpoints, and nothing before the newest message changes but them.
fn the_prefix_stays(sent: &[Value], inputs: &[Input]) {
    for (number, (pair, input)) in sent.windows(2).zip(&inputs[1..]).enumerate() {
        assert!((1..=4).contains(&marks(&pair[1])), "{number}: {}", pair[1]);
        if input.swapped {
            continue;
        }
        let [one, next] = [0, 1].map(|at| bare(&pair[at]["messages"]));
        let said = one.as_array().expect("a list");
        let repeated = next.as_array().and_then(|next| next.get(..said.len()));
        assert_eq!(repeated, Some(said.as_slice()), "{number}");
        assert_eq!(bare(&pair[0]["system"]), bare(&pair[1]["system"]));
    }
}

#[tokio::test]
async fn a_plain_loop_reads_the_cache_before_and_after_a_swap() {
    let without = House::new(|_| {}).await;
    let none = talk(&without, &mut agent()).await;
    let first = none.iter().position(|input| input.swapped);
    let before = &none[..first.expect("a swap")];
    assert_eq!(share(before), 0, "{before:?}");
    assert!(
        without.sent().iter().all(|body| marks(body) <= 1),
        "the summary's alone"
    );
    without.close().await;

    let house = House::new(|config| config.policy.breakpoints = true).await;
    let inputs = talk(&house, &mut agent()).await;
    let first = inputs
        .iter()
        .position(|input| input.swapped)
        .expect("a swap");
    let (before, after) = inputs.split_at(first);
    let at_swaps: Vec<Input> = inputs
        .iter()
        .copied()
        .filter(|input| input.swapped)
        .collect();
    println!(
        "read from the cache: {} % before the first swap, {} % at swaps, {} % from it on, {} % in \
         all; without breakpoints {} % in all",
        share(before),
        share(&at_swaps),
        share(after),
        share(&inputs),
        share(&none)
    );
    assert!(share(before) > 70, "{before:?}");
    // The instructions at least.
    assert!(
        at_swaps.iter().all(|input| input.read > 1_000),
        "{at_swaps:?}"
    );
    assert!(share(after) > 60, "{after:?}");
    the_prefix_stays(&house.sent(), &inputs);
    house.close().await;
}

/// Bound thinking and the provider's own summaries: it takes every request.
#[tokio::test]
async fn breakpoints_break_no_rule_of_the_provider() {
    for route in [RouteChoice::Native, RouteChoice::Extractive] {
        let house = House::new(|config| {
            config.policy.breakpoints = true;
            config.policy.route = route;
        })
        .await;
        let mut agent = Agent::thinking("key-one");
        agent.fields["system"] = words(900, 1_500).into();
        let inputs = talk(&house, &mut agent).await;
        assert!(share(&inputs) > 50, "{route:?}: {inputs:?}");
        house.close().await;
    }
}

#[tokio::test]
async fn a_client_that_sets_one_sets_all() {
    let house = House::new(|config| config.policy.breakpoints = true).await;
    let mut agent = agent();
    for n in 0..3 {
        let text = json!({"type": "text", "text": words(n, 500),
            "cache_control": {"type": "ephemeral"}});
        agent
            .messages
            .push(json!({"role": "user", "content": [text]}));
        let came = agent.go_on(&house).await;
        assert!(!came.did().contains("marked"), "{came:?}");
        assert_eq!(marks(house.sent().last().expect("a request")), n + 1);
    }
    house.close().await;
}

#[tokio::test]
async fn one_alone_short_ones_and_observed_ones_are_left_alone() {
    let house = House::new(|config| config.policy.breakpoints = true).await;
    let short = Agent::new("key-one").say(&house, "hello").await;
    assert_eq!(short.did(), "kept");
    let mut alone = agent();
    alone.fields["tools"] = Value::Null;
    let body = json!({"model": alone.model, "max_tokens": 400, "system": alone.fields["system"],
        "messages": [{"role": "user", "content": words(1, 2_000)}]});
    let came = alone.post(&house, "/v1/messages", &body).await;
    assert_eq!(came.did(), "kept");
    house.close().await;

    let house = House::new(|config| {
        config.policy.breakpoints = true;
        config.mode = Mode::Observe;
    })
    .await;
    let mut agent = agent();
    for n in 0..3 {
        agent.tell(&house, n, 700).await;
        assert_eq!(marks(house.sent().last().expect("a request")), 0);
    }
    house.close().await;
}
