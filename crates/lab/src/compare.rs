//! The result of a replay: one [`StrategyResult`] for each strategy, side by side, with the schema of
//! `--json`.
//!
//! Everything under a key `simulated` is modelled, not measured: the provider's cache, its prices
//! and the time a model takes are those of [`Simulation`]. All else is counted on the session itself.
//!
//! The shape is versioned by [`SCHEMA`]. Within a version, fields are only added.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use context::Tokens;
use context::title::is_session_id;
use serde::Serialize;

use crate::equal_size::EqualSize;
use crate::figures;
use crate::regret::Regret;
use crate::replay::WindowSource;

/// The name and version of the shape.
pub const SCHEMA: &str = "ebbtide.replay/1";

/// One session under several strategies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The session.
    pub session: SessionFacts,
    /// The assumptions.
    pub simulation: Simulation,
    /// The outcomes, in the order in which the strategies were asked for.
    pub strategies: Vec<StrategyResult>,
    /// Ways to compact at equal size, whatever the strategy and the window.
    pub recall: EqualSize,
}

/// The session that was replayed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionFacts {
    /// The file's stem, and the transcript's number where a file holds several.
    pub title: String,
    /// A name for people: the product's own or the first line that the user typed.
    pub label: Option<String>,
    /// The time of the first turn, in RFC 3339.
    pub started: Option<String>,
    /// The format it was read from.
    pub format: &'static str,
    /// The model that the session names last.
    pub model: Option<String>,
    /// The number of turns.
    pub turns: usize,
    /// The number of requests that its client sent: one before each assistant turn.
    pub requests: usize,
    /// The tokens of all turns together.
    pub tokens: u64,
    /// Pins in force, in the order in which they were said.
    pub pins: Vec<PinFacts>,
    /// Compactions by the product that recorded the session.
    pub product_compactions: Vec<ProductCompaction>,
    /// The number of broken or odd parts of the file.
    pub problems: usize,
}

/// A pin that every request from `since` on should show in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PinFacts {
    /// The pinned text.
    pub text: String,
    /// The index of the turn that says it. `None`: no turn does, so it is in force from the start.
    pub since: Option<usize>,
    /// The index of the turn that unpins it.
    pub until: Option<usize>,
}

/// A compaction that the recording product did by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProductCompaction {
    /// The index of the turn that follows.
    pub before_turn: usize,
    /// The tokens of all turns said since its compaction before.
    pub tokens_since_last: u64,
    /// The context size that the product reports for the moment before.
    pub reported_tokens_before: Option<u64>,
    /// The size of its summary.
    pub summary_tokens: u64,
    /// True if a person asked for it, as far as the log says.
    pub by_hand: bool,
    /// The seconds that writing it took, by the latency model.
    pub simulated_wait_seconds: f64,
}

impl SessionFacts {
    /// The name to show: the label, or else the title.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.title)
    }

    /// The title, where it says more than the label: an ID does not.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        (self.label.is_some() && !is_session_id(&self.title)).then_some(&self.title)
    }
}

