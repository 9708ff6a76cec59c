//! A recorded session through the engine and through the lab's replay: the same bodies.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ebbtide::{Did, Engine, Next, Timestamp};
use lab::latency::Latency;
use lab::replay::{Asked, Client, Extractive, Watch, run_with};
use lab::{Options, RecallMeasure};
use serde_json::json;

const MODEL: &str = "claude-opus-4-5";
const WINDOW: u64 = 32_000;
const SESSION: &str = "entire-cli/67d765b5-4286-4ec5-b051-950466e186f0.jsonl";
const REQUESTS: usize = 120;

type Sent = (usize, Timestamp, Vec<u8>);

/// Keeps the requests of a replay, and counts as a provider would.
#[derive(Default)]
struct Kept(Mutex<Vec<Sent>>);

/// The size of a body as the provider counts it.
fn counted(body: &[u8]) -> u64 {
    body.len() as u64 / 4
}

impl Watch for Kept {
    fn wants_bytes(&self) -> bool {
        true
    }

    fn asked(&self, asked: &Asked<'_>) -> Option<wire::api::Counts> {
        let body = asked.body.to_vec();
        let input = ebbtide::Tokens::new(counted(&body));
        self.0.lock().unwrap().push((asked.turn, asked.at, body));
        Some(wire::api::Counts {
            input,
            ..Default::default()
        })
    }
}

fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let folder =
        std::env::var_os("EBBTIDE_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    folder.is_dir().then_some(folder)
}

#[test]
fn the_same_bodies_as_in_a_replay() {
    let Some(corpus) = corpus() else {
        eprintln!("skipped: no corpus");
        return;
    };
    let bytes = std::fs::read(corpus.join(SESSION)).unwrap();
    let document = wire::session::load(&bytes, SESSION, &context::Heuristic).expect("a transcript");
    let mut session = document.sessions.into_iter().next().unwrap();
    let answers = session.turns.iter().enumerate();
    let mut answers = answers.filter(|(_, turn)| turn.role() == ebbtide::Role::Assistant);
    if let Some((last, _)) = answers.nth(REQUESTS) {
        session.turns.truncate(last);
    }
    session.compactions.clear();
    session.usage.clear();
    let strategy = conversation::homunculus::hosted::StrategyProgram::default_one();
    let options = Options {
        window: Some(ebbtide::Tokens::new(WINDOW)),
        model: Some(MODEL.to_owned()),
        strategies: vec![Arc::clone(&strategy)],
        recall: RecallMeasure::Skipped,
        latency: Latency::NONE,
        notes: true,
        route: conversation::RouteChoice::Extractive,
        ..Options::default()
    };
    let kept = Kept::default();
    run_with(&session, &options, (&Extractive, &kept), &mut |_| {}).unwrap();
    let replayed = kept.0.into_inner().unwrap();

    let engine = Engine::builder().window(WINDOW).open().unwrap();
    let asker = engine.client("k");
    let client = Client::new(
        &session,
        MODEL,
        &*tokens::counter_for(MODEL),
        context::Tokens::ZERO,
    );
    let mut swaps = 0;
    for (turn, at, body) in &replayed {
        let next = engine.request(&asker, client.body(*turn), *at).unwrap();
        let Next::Send(out) = next else {
            panic!("{next:?}");
        };
        assert!(out.body == body, "the request before turn {turn} differs");
        swaps += usize::from(out.did.contains(&Did::Swapped));
        let answer = json!({
            "type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn",
            "usage": {"input_tokens": counted(body), "output_tokens": 0},
        });
        let answer = answer.to_string();
        engine.observe(out.ticket, answer.as_bytes(), *at).unwrap();
    }
    assert!(
        replayed.len() > 50 && swaps > 0,
        "{} {swaps}",
        replayed.len()
    );
}
