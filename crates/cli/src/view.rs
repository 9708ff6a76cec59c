//! Prints a comparison of strategies: a heading, the score table and notes.

use conversation::homunculus::hosted::SHIPPED;
use lab::compare::{Comparison, StrategyResult, cache_lifetimes, cache_write_prices, models};
use lab::equal_size::board;
use lab::scoreboard::{scoreboard, verdict};
use lab::total::{Total, totals};
use lab::{figures, options};

use crate::console::{Console, Tone};
use crate::failure::Failure;
use crate::table::{self, Column};

/// Prints one session with its strategies side by side.
pub fn session(comparison: &Comparison, console: &mut Console) -> Result<(), Failure> {
    let session = &comparison.session;
    let title = table::shorten(session.shown(), console.width);
    console.line(console.palette.paint(Tone::Heading, &title))?;
    let mut facts = vec![session.format.to_owned()];
    facts.extend(session.model.clone());
    facts.extend([
        figures::plural(session.turns, "turn"),
        format!("{} tokens", figures::count(session.tokens)),
        comparison.simulation.room(),
    ]);
    facts.extend(session.file_name().map(str::to_owned));
    if !session.pins.is_empty() {
        facts.push(figures::plural(session.pins.len(), "pin"));
    }
    console.paragraph(&facts.join(" · "))?;
    console.line("")?;
    let totals: Vec<Total> = comparison.strategies.iter().map(Total::of).collect();
    scores(&totals, console)?;
    for note in notes(comparison, &totals) {
        console.line("")?;
        console.paragraph(&note)?;
    }
    Ok(())
}

/// Prints the totals over all sessions.
pub fn total(comparisons: &[Comparison], console: &mut Console) -> Result<(), Failure> {
    let heading = format!("Total of {}", figures::plural(comparisons.len(), "session"));
    console.line(console.palette.paint(Tone::Heading, &heading))?;
    console.line("")?;
    let totals = totals(comparisons);
    scores(&totals, console)?;
    for note in totals.iter().filter_map(Total::replaced) {
        console.line("")?;
        console.paragraph(&note)?;
    }
    Ok(())
}

fn scores(totals: &[Total], console: &mut Console) -> Result<(), Failure> {
    let names: Vec<String> = totals
        .iter()
        .map(|total| total.strategy.to_string())
        .collect();
    let columns: Vec<Column> = scoreboard(totals)
        .into_iter()
        .map(|score| Column {
            heading: score.heading.iter().map(|&word| word.to_owned()).collect(),
            cells: score.cells,
        })
        .collect();
    console.lines(table::render("strategy", &names, &columns, console.width))
}

/// Prints how much each way to compact recalls at equal size, followed by an empty line. Prints
/// nothing if nothing could be measured.
pub fn recall(comparisons: &[Comparison], console: &mut Console) -> Result<(), Failure> {
    let Some(board) = board(comparisons) else {
        return Ok(());
    };
    let heading = "Recall by summary size, independent of the strategy";
    for line in table::wrap(heading, console.width) {
        console.line(console.palette.paint(Tone::Heading, &line))?;
    }
    let names: Vec<String> = board.ways.iter().map(|&way| way.to_owned()).collect();
    let columns = board.columns.into_iter().map(|column| Column {
        heading: vec![column.budget, column.figure.to_owned()],
        cells: column.cells,
    });
    let columns: Vec<Column> = columns.collect();
    console.lines(table::render("method", &names, &columns, console.width))?;
    console.line("")?;
    console.paragraph(&board.note)?;
    console.line("")
}

/// The notes below a session's table, one paragraph each.
fn notes(comparison: &Comparison, totals: &[Total]) -> Vec<String> {
    let mut notes: Vec<String> = verdict(totals).into_iter().collect();
    let session = &comparison.session;
    let fitted = |outcome: &StrategyResult| outcome.boundaries == 0 && outcome.peak_pressure <= 1.0;
    if comparison.strategies.iter().all(fitted) {
        notes.push(never_full(comparison));
    }
    for outcome in &comparison.strategies {
        notes.extend(outcome.replaced());
        notes.extend(outcome.moved());
        // Authors need the command counts of their own strategies; for shipped ones the JSON suffices.
        if !SHIPPED.iter().any(|(name, _)| *name == &*outcome.strategy) {
            notes.push(outcome.ordered());
        }
        if let Some(reason) = &outcome.stopped {
            notes.push(format!(
                "{} stopped compacting: {reason}.",
                outcome.strategy
            ));
        }
    }
    let unavoidable = totals.iter().map(|total| total.overflows.unavoidable).max();
    if let Some(unavoidable) = unavoidable.filter(|&requests| requests > 0) {
        notes.push(format!(
            "No strategy could make {} fit: the content that must stay is larger than the window.",
            figures::plural(unavoidable, "request")
        ));
    }
    if !session.product_compactions.is_empty() {
        notes.push(format!(
            "The client that recorded the session compacted it {}.",
            match session.product_compactions.len() {
                1 => "once".to_owned(),
                more => format!("{more} times"),
            }
        ));
    }
    notes
}

/// The note on a session that never filled its window.
fn never_full(comparison: &Comparison) -> String {
    let tokens = context::Tokens::new(comparison.session.tokens);
    let mut note = format!(
        "The session ({} tokens) never filled the window ({}), so no strategy had anything to do.",
        figures::count(tokens.get()),
        figures::count(comparison.simulation.window),
    );
    // A much smaller window holds little more than the newest step.
    let quarter = tokens.get() / 4_000;
    if quarter * 1_000 >= options::SMALLEST_WINDOW.get() * 4 {
        note.push_str(&format!(" Try a smaller window: --window {quarter}k"));
    }
    note
}

/// Prints the assumptions and the meaning of the last columns, once, below all tables.
pub fn legend(comparisons: &[Comparison], console: &mut Console) -> Result<(), Failure> {
    let Some(simulation) = comparisons.first().map(|first| &first.simulation) else {
        return Ok(());
    };
    let models = models(comparisons);
    let prices = match models.as_slice() {
        [_, _, ..] => format!("the prices of each session's model ({})", models.join(", ")),
        _ => format!(
            "prices of {} per million tokens (input {}, cache read {}, cache write {}, output {})",
            simulation.model,
            figures::price(simulation.usd_per_million_input),
            figures::price(simulation.usd_per_million_cache_read),
            cache_write_prices(comparisons),
            figures::price(simulation.usd_per_million_output),
        ),
    };
    let assumed = format!(
        "No model was called. Stalls, waits, input, cache and cost are simulated: {prices}, {:.0} \
         output tokens per second, a cache lifetime of {}.",
        simulation.speeds.decode_tokens_per_second,
        cache_lifetimes(comparisons),
    );
    console.paragraph(&assumed)?;
    console.paragraph(
        "Recall: of the identifiers that the agent used after a compaction, the share that its \
         context still contained, and the share that it contained next to the original words.",
    )
}
