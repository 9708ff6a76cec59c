//! The columns by which strategies are compared: the same in the terminal and in HTML.

use crate::compare::Comparison;
use crate::figures;
use crate::total::{Total, totals};

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// The words above it, in one or two lines.
    pub heading: &'static [&'static str],
    /// The words in full.
    pub name: &'static str,
    /// The definition of the figure, in one sentence.
    pub definition: &'static str,
    /// One figure for each strategy.
    pub cells: Vec<String>,
    /// The source: counted on the session, or computed by the model of a provider.
    pub source: Source,
}

/// The source of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Counted on the session.
    Counted,
    /// Modelled: a provider's cache, prices and speed.
    Simulated,
}

/// A column without its cells.
type Draft = (
    &'static [&'static str],
    &'static str,
    &'static str,
    Source,
    fn(&Total) -> String,
);

const COLUMNS: [Draft; 14] = [
    (
        &["bound-", "aries"],
        "boundaries",
        "requests at which the conversation was compacted",
        Source::Counted,
        |total| figures::count(total.boundaries as u64),
    ),
    (
        &["stalls"],
        "stalls",
        "requests that waited for a summary to be written",
        Source::Simulated,
        |total| figures::count(total.simulated.stalls.count as u64),
    ),
    (
        &["longest", "stall"],
        "longest stall",
        "the longest of these waits",
        Source::Simulated,
        |total| waited(total.simulated.stalls.longest_seconds, total),
    ),
    (
        &["total", "wait"],
        "total wait",
        "the sum of these waits",
        Source::Simulated,
        |total| waited(total.simulated.stalls.total_seconds, total),
    ),
    (
        &["peak", "pressure"],
        "peak pressure",
        "the largest request as a share of the window; above 100 % it did not fit",
        Source::Counted,
        |total| figures::percent(total.peak_pressure),
    ),
    (
        &["over-", "flows"],
        "overflows",
        "requests that did not fit the window",
        Source::Counted,
        |total| figures::count(total.overflows.requests as u64),
    ),
    (
        &["pins", "intact"],
        "pins intact",
        "of the requests sent while a pin was set, those with every pinned text verbatim",
        Source::Counted,
        |total| intact(total.pins.intact_share()),
    ),
    (
        &["rules", "kept"],
        "rules kept",
        "of the user's messages that set a rule, decide or prefer something, those that the last request contains verbatim",
        Source::Counted,
        |total| intact(total.constraints.kept_share()),
    ),
    (
        &["input", "tokens"],
        "input tokens",
        "the input of all requests, with the calls that write summaries",
        Source::Simulated,
        |total| {
            let simulated = &total.simulated;
            let input = simulated.requests.input() + simulated.summaries.input();
            figures::short(context::Tokens::new(input))
        },
    ),
    (
        &["from", "cache"],
        "from cache",
        "the share of the requests' input that the provider's cache held",
        Source::Simulated,
        |total| figures::percent(total.simulated.requests.cached_share()),
    ),
    (
        &["cost"],
        "cost",
        "the cost of requests and summaries, at the model's prices",
        Source::Simulated,
        |total| figures::dollars(total.simulated.cost_usd),
    ),
    (
        &["recall:", "named"],
        "recall, named",
        "needed-later recall: of the identifiers that the agent used later, the share that its context still contained",
        Source::Counted,
        |total| recalled(total.recall.map(|recall| recall.named)),
    ),
    (
        &["recall:", "in context"],
        "recall, in context",
        "needed-later recall: the share that its context contained next to the original words",
        Source::Counted,
        |total| recalled(total.recall.map(|recall| recall.in_context)),
    ),
    (
        &["missed /", "100 steps"],
        "missed per 100 steps",
        "regret: what the recorded agent did again although its context no longer showed it (files read, names searched, commands failed, tasks reopened, corrections by the user), per 100 steps after a compaction",
        Source::Counted,
        |total| {
            let regret = total.regret;
            let missed = regret.per_hundred(regret.total());
            missed.map_or_else(|| "–".to_owned(), |missed| format!("{missed:.1}"))
        },
    ),
];

/// All columns, one cell for each of `totals`.
#[must_use]
pub fn scoreboard(totals: &[Total]) -> Vec<Score> {
    COLUMNS
        .into_iter()
        .map(|(heading, name, definition, source, show)| Score {
            heading,
            name,
            definition,
            cells: totals.iter().map(show).collect(),
            source,
        })
        .collect()
}

/// The comparison in a sentence, where both strategies of which it speaks were replayed and the
/// limit was reached.
#[must_use]
pub fn verdict(totals: &[Total]) -> Option<String> {
    let by_name = |name: &str| totals.iter().find(|total| *total.strategy == *name);
    let (prepared, stopped) = (by_name("prepared")?, by_name("stop_the_world")?);
    if prepared.boundaries == 0 || stopped.boundaries == 0 {
        return None;
    }
    Some(format!(
        "prepared reached the limit {} and {}; stop_the_world reached it {} and {}.",
        times(prepared.boundaries),
        waiting(prepared),
        times(stopped.boundaries),
        waiting(stopped),
    ))
}

/// The compactions of the recording products at their limit, and what working ahead would have done,
/// in two sentences. `None` if no product compacted a session.
#[must_use]
pub fn recorded(comparisons: &[Comparison]) -> Option<String> {
    let stops = |it: &Comparison| it.session.product_compactions.len();
    let sessions = comparisons.iter().filter(|it| stops(it) > 0).count();
    if sessions == 0 {
        return None;
    }
    let all: usize = comparisons.iter().map(stops).sum();
    let compactions = comparisons
        .iter()
        .flat_map(|it| &it.session.product_compactions);
    let waited: f64 = compactions.map(|it| it.simulated_wait_seconds).sum();
    let mut words = format!(
        "In {sessions} of {}, the client stopped for a compaction, {} in all, for about {} \
         (simulated).",
        figures::plural(comparisons.len(), "session"),
        times(all),
        figures::seconds(waited),
    );
    let totals = totals(comparisons);
    if let Some(prepared) = totals.iter().find(|total| &*total.strategy == "prepared") {
        words.push_str(&format!(
            " Under prepared, the {} reach the limit {}, and the user {}.",
            figures::plural(comparisons.len(), "session"),
            times(prepared.boundaries),
            match prepared.simulated.stalls.count {
                0 => "never waits".to_owned(),
                _ => format!(
                    "waits {}",
                    figures::seconds(prepared.simulated.stalls.total_seconds)
                ),
            }
        ));
    }
    Some(words)
}

fn waiting(total: &Total) -> String {
    match total.simulated.stalls.count {
        0 => "never waited".to_owned(),
        count => format!(
            "waited {}, {} in total (simulated)",
            times(count),
            figures::seconds(total.simulated.stalls.total_seconds)
        ),
    }
}

fn times(number: usize) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{} times", figures::count(more as u64)),
    }
}

fn waited(seconds: f64, total: &Total) -> String {
    if total.simulated.stalls.count == 0 {
        "–".to_owned()
    } else {
        figures::seconds(seconds)
    }
}

/// `all` only where it is all: 99.9 % is not rounded up to it.
fn intact(share: Option<f64>) -> String {
    match share {
        None => "–".to_owned(),
        Some(share) if share >= 1.0 => "all".to_owned(),
        Some(share) => format!("{:.0} %", (share * 100.0).floor()),
    }
}

fn recalled(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), figures::percent)
}
