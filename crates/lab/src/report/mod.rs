//! The replay as one HTML page that needs nothing else: styles and plots are in it, it follows the
//! reader's light or dark setting, and it can be read on a phone.

mod many;
mod plot;

use std::sync::Arc;

use askama::Template;

use crate::compare::{
    Compaction, Comparison, StrategyResult, cache_lifetimes, cache_write_prices, models,
};
use crate::equal_size::{Board, board};
use crate::figures;
use crate::scoreboard::{Score, Source, recorded, scoreboard, verdict};
use crate::total::{Total, totals};

/// The page for these comparisons.
///
/// # Errors
/// Never in practice: the template is checked when it is compiled, and it writes to memory.
pub fn html(comparisons: &[Comparison]) -> Result<String, askama::Error> {
    Page::of(comparisons).render()
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: String,
    /// The compactions of the recorded clients at their limit, in words.
    recorded: Option<String>,
    /// All sessions together, where there are several.
    total: Option<Sum>,
    /// One row a session, where there are many.
    list: Vec<many::Row>,
    headings: [&'static str; 7],
    /// The sessions that filled their window and of which only the row is shown.
    left_out: usize,
    sessions: Vec<Section<'a>>,
    /// Ways to compact at equal size, over all sessions.
    recall: Option<Board>,
    definitions: Vec<Score>,
    assumptions: Vec<(&'static str, String)>,
}

/// All sessions.
struct Sum {
    table: Table,
    /// The strategies that failed, each with its number of sessions.
    warnings: Vec<String>,
}

/// One session.
struct Section<'a> {
    title: &'a str,
    facts: Vec<String>,
    verdict: Option<String>,
    /// The strategies that failed.
    warnings: Vec<String>,
    table: Table,
    plots: Vec<Figure>,
    bars: Vec<Bar>,
    journals: Vec<Journal>,
}

/// Strategies down, figures across.
struct Table {
    headings: Vec<(String, &'static str)>,
    rows: Vec<(Arc<str>, Vec<String>)>,
}

/// One plot with the words around it.
struct Figure {
    strategy: Arc<str>,
    caption: String,
    svg: String,
}

/// The recall of one strategy.
struct Bar {
    strategy: Arc<str>,
    shares: Vec<(&'static str, &'static str, f64, String)>,
    needed: String,
}

/// Every compaction of one strategy.
struct Journal {
    strategy: Arc<str>,
    rows: Vec<Vec<String>>,
}

impl<'a> Page<'a> {
    fn of(comparisons: &'a [Comparison]) -> Self {
        let title = match comparisons {
            [only] => only.session.shown().to_owned(),
            several => figures::plural(several.len(), "session"),
        };
        let all = totals(comparisons);
        let is_many = comparisons.len() >= many::MANY;
        let sections = if is_many {
            many::filled(comparisons)
                .into_iter()
                .map(Section::folded)
                .collect()
        } else {
            comparisons.iter().map(Section::of).collect()
        };
        Self {
            title,
            recorded: recorded(comparisons),
            list: if is_many {
                many::rows(comparisons)
            } else {
                Vec::new()
            },
            headings: many::HEADINGS,
            left_out: match is_many {
                true => many::without_section(comparisons),
                false => 0,
            },
            total: (comparisons.len() > 1).then(|| Sum {
                table: Table::of(&all),
                warnings: all.iter().filter_map(Total::replaced).collect(),
            }),
            sessions: sections,
            recall: board(comparisons),
            definitions: scoreboard(&[]),
            assumptions: assumptions(comparisons),
        }
    }

    fn is_simulated(score: &Score) -> bool {
        score.source == Source::Simulated
    }
}

impl<'a> Section<'a> {
    /// A section among many: the two strategies that most ask about.
    fn folded(comparison: &'a Comparison) -> Self {
        let of_interest = |outcome: &&StrategyResult| many::is_compared(outcome);
        let plotted = comparison.strategies.iter().filter(of_interest);
        let scale = plot::Scale::of(&comparison.strategies).among_many();
        let mut section = Self::showing(comparison, plotted, scale);
        // Hundreds of tables have the same headings; the page explains them once.
        for (_, definition) in &mut section.table.headings {
            *definition = "";
        }
        section
    }

    fn of(comparison: &'a Comparison) -> Self {
        let strategies = comparison.strategies.iter();
        let scale = plot::Scale::of(&comparison.strategies);
        Self {
            bars: comparison
                .strategies
                .iter()
                .filter_map(|outcome| Bar::of(&Total::of(outcome)))
                .collect(),
            journals: comparison
                .strategies
                .iter()
                .filter(|outcome| !outcome.compactions.is_empty())
                .map(Journal::of)
                .collect(),
            ..Self::showing(comparison, strategies, scale)
        }
    }

    /// A section with the plots of these strategies.
    fn showing(
        comparison: &'a Comparison,
        plotted: impl Iterator<Item = &'a StrategyResult>,
        scale: plot::Scale,
    ) -> Self {
        let totals: Vec<Total> = comparison.strategies.iter().map(Total::of).collect();
        Self {
            title: comparison.session.shown(),
            facts: facts(comparison),
            verdict: verdict(&totals),
            warnings: comparison
                .strategies
                .iter()
                .filter_map(StrategyResult::replaced)
                .collect(),
            table: Table::of(&totals),
            plots: plotted.map(|outcome| Figure::of(outcome, scale)).collect(),
            bars: Vec::new(),
            journals: Vec::new(),
        }
    }
}

impl Table {
    fn of(totals: &[Total]) -> Self {
        let scores = scoreboard(totals);
        let rows = totals.iter().enumerate().map(|(index, total)| {
            let cells = scores
                .iter()
                .filter_map(|score| score.cells.get(index).cloned());
            (Arc::clone(&total.strategy), cells.collect())
        });
        Self {
            rows: rows.collect(),
            headings: scores
                .iter()
                .map(|score| (score.name.to_owned(), score.definition))
                .collect(),
        }
    }
}

impl Figure {
    fn of(outcome: &StrategyResult, scale: plot::Scale) -> Self {
        let mut caption = format!(
            "{}, peak {}",
            figures::plural(outcome.compactions.len(), "compaction"),
            figures::percent(outcome.peak_pressure),
        );
        if outcome.simulated.stalls.count > 0 {
            caption.push_str(&format!(
                ", {}",
                figures::plural(outcome.simulated.stalls.count, "stall")
            ));
        }
        if outcome.overflows.requests > 0 {
            caption.push_str(&format!(
                ", {}",
                figures::plural(outcome.overflows.requests, "overflow")
            ));
        }
        let label = format!(
            "Pressure over requests under {}: {caption}",
            outcome.strategy
        );
        Self {
            strategy: Arc::clone(&outcome.strategy),
            svg: plot::pressure(outcome, scale, &label),
            caption,
        }
    }
}

impl Bar {
    fn of(total: &Total) -> Option<Self> {
        let recall = total.recall.filter(|recall| recall.needed > 0)?;
        let share = |name, class, share: f64| (name, class, share * 100.0, figures::percent(share));
        Some(Self {
            strategy: Arc::clone(&total.strategy),
            needed: figures::plural(recall.needed, "identifier"),
            shares: vec![
                share("named", "named", recall.named),
                share("in context", "context", recall.in_context),
                share("newest: named", "baseline", recall.newest_named),
                share("newest: in context", "baseline", recall.newest_in_context),
            ],
        })
    }
}

impl Journal {
    fn of(outcome: &StrategyResult) -> Self {
        Self {
            strategy: Arc::clone(&outcome.strategy),
            rows: outcome.compactions.iter().map(journal_row).collect(),
        }
    }
}

fn journal_row(compaction: &Compaction) -> Vec<String> {
    let recall = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), figures::percent);
    vec![
        figures::count(compaction.before_request as u64),
        compaction.kind.to_owned(),
        figures::count(compaction.tokens_before),
        figures::count(compaction.tokens_after),
        figures::count(compaction.summary_tokens),
        figures::count(compaction.tail_tokens),
        if compaction.stalled() {
            figures::seconds(compaction.simulated_wait_seconds)
        } else {
            "–".to_owned()
        },
        recall(compaction.recall.map(|recall| recall.named)),
        recall(compaction.recall.map(|recall| recall.in_context)),
    ]
}

