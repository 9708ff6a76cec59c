//! The lab replays the product: recorded sessions once through the gateway to the strict provider over
//! HTTP, and once through the lab. Every request is the same, byte for byte, notes and shortened results
//! included, under every shipped strategy, in windows of 16k, 32k and 64k, with summaries made without a
//! model and with summaries that a model writes (by a script).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "what fails here fails the test, and a missing corpus is told"
)]

mod through;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use context::extract::Room;
use context::{Heuristic, Text, TokenCounter, Tokens, Turn, TurnId};
use conversation::RouteChoice;
use conversation::homunculus::hosted::{PinKeeping, StrategyProgram};
use jiff::Timestamp;
use lab::latency::Latency;
use lab::replay::{Asked, Client, Evidence, Extractive, Summarise, Watch, run_with};
use lab::{Options, RecallMeasure};
use tokens::ModelTable;
use wire::api::Counts;
use wire::session::{Format, Session, load};

const WINDOWS: [u64; 3] = [16_000, 32_000, 64_000];

/// At most so many requests of a session: the boundaries of these windows are crossed within them.
const REQUESTS: usize = 60;

/// One request: the turn that answers it, when it is sent, and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The assistant turn that answers it.
    pub turn: usize,
    /// When it was sent.
    pub at: Timestamp,
    /// The body that the provider received.
    pub body: Vec<u8>,
}

/// The course of a session over HTTP.
#[derive(Default)]
pub struct Held {
    /// The bodies that the provider received, one for each request of the client.
    pub sent: Vec<Sent>,
    /// The provider's counts, by turn.
    pub counts: HashMap<usize, Counts>,
    /// The summaries, by the last turn that they stand for, in the order in which they were made.
    pub summaries: HashMap<TurnId, Vec<Text>>,
}

/// Watches a replay, and lets the provider count as it did over HTTP.
struct Watched<'a> {
    held: Option<&'a Held>,
    sent: Mutex<Vec<Sent>>,
}

impl Watch for Watched<'_> {
    fn wants_bytes(&self) -> bool {
        true
    }

    fn asked(&self, asked: &Asked<'_>) -> Option<Counts> {
        self.sent.lock().unwrap().push(Sent {
            turn: asked.turn,
            at: asked.at,
            body: asked.body.to_vec(),
        });
        self.held?.counts.get(&asked.turn).copied()
    }
}

/// The summaries that the model wrote over HTTP.
struct AsWritten<'a>(&'a Held, Mutex<HashMap<TurnId, usize>>);

impl Summarise for AsWritten<'_> {
    fn summarise(&self, old: &[Turn], _: &[Turn], _: Room, _: &dyn TokenCounter) -> Text {
        let node = old.last().map_or(TurnId::ROOT, Turn::id);
        let mut used = self.1.lock().unwrap();
        let nth = used.entry(node).or_default();
        let texts = self.0.summaries.get(&node);
        let text = texts.and_then(|texts| texts.get((*nth).min(texts.len() - 1)));
        *nth += 1;
        text.cloned().unwrap_or_default()
    }
}

fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let folder =
        std::env::var_os("EBBTIDE_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// The first requests of a session.
fn session(file: &str) -> Option<Session> {
    let Some(corpus) = corpus() else {
        eprintln!("skipped: no corpus");
        return None;
    };
    let bytes = std::fs::read(corpus.join(file)).unwrap();
    let document = load(&bytes, file, &Heuristic).expect("a transcript");
    let mut session = document.sessions.into_iter().next().unwrap();
    let answers = session.turns.iter().enumerate();
    let mut answered = answers.filter(|(_, turn)| turn.role() == context::Role::Assistant);
    if let Some((last, _)) = answered.nth(REQUESTS) {
        session.turns.truncate(last);
    }
    session.compactions.clear();
    Some(session)
}

fn options(
    strategy: &Arc<StrategyProgram>,
    (window, model): (u64, &str),
    route: RouteChoice,
) -> Options {
    Options {
        window: Some(Tokens::new(window)),
        model: Some(model.to_owned()),
        strategies: vec![Arc::clone(strategy)],
        recall: RecallMeasure::Skipped,
        latency: Latency::NONE,
        notes: true,
        route,
        pin_keeping: Some(PinKeeping::Restated),
        ..Options::default()
    }
}

/// The requests of a replay.
fn replayed(session: &Session, options: &Options, held: Option<&Held>) -> Vec<Sent> {
    let watched = Watched {
        held,
        sent: Mutex::default(),
    };
    let written = held.map(|held| AsWritten(held, Mutex::default()));
    let summarise: &dyn Summarise = match (&written, options.route) {
        (Some(written), RouteChoice::Readable) => written,
        _ => &Extractive,
    };
    run_with(session, options, (summarise, &watched), &mut |_| {}).unwrap();
    watched.sent.into_inner().unwrap()
}

fn check(file: &str, spoken: Option<Format>) {
    let strategies: Vec<_> = StrategyProgram::all().collect();
    check_under(file, spoken, (&WINDOWS, &strategies));
}

/// The answer is the requests of the last case; none without a corpus.
fn check_under(
    file: &str,
    spoken: Option<Format>,
    (windows, strategies): (&[u64], &[Arc<StrategyProgram>]),
) -> Vec<Sent> {
    let Some(mut session) = session(file) else {
        return Vec::new();
    };
    session.format = spoken.unwrap_or(session.format);
    let model = through::model(session.format);
    let counter = tokens::counter_for(model);
    let (mut swaps, mut last) = (0, Vec::new());
    for &window in windows {
        let row = ModelTable::shipped().find(model);
        let unlogged = Evidence::of(&session, &row, Some(Tokens::new(window))).unlogged;
        let client = Client::new(&session, model, &*counter, unlogged);
        for strategy in strategies {
            for route in [RouteChoice::Extractive, RouteChoice::Readable] {
                let case = format!("{file}, {window}, {}, {route:?}", strategy.name());
                let options = options(strategy, (window, model), route);
                // Only for the times: they do not depend on what is sent.
                let times = replayed(&session, &options, None);
                let held = through::held(&client, &times, &options);
                let replayed = replayed(&session, &options, Some(&held));
                assert_eq!(replayed.len(), held.sent.len(), "{case}");
                for (number, (lab, gateway)) in replayed.iter().zip(&held.sent).enumerate() {
                    if lab.body != gateway.body {
                        panic!("{case}, request {number}: {}", difference(lab, gateway));
                    }
                    swaps += usize::from(lab.body.len() < client.body(lab.turn).len());
                }
                last = replayed;
            }
        }
    }
    assert!(swaps > 0, "{file}: nothing was ever made smaller");
    last
}

/// Where two bodies part.
fn difference(lab: &Sent, gateway: &Sent) -> String {
    let pairs = lab.body.iter().zip(&gateway.body);
    let same = pairs.take_while(|(one, other)| one == other).count();
    let around = |body: &[u8]| {
        let from = same.saturating_sub(120);
        let until = (same + 200).min(body.len());
        String::from_utf8_lossy(body.get(from..until).unwrap_or_default()).into_owned()
    };
    format!(
        "from byte {same} on\nlab ({} bytes):     {}\ngateway ({} bytes): {}",
        lab.body.len(),
        around(&lab.body),
        gateway.body.len(),
        around(&gateway.body)
    )
}

#[test]
fn claude_code() {
    check(
        "entire-cli/67d765b5-4286-4ec5-b051-950466e186f0.jsonl",
        None,
    );
}

const PI: &str = "pi-mono/packages/coding-agent/test/fixtures/before-compaction.jsonl";

#[test]
fn pi() {
    check(PI, None);
}

#[test]
fn chat() {
    check("longmemeval-s-subset/longmemeval_s.json", None);
}

/// The corpus holds no session of Codex, so one of another agent is sent as Codex would send it.
#[test]
fn responses() {
    check(PI, Some(Format::Codex));
}

/// A strategy that pins what tools return, and what the user says, by their handles.
const PINS: &str = "use mem use prepared
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {
  spawn Prepared.main(ctrl_out, telemetry, ctrl_in)
  telemetry ;
    filter(kind = \"turn\" && (role = \"tool\" && share > 0.02 || role = \"user\")) ;
    map({ pin: handle }) ;
    ctrl_in
}";

#[test]
fn a_strategy_that_pins() {
    let program = StrategyProgram::new("pins", PINS, &plumb::modules::BuiltIn).unwrap();
    let sent = check_under(PI, None, (&[16_000], &[program]));
    let pinned = |sent: &&Sent| {
        let body = String::from_utf8_lossy(&sent.body);
        body.contains("[Pinned, in full:]") && body.contains("<tool_result>")
    };
    assert!(sent.is_empty() || sent.iter().filter(pinned).count() > 10);
}
