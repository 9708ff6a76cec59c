//! The estimate of the cost without the gateway, against the provider's account of the same client without it.

use context::Tokens;
use gateway::config::Mode;
use serde_json::json;
use sim::Config;

use crate::house::{Agent, House};

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