fn facts(comparison: &Comparison) -> Vec<String> {
    let session = &comparison.session;
    let mut facts = vec![session.format.to_owned()];
    facts.extend(session.model.clone());
    facts.extend([
        figures::plural(session.turns, "turn"),
        figures::plural(session.requests, "request"),
        format!("{} tokens", figures::count(session.tokens)),
        comparison.simulation.room(),
    ]);
    facts.extend(session.file_name().map(str::to_owned));
    if !session.pins.is_empty() {
        facts.push(figures::plural(session.pins.len(), "pin"));
    }
    if session.problems > 0 {
        facts.push(figures::plural(session.problems, "problem") + " in the file");
    }
    facts
}

fn assumptions(comparisons: &[Comparison]) -> Vec<(&'static str, String)> {
    let Some(simulation) = comparisons.first().map(|first| &first.simulation) else {
        return Vec::new();
    };
    let million = |usd: f64| format!("{} a million tokens", figures::price(usd));
    let speed = |tokens: f64| format!("{tokens:.0} tokens a second");
    let models = models(comparisons);
    let mut assumed = match models.as_slice() {
        [_, _, ..] => vec![(
            "prices",
            format!("of each session's model: {}", models.join(", ")),
        )],
        _ => vec![
            ("model", simulation.model.clone()),
            ("input", million(simulation.usd_per_million_input)),
            (
                "cache write",
                cache_write_prices(comparisons) + " a million tokens",
            ),
            ("cache read", million(simulation.usd_per_million_cache_read)),
            ("output", million(simulation.usd_per_million_output)),
        ],
    };
    assumed.extend([
        ("cache kept", cache_lifetimes(comparisons)),
        (
            "reading",
            speed(simulation.speeds.prefill_tokens_per_second),
        ),
        (
            "reading from cache",
            speed(simulation.speeds.cached_prefill_tokens_per_second),
        ),
        ("writing", speed(simulation.speeds.decode_tokens_per_second)),
    ]);
    assumed
}

#[cfg(test)]
mod tests;