/// The models whose windows and prices the replays assumed, each once.
#[must_use]
pub fn models(comparisons: &[Comparison]) -> Vec<&str> {
    let models = comparisons.iter().map(|it| it.simulation.model.as_str());
    models.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The lifetimes of cache entries in these replays, in words, the usual ones first.
#[must_use]
pub fn cache_lifetimes(comparisons: &[Comparison]) -> String {
    let simulations = comparisons.iter().map(|it| &it.simulation);
    let kinds: BTreeSet<_> = simulations
        .map(|it| (it.cache_ttl_is_long, it.cache_ttl_seconds))
        .collect();
    let words = kinds.iter().map(|&(is_long, seconds)| {
        let lifetime = lifetime(seconds);
        match (is_long, kinds.len()) {
            (false, _) => lifetime,
            (true, 1) => lifetime + ", as the log says",
            (true, _) => lifetime + " where the log says so",
        }
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// Seconds as whole hours or minutes, where they are.
fn lifetime(seconds: u64) -> String {
    match (seconds / 3_600, seconds % 3_600, seconds / 60, seconds % 60) {
        (hours @ 1.., 0, ..) => format!("{hours} h"),
        (_, _, minutes @ 1.., 0) => format!("{minutes} min"),
        _ => format!("{seconds} s"),
    }
}

/// The prices of cache writes in these replays.
#[must_use]
pub fn cache_write_prices(comparisons: &[Comparison]) -> String {
    let prices = comparisons
        .iter()
        .map(|it| it.simulation.usd_per_million_cache_write);
    let mut prices: Vec<f64> = prices.collect();
    prices.sort_by(f64::total_cmp);
    prices.dedup();
    let words = prices.into_iter().map(figures::price);
    words.collect::<Vec<_>>().join(" or ")
}

/// The assumptions of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Simulation {
    /// The window in tokens.
    pub window: u64,
    /// The source of the window.
    pub window_from: WindowSource,
    /// The tokens of instructions and tools that the log does not contain, by the usage that it reports.
    pub unlogged_tokens: u64,
    /// The model whose prices and cache rules were used.
    pub model: String,
    /// USD a million tokens of input that is neither read from nor written to the cache.
    pub usd_per_million_input: f64,
    /// USD a million tokens of output.
    pub usd_per_million_output: f64,
    /// USD a million tokens read from the cache.
    pub usd_per_million_cache_read: f64,
    /// USD a million tokens written to the cache.
    pub usd_per_million_cache_write: f64,
    /// Seconds after which a cached prefix is forgotten.
    pub cache_ttl_seconds: u64,
    /// True if this is the model's longer lifetime, which the log says that its client paid for.
    pub cache_ttl_is_long: bool,
    /// The speeds of the model.
    #[serde(flatten)]
    pub speeds: Speeds,
}

/// The speeds of a model in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Speeds {
    /// Tokens read a second that are not in the cache.
    pub prefill_tokens_per_second: f64,
    /// Tokens read a second from the cache.
    pub cached_prefill_tokens_per_second: f64,
    /// Tokens written a second.
    pub decode_tokens_per_second: f64,
}

impl Simulation {
    /// The window, its source, and what the log leaves out, in words.
    #[must_use]
    pub fn room(&self) -> String {
        let window = figures::short(Tokens::new(self.window));
        let mut words = format!("window {window} ({})", self.window_from.words());
        if self.unlogged_tokens > 0 {
            let unlogged = figures::short(Tokens::new(self.unlogged_tokens));
            words.push_str(&format!(", instructions and tools {unlogged}"));
        }
        words
    }
}

/// The figures of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategyResult {
    /// The strategy's name.
    pub strategy: Arc<str>,
    /// The pressures at which it acts.
    pub thresholds: Thresholds,
    /// Boundaries crossed: requests before which the view was made smaller.
    pub boundaries: usize,
    /// The largest pressure that a request was sent with; above 1 it did not fit.
    pub peak_pressure: f64,
    /// Requests that did not fit the window.
    pub overflows: Overflows,
    /// Pins, request by request.
    pub pins: PinCount,
    /// The user's rules at the last request.
    pub constraints: Constraints,
    /// Each moment at which turns left the view.
    pub compactions: Vec<Compaction>,
    /// The pressure of each request, in order.
    pub pressure: Vec<f64>,
    /// The state of the turns at the last request.
    pub fate: Fate,
    /// Why the machine stopped compacting, where it did.
    pub stopped: Option<String>,
    /// The actions of the strategy.
    #[serde(flatten)]
    pub conduct: Conduct,
    /// Figures that are modelled, not measured.
    pub simulated: Simulated,
}

/// The actions of a strategy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conduct {
    /// The commands that it gave until it failed, in order, and what became of them.
    pub commands: Vec<Given>,
    /// The failure, if it failed: `prepared` ran in its place from there on.
    pub failed: Option<Failed>,
    /// The work that the recorded agent did again although the strategy's view no longer showed it.
    pub regret: Regret,
    /// Where the soft threshold moved and why, where it follows the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threshold_moves: Vec<ThresholdMove>,
}

/// A move of the soft threshold; shares of the window in percent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThresholdMove {
    /// The number of requests sent before.
    pub before_request: usize,
    /// Where it was.
    pub from_percent: u32,
    /// Where it is.
    pub to_percent: u32,
    /// The signals behind the move.
    pub why: String,
}

/// A command of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Given {
    /// The number of requests sent before.
    pub before_request: usize,
    /// Its name; `compressor` where a summary was asked for.
    pub command: &'static str,
    /// Why it was refused, if it was; `nothing_ready` also where a summary that was asked for came to nothing
    /// later.
    pub refused: Option<&'static str>,
}

/// A strategy that did what it may not, and was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The number of requests sent before, under this strategy.
    pub before_request: usize,
    /// The reason.
    pub reason: String,
}

impl StrategyResult {
    /// The strategy's orders, with the refused ones and the reasons, in a sentence.
    #[must_use]
    pub fn ordered(&self) -> String {
        let commands = &self.conduct.commands;
        let before = match &self.conduct.failed {
            Some(_) => "Before that ",
            None => "",
        };
        if commands.is_empty() {
            return format!("{before}{} gave no commands.", self.strategy);
        }
        let mut names: Vec<&str> = Vec::new();
        for given in commands {
            if !names.contains(&given.command) {
                names.push(given.command);
            }
        }
        let told: Vec<String> = names.into_iter().map(|name| self.told_of(name)).collect();
        format!(
            "{before}{} gave the commands {}.",
            self.strategy,
            told.join(", ")
        )
    }

