//! The estimate of the cost without the gateway, against the provider's account of the same client without it.

use context::Tokens;
use gateway::config::Mode;
use serde_json::json;
use sim::Config;

use crate::house::{Agent, Came, House, words};

/// A client and its talk.
#[derive(Clone, Copy, Debug)]
struct Talk {
    model: &'static str,
    caches: bool,
    requests: usize,
    tokens: usize,
    /// The gateway is started again before this request.
    restart: Option<usize>,
}

/// The cost of a talk by the provider's account, and the gateway's estimate of the cost without it.
async fn cost(mode: Mode, talk: Talk) -> (f64, f64) {
    let window = Some(Tokens::new(200_000));
    let provider = Config {
        window,
        ..Config::default()
    };
    let mut house = House::before(provider, |config| {
        config.mode = mode;
        config.policy.window = window;
    })
    .await;
    let mut agent = Agent::new("key-one");
    talk.model.clone_into(&mut agent.model);
    if talk.caches {
        agent.fields = json!({"cache_control": {"type": "ephemeral"}});
    }
    let mut id = String::new();
    for n in 0..talk.requests {
        if talk.restart == Some(n) {
            house.restart().await;
        }
        let came = agent.tell(&house, n, talk.tokens).await;
        came.conversation().clone_into(&mut id);
    }
    let path = format!("/ebbtide/api/conversations/{id}");
    let detail = agent.get(&house, &path).await.body;
    let without = detail["line"]["money"]["cost_without"].as_f64();
    let account = house.sim.provider().total().cost.get();
    house.close().await;
    (account, without.expect("a cost"))
}

async fn check(talk: Talk) {
    let (_, estimate) = cost(Mode::On, talk).await;
    // In mode observe, the provider gets what it would get without the gateway.
    let (account, _) = cost(Mode::Observe, talk).await;
    let off = estimate / account - 1.0;
    assert!(off.abs() < 0.03, "{talk:?}: {estimate} of {account}");
}

async fn check_all(model: &'static str) {
    for caches in [true, false] {
        for (requests, tokens) in [
            (1, 400),
            (4, 300),
            (8, 300),
            (14, 300),
            (14, 1_500),
            (40, 300),
        ] {
            let talk = Talk {
                model,
                caches,
                requests,
                tokens,
                restart: None,
            };
            check(talk).await;
        }
        check(Talk {
            model,
            caches,
            requests: 20,
            tokens: 300,
            restart: Some(10),
        })
        .await;
    }
}

#[tokio::test]
async fn what_is_told_and_taken_out_again_is_not_the_clients() {
    check_all("claude-opus-5-5").await;
}

#[tokio::test]
async fn what_is_told_and_stays_is_not_the_clients() {
    check_all("claude-haiku-4-5").await;
}

/// A client's requests, one after the other.
#[derive(Clone, Copy, Debug)]
enum Says {
    /// Words of so many tokens.
    Words(usize),
    /// Calls, and results of so many tokens, which the gateway shortens.
    Results(usize),
}

async fn step(agent: &mut Agent, house: &House, n: usize, says: Says) -> Vec<Came> {
    let tokens = match says {
        Says::Words(tokens) => return vec![agent.tell(house, n, tokens).await],
        Says::Results(tokens) => tokens,
    };
    let path = format!("@sim call read {{\"path\":\"src/module_{n}.rs\"}}");
    let asked = agent.say(house, &path).await;
    let result = json!({
        "type": "tool_result",
        "tool_use_id": asked.body["content"][0]["id"],
        "content": words(n, tokens),
    });
    let message = json!({"role": "user", "content": [result]});
    agent.messages.push(message);
    vec![asked, agent.go_on(house).await]
}

/// The provider's counts in mode observe, and the sizes "without Ebbtide" in mode on.
async fn sizes(model: &str, says: Says, restart: bool) -> (Vec<u64>, Vec<u64>) {
    let mut sizes = (Vec::new(), Vec::new());
    for mode in [Mode::Observe, Mode::On] {
        let provider = Config {
            window: Some(Tokens::new(200_000)),
            ..Config::default()
        };
        let mut house = House::before(provider, |config| {
            config.mode = mode;
            config.policy.shrink = Some(Tokens::new(1_000));
        })
        .await;
        let mut agent = Agent::new("key-one");
        model.clone_into(&mut agent.model);
        let mut id = String::new();
        for n in 0..60 {
            if restart && n == 40 {
                house.restart().await;
            }
            for came in step(&mut agent, &house, n, says).await {
                came.conversation().clone_into(&mut id);
                let usage = &came.body["usage"];
                if mode == Mode::Observe {
                    sizes
                        .0
                        .push(usage["input_tokens"].as_u64().expect("tokens"));
                }
            }
        }
        let path = format!("/ebbtide/api/conversations/{id}");
        let detail = agent.get(&house, &path).await.body;
        if mode == Mode::On {
            let samples = detail["pressure"].as_array().expect("a list").iter();
            sizes.1 = samples.filter_map(|it| it["unchanged"].as_u64()).collect();
        }
        house.close().await;
    }
    sizes
}

#[tokio::test]
async fn the_size_without_the_gateway_is_what_the_provider_would_count() {
    for model in ["claude-opus-5-5", "claude-haiku-4-5"] {
        for (says, restart) in [
            (Says::Words(20), false),
            (Says::Words(300), false),
            (Says::Words(900), true),
            (Says::Results(2_000), false),
        ] {
            let (counted, shown) = sizes(model, says, restart).await;
            assert_eq!(counted.len(), shown.len(), "{model}, {says:?}");
            // What was shortened is our estimate.
            let percent = if matches!(says, Says::Results(_)) {
                3
            } else {
                1
            };
            for (n, (counted, shown)) in counted.iter().zip(&shown).enumerate() {
                // The first request is an estimate, and too small for a share to mean something.
                assert!(
                    shown.abs_diff(*counted) * 100 <= counted * percent + 500,
                    "{model}, {says:?}, request {n}: {shown} of {counted}"
                );
            }
        }
    }
}
