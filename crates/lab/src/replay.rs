//! Replays one session under each strategy, in virtual time.
//!
//! The session's client sent, before each assistant turn, one request with the whole history so far.
//! Each of these requests goes through a [`Homunculus`](conversation::homunculus::Homunculus) that the strategy
//! steers. Time is virtual: between requests it passes as the session recorded it, or as the latency
//! model says where nothing was recorded; a request that is held passes time as well. The texts of
//! summaries come from extractive compaction; a strategy that has a model write them waits as long as
//! the model would take for one of that size.

mod client;
mod clock;
mod constraints;
mod drive;
mod evidence;
mod facts;
mod fate;
mod ledger;
mod measure;
mod pins;
mod prefix;
mod summarise;
mod watch;

use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use context::pin::PinLimits;
use context::{TokenCounter, Tokens};
use conversation::homunculus::{Limits, Prices};
use tokens::Model;
use wire::session::Session;

use crate::compare::{Comparison, SCHEMA, Simulation, Speeds, StrategyResult};
use crate::equal_size::{self, EqualSize};
use crate::options::{Options, Progress, ReplayError, SMALLEST_WINDOW};
use crate::recall::Reading;
use pins::PinSpan;

pub use client::Client;
pub use evidence::{Evidence, WindowSource, credible};
pub use facts::format_name;
pub use summarise::{Extractive, Summarise};
pub use watch::{Asked, Unwatched, Watch};

/// The model whose prices stand in where the session names none that the table knows.
pub const DEFAULT_MODEL: &str = "claude-sonnet-4-5";

/// The lifetime of cache entries that logs tell beside the usual one.
const HOUR: Duration = Duration::from_secs(3_600);

/// Everything that the strategies of one comparison have in common.
struct Scene<'a> {
    session: &'a Session,
    /// The requests that its client sends.
    client: Client,
    /// The indices of the assistant turns: a request precedes each.
    requests: Vec<usize>,
    /// The number of messages with system turns that the list begins with.
    lead_messages: usize,
    /// The user's rules and decisions, for counting.
    constraints: Vec<constraints::Constraint>,
    /// The pins, for counting.
    pins: Vec<PinSpan>,
    model: Model,
    /// The same model with the cache entries that the recorded client paid for.
    paid: Model,
    limits: Limits,
    evidence: Evidence,
    options: &'a Options,
    counter: &'a dyn TokenCounter,
    summariser: &'a dyn Summarise,
    watch: &'a dyn Watch,
    /// The text of the session, once recall is measured.
    reading: OnceLock<Reading>,
}

/// Replays a session as its client would have sent it: before each assistant turn one request with
/// the whole history so far.
///
/// The same session and options give the same comparison, byte for byte in JSON. `progress` is
/// called now and then on the calling thread; the strategies run on threads of their own.
///
/// # Errors
/// [`ReplayError`] where the options can not be met; a session as such is never refused.
pub fn run(
    session: &Session,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Comparison, ReplayError> {
    run_with(session, options, (&Extractive, &Unwatched), progress)
}

/// Like [`run`], with a source of summaries and a watcher of the requests.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    session: &Session,
    options: &Options,
    (summariser, watch): (&dyn Summarise, &dyn Watch),
    progress: &mut dyn FnMut(Progress),
) -> Result<Comparison, ReplayError> {
    let model = model(session, options)?;
    let evidence = Evidence::of(session, &model, options.window);
    let window = evidence.window;
    if window < SMALLEST_WINDOW {
        return Err(ReplayError::WindowTooSmall(window));
    }
    let counter = model.counter();
    let client = Client::new(session, &model.name, &counter, evidence.unlogged);
    let scene = Scene {
        session,
        requests: facts::requests(session),
        lead_messages: client.message_of(facts::leading_system_turns(session)),
        client,
        watch,
        constraints: constraints::of(&session.turns, window),
        pins: pins::spans(
            session,
            &options.pins,
            (PinLimits::of_window(window), &counter),
        )?,
        limits: Limits::for_window(window, Prices::from(&model)),
        evidence,
        options,
        counter: &counter,
        summariser,
        paid: paid(&model, evidence),
        model,
        reading: OnceLock::new(),
    };
    let (strategies, recall) = side_by_side(&scene, options, progress);
    Ok(Comparison {
        schema: SCHEMA,
        session: facts::of(&scene),
        simulation: simulation(&scene),
        strategies,
        recall,
    })
}

/// Runs each strategy on a thread of its own; the outcomes are in the order of the options. Ways to
/// compact at equal size are measured meanwhile.
fn side_by_side(
    scene: &Scene<'_>,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> (Vec<StrategyResult>, EqualSize) {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        // First, since it takes longest.
        let recall = scope.spawn(|| equal_size::measure(scene.session, scene.options.recall));
        let running: Vec<_> = options
            .strategies
            .iter()
            .map(|strategy| {
                let sender = sender.clone();
                scope.spawn(move || {
                    drive::replay(scene, strategy, &mut |step| {
                        // The receiver outlives the threads; a closed channel is no reason to stop.
                        let _ = sender.send(step);
                    })
                })
            })
            .collect();
        drop(sender);
        for step in receiver {
            progress(step);
        }
        (running.into_iter().map(joined).collect(), joined(recall))
    })
}

/// The result of a thread; its panic continues here.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(found) => found,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn model(session: &Session, options: &Options) -> Result<Model, ReplayError> {
    let table = &options.models;
    let known = |name: &str| {
        let model = table.find(name);
        (model.known != tokens::Known::Unknown).then_some(model)
    };
    match &options.model {
        Some(name) => known(name).ok_or_else(|| ReplayError::UnknownModel(name.clone())),
        None => Ok(session
            .model
            .as_deref()
            .and_then(known)
            .unwrap_or_else(|| table.find(DEFAULT_MODEL))),
    }
}

/// The model with the cache entries that the recorded client paid for, where it has such.
fn paid(model: &Model, evidence: Evidence) -> Model {
    if evidence.caches_an_hour && model.cache.lifetime_long == Some(HOUR) {
        model.with_long_cache()
    } else {
        model.clone()
    }
}

fn simulation(scene: &Scene<'_>) -> Simulation {
    let prices = Prices::from(&scene.paid);
    Simulation {
        window: scene.limits.window.get(),
        window_from: scene.evidence.source,
        unlogged_tokens: scene.evidence.unlogged.get(),
        model: scene.model.name.clone(),
        usd_per_million_input: prices.input,
        usd_per_million_output: prices.output,
        usd_per_million_cache_read: prices.cache_read,
        usd_per_million_cache_write: prices.cache_write,
        cache_ttl_seconds: u64::try_from(prices.ttl.as_secs()).unwrap_or(u64::MAX),
        cache_ttl_is_long: scene.paid != scene.model,
        speeds: Speeds {
            prefill_tokens_per_second: scene.options.latency.prefill,
            cached_prefill_tokens_per_second: scene.options.latency.cached_prefill,
            decode_tokens_per_second: scene.options.latency.decode,
        },
    }
}

/// The tokens of some turns.
fn tokens_of(turns: &[context::Turn]) -> Tokens {
    turns.iter().map(context::Turn::tokens).sum()
}