    /// The number of times that a command was given and refused: `swap 3 (1 refused: stale)`.
    fn told_of(&self, command: &str) -> String {
        let given = || {
            self.conduct
                .commands
                .iter()
                .filter(|it| it.command == command)
        };
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for reason in given().filter_map(|it| it.refused) {
            *reasons.entry(reason).or_default() += 1;
        }
        let told = format!("{command} {}", given().count());
        if reasons.is_empty() {
            return told;
        }
        let reasons: Vec<String> = reasons
            .into_iter()
            .map(|(reason, times)| format!("{times} refused: {reason}"))
            .collect();
        format!("{told} ({})", reasons.join(", "))
    }

    /// The moves of the soft threshold and its last place, in a sentence. `None`: it stood.
    #[must_use]
    pub fn moved(&self) -> Option<String> {
        let moves = &self.conduct.threshold_moves;
        let last = moves.last()?;
        Some(format!(
            "The soft threshold of {} moved {}, at last to {} %: {}.",
            self.strategy,
            figures::plural(moves.len(), "time"),
            last.to_percent,
            last.why,
        ))
    }

    /// A sentence for readers of figures that are not the strategy's own.
    #[must_use]
    pub fn replaced(&self) -> Option<String> {
        let Failed {
            before_request,
            reason,
        } = self.conduct.failed.as_ref()?;
        Some(format!(
            "{} failed at request {}: {reason}. `prepared` replaced it from there on, \
             so the figures are those of `prepared`.",
            self.strategy,
            before_request + 1,
        ))
    }
}

/// The pressures at which a strategy acts, as shares of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Thresholds {
    /// The share of the window at which it begins to prepare; `None` for a strategy that prepares
    /// nothing.
    pub soft: Option<f64>,
    /// The share of the window at which it makes the view smaller; `None` for one that acts only
    /// when the view does not fit.
    pub hard: Option<f64>,
}

/// Requests that did not fit the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Overflows {
    /// All of them.
    pub requests: usize,
    /// Requests that no strategy could have made fit: system turns, pins, a summary of 256 tokens
    /// and the newest step, which is never divided, exceed the window.
    pub unavoidable: usize,
}

/// Pins, request by request. A pin is intact where its text stands in the view verbatim, outside
/// any summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PinCount {
    /// Requests sent while at least one pin was in force.
    pub requests: usize,
    /// Requests that showed every pin in force.
    pub intact: usize,
}

/// Constraint survival: messages of the user that set a rule, decide or prefer something, at the last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Constraints {
    /// The number said before it.
    pub said: usize,
    /// The number of them whose typed lines all stand in it verbatim.
    pub kept: usize,
}

/// The state of the turns at the last request: each turn counts in exactly one of the four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fate {
    /// Shown whole.
    pub shown: usize,
    /// A summary stands for it.
    pub summarised: usize,
    /// Shown with its tool results cleared.
    pub cleared: usize,
    /// Gone without a summary.
    pub dropped: usize,
}

/// A moment at which turns left the view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compaction {
    /// The index of the turn whose request came next.
    pub before_turn: usize,
    /// The same request by its place in [`StrategyResult::pressure`].
    pub before_request: usize,
    /// The time in seconds that this request waited for it; simulated.
    pub simulated_wait_seconds: f64,
    /// The kind: `summary`, `drop` or `clear`.
    pub kind: &'static str,
    /// The route of the summary: `readable` (by the model) or `extractive` (without one); `None` if
    /// there is none.
    pub route: Option<&'static str>,
    /// Turns before this index are no longer shown whole.
    pub mark: usize,
    /// Tokens of the view before.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// Tokens of the summary; 0 where there is none.
    pub summary_tokens: u64,
    /// Tokens of the turns carried verbatim behind the mark.
    pub tail_tokens: u64,
    /// Needed-later recall, where it was measured and the rest of the session needs anything.
    pub recall: Option<RecallFigures>,
}

/// Needed-later recall of one compaction; see [`crate::recall`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RecallFigures {
    /// The number of identifiers of the compacted part that the assistant went on to use.
    pub needed: usize,
    /// The share of them that is named in what the model would have seen.
    pub named: f64,
    /// The share of them that stands there beside words of its context.
    pub in_context: f64,
    /// The same two shares for the newest text of the compacted part, cut to the same size as the
    /// summary: what truncation to equal size keeps.
    pub newest_named: f64,
    /// See `newest_named`.
    pub newest_in_context: f64,
}

/// Figures that are modelled, not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Simulated {
    /// Waits on the way of a request.
    pub stalls: Stalls,
    /// Tokens of the conversation's own requests.
    pub requests: TokenUse,
    /// Tokens spent on writing summaries.
    pub summaries: TokenUse,
    /// The cost of both together, in USD.
    pub cost_usd: f64,
}

/// Waits on the way of a request, of a quarter of a second and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// The number of requests that waited.
    pub count: usize,
    /// The longest wait in seconds.
    pub longest_seconds: f64,
    /// All waits together in seconds.
    pub total_seconds: f64,
}

/// Tokens as a provider bills them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenUse {
    /// Input that was neither read from nor written to the cache.
    pub fresh: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_written: u64,
    /// Output.
    pub output: u64,
}
