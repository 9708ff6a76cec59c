//! Evidence in a log of its client's limit: the window, and the instructions and tools that the log leaves out.
//!
//! The table's window is an upper bound: products offer one model with several windows, and stop short
//! of them. So a log that names its window, or in which the product compacted, knows better.

use context::Tokens;
use conversation::homunculus::{Limits, Prices};
use serde::Serialize;
use tokens::Model;
use wire::session::{ReportedUsage, Session};

use super::tokens_of;

/// The reports of one session are placeholders if more than this share of them is the same.
const REPEATED: f64 = 0.5;

/// So many equal reports may be chance.
const FEW: usize = 4;

/// A compaction by hand at less than this share of the window was not a matter of room.
const FULL: f64 = 0.5;

/// The largest share of the recorded client's window that instructions, tools and what else the log
/// leaves out may take, such as a conversation that was resumed in another file.
const MOST_UNLOGGED: f64 = 0.5;

/// Their largest share of a window that was given: it may be chosen smaller than what the recorded
/// client sent.
const MOST_UNLOGGED_GIVEN: f64 = 0.25;

/// The window that providers sell beside their usual one.
const LARGE: Tokens = Tokens::new(1_000_000);

/// The usual window.
const USUAL: Tokens = Tokens::new(200_000);

/// The window of a replay, and what the log leaves out of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The window.
    pub window: Tokens,
    /// The source of the window.
    pub source: WindowSource,
    /// The tokens of instructions and tools that the log does not contain.
    pub unlogged: Tokens,
    /// True if the log says that most of what its client wrote to the cache lives for an hour.
    pub caches_an_hour: bool,
}

/// The source of a replay's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The options.
    Given,
    /// The log names it.
    Log,
    /// The size at which the session was compacted.
    Compaction,
    /// A request that the model table's window does not hold.
    Requests,
    /// The model table.
    #[default]
    Model,
}

impl WindowSource {
    /// The source in words, behind the size of the window.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Given => "as given",
            Self::Log => "from the log",
            Self::Compaction => "where its client compacted it",
            Self::Requests => "from its largest request",
            Self::Model => "the model's",
        }
    }
}

impl Evidence {
    /// Reads the evidence of a session. `given` is the window of the options.
    #[must_use]
    pub fn of(session: &Session, model: &Model, given: Option<Tokens>) -> Self {
        let (window, source) = match given {
            Some(window) => (window, WindowSource::Given),
            None => window(session, model),
        };
        let unlogged = unlogged(session);
        let unlogged = match source {
            WindowSource::Given if unlogged > window.scaled(MOST_UNLOGGED_GIVEN) => Tokens::ZERO,
            _ => unlogged.min(window.scaled(MOST_UNLOGGED)),
        };
        Self {
            window,
            source,
            unlogged,
            caches_an_hour: caches_an_hour(session),
        }
    }
}

fn caches_an_hour(session: &Session) -> bool {
    let reports = credible(&session.usage).iter();
    let (all, hour) = reports.fold((Tokens::ZERO, Tokens::ZERO), |(all, hour), report| {
        (all + report.cache_write, hour + report.cache_write_hour)
    });
    hour > all.saturating_sub(hour)
}

fn window(session: &Session, model: &Model) -> (Tokens, WindowSource) {
    let largest = credible(&session.usage).iter().map(sent).max();
    let (stated, source) = match session.window {
        Some(window) => (window, WindowSource::Log),
        None if largest.is_some_and(|size| size > model.window) => (
            LARGE.max(largest.unwrap_or_default()),
            WindowSource::Requests,
        ),
        None => (model.window, WindowSource::Model),
    };
    let Some(reached) = reached(session, stated) else {
        return (stated, source);
    };
    // A client that compacts where the strategies do needs no other window to be compared in.
    let limits = Limits::for_window(stated, Prices::from(model));
    if reached <= stated && reached >= limits.hard_tokens() {
        return (stated, source);
    }
    (reached, WindowSource::Compaction)
}

/// The largest size at which the session was compacted for want of room.
fn reached(session: &Session, window: Tokens) -> Option<Tokens> {
    let compactions = session.compactions.iter();
    let sizes = compactions.filter_map(|it| Some((it.tokens_before?, it.by_hand)));
    let full = sizes.filter(|(size, by_hand)| {
        // A model with a large window is also sold with the usual one.
        !by_hand || *size >= window.min(USUAL).scaled(FULL)
    });
    full.map(|(size, _)| size).max()
}

/// The tokens by which the provider's count of the largest request exceeds what the log holds of it.
/// Requests behind a compaction do not count: what the client kept of the turns before is not known.
fn unlogged(session: &Session) -> Tokens {
    let first = session.compactions.first();
    let end = first.map_or(session.turns.len(), |it| it.before);
    let reports = credible(&session.usage);
    let within = reports.iter().filter(|report| report.turn < end);
    let largest = within.max_by_key(|report| sent(report));
    largest.map_or(Tokens::ZERO, |report| {
        let said = session.turns.get(..report.turn).unwrap_or_default();
        sent(report).saturating_sub(tokens_of(said))
    })
}

/// The input of a request.
fn sent(report: &ReportedUsage) -> Tokens {
    report.input + report.cache_read + report.cache_write
}

/// The reports that a provider can have made. A client that does not know its usage writes the same
/// numbers everywhere.
#[must_use]
pub fn credible(reports: &[ReportedUsage]) -> &[ReportedUsage] {
    let mut counts = std::collections::HashMap::<_, usize>::new();
    for report in reports {
        let key = (sent(report), report.output);
        *counts.entry(key).or_default() += 1;
    }
    let most = counts.into_values().max().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let share = most as f64 / reports.len().max(1) as f64;
    if most > FEW && share > REPEATED {
        &[]
    } else {
        reports
    }
}

#[cfg(test)]
mod tests;
