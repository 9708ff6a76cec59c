//! Tests of joining: one conversation's requests, and the conversation that a request belongs to.

mod held;
mod resting;
mod settling;
mod unpinning;

use std::sync::Arc;

use ::conversation::Input;
use ::conversation::directory::Room;
use ::conversation::homunculus::hosted::StrategyProgram;
use ::conversation::journal::{SAMPLES, Sent};
use bytes::Bytes;
use history::{Engine, Limits, MemoryEngine, Tenant};
use http::HeaderMap;
use jiff::Timestamp;
use plumb::modules::BuiltIn;
use wire::api::Dialect;

use super::{Arrival, Conversations, Endpoint, Outgoing, Parts, Ticket, Verdict};
use crate::config::Config;
use crate::metrics::Metrics;

fn core() -> Conversations {
    core_of(Config::default())
}

fn core_of(config: Config) -> Conversations {
    let engine = MemoryEngine::new([7; 32], Limits::default());
    core_with(config, Arc::new(engine))
}

fn core_with(config: Config, engine: Arc<dyn Engine>) -> Conversations {
    Conversations::new(Parts {
        config: Arc::new(config),
        engine,
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        metrics: Arc::new(Metrics::default()),
    })
    .unwrap()
}

fn arrival(tenant: u8, messages: &[String]) -> Arrival {
    let messages = messages.join(",");
    let body = format!(r#"{{"model":"claude-opus-5-5","max_tokens":9,"messages":[{messages}]}}"#);
    Arrival {
        endpoint: Endpoint::Generate(Dialect::Anthropic),
        target: "/v1/messages".to_owned(),
        url: "http://127.0.0.1:9/v1/messages".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::from(body),
        tenant: Tenant::from_bytes([tenant; 16]),
    }
}

/// A conversation of so many messages, the last one the user's.
fn said(count: usize, text: &str) -> Vec<String> {
    (0..count)
        .map(|index| {
            let role = ["user", "assistant"][index % 2];
            format!(r#"{{"role":"{role}","content":"{index} {text}"}}"#)
        })
        .collect()
}

async fn sent(core: &Conversations, arrival: Arrival) -> (Outgoing, Ticket) {
    match core.arrive(arrival, Timestamp::UNIX_EPOCH).await {
        Verdict::Send(outgoing, ticket) => (outgoing, ticket),
        Verdict::Answer(direct) => panic!("not sent: {direct:?}"),
    }
}

/// A strategy that reads pulses, which are kept for it.
const READS_PULSES: &str = "
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(repeats > 100) ; map({ swap: true }) ; commands
  answers ; discard
}";

#[tokio::test]
async fn an_idle_conversation_of_200k_tokens_takes_64_kb() {
    check_idle(Config::default(), 64 << 10).await;
    let mut config = Config::default();
    let program = StrategyProgram::new("mine", READS_PULSES, &BuiltIn).unwrap();
    config.policy.strategy.load(program);
    // The pulses are kept for it, and for nobody else.
    check_idle(config, 68 << 10).await;
}

async fn check_idle(config: Config, most: usize) {
    let core = core_of(config);
    let messages = said(999, &"read the next file ".repeat(42));
    for len in [1, 501, 999] {
        let (outgoing, ticket) = sent(&core, arrival(1, &messages[..len])).await;
        if len == 999 {
            let tokens = outgoing.tokens.unwrap().get();
            assert!((180_000..320_000).contains(&tokens), "{tokens}");
        }
        drop(ticket);
    }
    let all = core.directory.registry.all(None);
    assert_eq!(all.len(), 1, "one conversation");
    let mut live = all[0].lock();
    assert!(!live.is_busy());
    live.on(Input::Rest, Timestamp::UNIX_EPOCH);
    // As with a full journal.
    let empty = SAMPLES.next_power_of_two() - live.journal().samples().count();
    let held = live.bytes() + size_of_val(&*live) + empty * size_of::<Sent>();
    assert!(held <= most, "{held} bytes");
}

#[tokio::test]
async fn concurrent_requests_of_one_path_do_not_move_it() {
    let core = core();
    let mut messages = said(3, "go on");
    let (main, flying) = sent(&core, arrival(1, &messages)).await;
    // A question on the side, before the answer is there.
    let mut aside = messages.clone();
    aside.push(r#"{"role":"user","content":"Name this."}"#.to_owned());
    let (side, _ticket) = sent(&core, arrival(1, &aside)).await;
    assert_ne!(side.conversation, main.conversation);
    // The same again, while the first is under way.
    let (again, _ticket) = sent(&core, arrival(1, &messages)).await;
    assert_eq!(again.conversation, main.conversation);
    drop(flying);
    messages.extend(said(5, "go on").drain(3..));
    let (next, _ticket) = sent(&core, arrival(1, &messages)).await;
    assert_eq!(next.conversation, main.conversation);
    let (other, _ticket) = sent(&core, arrival(2, &messages)).await;
    assert_ne!(other.conversation, main.conversation, "another tenant");
}

#[tokio::test]
async fn what_is_not_changed_is_not_copied() {
    let core = core();
    let arrival = arrival(1, &said(1, "go on"));
    let body = arrival.body.clone();
    let (outgoing, _ticket) = sent(&core, arrival).await;
    assert_eq!(outgoing.body.as_ptr(), body.as_ptr(), "the same bytes");
}

#[tokio::test]
async fn a_conversation_leaves_memory_and_comes_back() {
    let core = core();
    let messages = said(5, "go on");
    let (before, ticket) = sent(&core, arrival(1, &messages[..3])).await;
    ticket.finished(Timestamp::UNIX_EPOCH).await;
    let limits = Room {
        most: 100,
        idle: jiff::SignedDuration::from_secs(60),
    };
    let later = Timestamp::from_second(100).unwrap();
    core.directory.registry.sweep(later, limits);
    assert_eq!(core.directory.registry.count(), 0);
    // The dashboard shows its journal still.
    assert_eq!(core.directory.let_rest(later).to_store.len(), 1);
    let (after, _ticket) = sent(&core, arrival(1, &messages)).await;
    assert_eq!(after.conversation, before.conversation);
}

#[tokio::test]
async fn the_one_not_seen_for_longest_goes_first() {
    let core = core();
    for number in 0..40 {
        let text = format!("conversation {number}");
        let (_, ticket) = sent(&core, arrival(1, &said(1, &text))).await;
        drop(ticket);
    }
    let room = Room {
        most: 16,
        idle: jiff::SignedDuration::from_hours(9),
    };
    core.directory.registry.sweep(Timestamp::UNIX_EPOCH, room);
    assert!(core.directory.registry.count() <= 16);
}

#[tokio::test]
async fn a_subagent_has_the_agent_that_started_it_as_its_parent() {
    let core = core();
    let with = |text: &str, headers: &[(&'static str, &'static str)]| {
        let mut arrival = arrival(1, &said(1, text));
        for &(name, value) in headers {
            let value = http::HeaderValue::from_static(value);
            arrival.headers.insert(name, value);
        }
        arrival
    };
    let session = ("x-claude-code-session-id", "s1");
    let (main, _ticket) = sent(&core, with("the main one", &[session])).await;
    let agent = [session, ("x-claude-code-agent-id", "a1")];
    let (sub, _ticket) = sent(&core, with("a task", &agent)).await;
    let deeper = [
        session,
        ("x-claude-code-agent-id", "a2"),
        ("x-claude-code-parent-agent-id", "a1"),
    ];
    let (below, _ticket) = sent(&core, with("a smaller task", &deeper)).await;
    let parent = |of: &Outgoing| {
        let tenant = Tenant::from_bytes([1; 16]);
        let shared = core
            .directory
            .registry
            .get(tenant, of.conversation.unwrap());
        shared.unwrap().lock().record().parent
    };
    assert_eq!(parent(&main), None);
    assert_eq!(parent(&sub), main.conversation);
    assert_eq!(parent(&below), sub.conversation);
}

#[tokio::test]
async fn agents_with_the_same_task_are_conversations_of_their_own() {
    let core = core();
    let of = |agent: &'static str, messages: &[String]| {
        let mut arrival = arrival(1, messages);
        let names = [
            ("x-claude-code-session-id", "s1"),
            ("x-claude-code-agent-id", agent),
        ];
        for (name, value) in names {
            let value = http::HeaderValue::from_static(value);
            arrival.headers.insert(name, value);
        }
        arrival
    };
    let messages = said(3, "look into it");
    let (one, _ticket) = sent(&core, of("a1", &messages[..1])).await;
    let (two, _ticket) = sent(&core, of("a2", &messages[..1])).await;
    assert_ne!(one.conversation, two.conversation);
    for (agent, first) in [("a1", &one), ("a2", &two)] {
        let (next, _ticket) = sent(&core, of(agent, &messages)).await;
        assert_eq!(next.conversation, first.conversation, "{agent}");
    }
    let tenant = Tenant::from_bytes([1; 16]);
    let (session, agent) = ("s1".into(), "a2".into());
    let found = core.directory.registry.of_agent(tenant, &session, &agent);
    assert_eq!(found, two.conversation);
}

#[tokio::test]
async fn a_client_that_goes_away_while_it_waits_leaves_nothing_open() {
    let core = core();
    let arrival = arrival(1, &said(3, "go on"));
    for _ in 0..3 {
        // Polled once and dropped.
        let arriving = core.arrive(arrival.clone(), Timestamp::UNIX_EPOCH);
        let _ = tokio::time::timeout(std::time::Duration::ZERO, arriving).await;
    }
    let (_, ticket) = sent(&core, arrival).await;
    drop(ticket);
    let all = core.directory.registry.all(None);
    assert!(all.iter().all(|shared| !shared.lock().is_busy()));
}

#[tokio::test]
async fn what_nobody_came_back_to_is_removed_after_its_time() {
    use std::sync::atomic::{AtomicI64, Ordering};

    const DAY: i64 = 24 * 60 * 60;
    let seconds = Arc::new(AtomicI64::new(0));
    let ticks = Arc::clone(&seconds);
    let mut config = Config::default();
    config.limits.retention = Some(jiff::SignedDuration::from_hours(48));
    let core = Conversations::new(Parts {
        config: Arc::new(config),
        engine: Arc::new(MemoryEngine::new([7; 32], Limits::default())),
        clock: Arc::new(move || Timestamp::from_second(ticks.load(Ordering::Relaxed)).unwrap()),
        metrics: Arc::new(Metrics::default()),
    })
    .unwrap();
    let mut rounds = super::care::Rounds::default();
    let mut kept = async || {
        let now = (core.parts().clock)();
        core.care.round(&mut rounds, now).await;
        let mut found = 0;
        let engine = &core.parts().engine;
        let tenant = Tenant::from_bytes([1; 16]);
        engine
            .read(tenant, &mut |store| {
                found = store.conversations(Timestamp::MAX, 10)?.len();
                Ok(())
            })
            .unwrap();
        found
    };
    let says = async |text: &str| {
        let now = (core.parts().clock)();
        let Verdict::Send(_, ticket) = core.arrive(arrival(1, &said(1, text)), now).await else {
            panic!("not sent");
        };
        ticket.finished(now).await;
        core.writer.flush().await;
    };
    says("on the first day").await;
    seconds.store(DAY, Ordering::Relaxed);
    says("on the second day").await;
    assert_eq!(kept().await, 2, "both are young");
    seconds.store(2 * DAY + 60, Ordering::Relaxed);
    assert_eq!(kept().await, 1, "the first is older than two days");
    seconds.store(5 * DAY, Ordering::Relaxed);
    assert_eq!(kept().await, 0);
}
