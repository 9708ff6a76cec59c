//! `ebbtide bench`: measures what a summary is for.

mod behaviour;
mod receipt;
mod regret;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use context::{Heuristic, Tokens};
use lab::figures;
use lab::survival::{Row, Survived, Tally, survival};
use serde_json::json;

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::loading;
use crate::size;
use crate::table::{self, Column};

#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Measure how many sentences of a user stand verbatim after 1, 3 and 10 compactions
    Survival(SurvivalArgs),
    /// Ask a model to follow rules, tell facts, leave closed tasks closed and know the state of its
    /// memory, before and after a compaction
    Behaviour(behaviour::BehaviourArgs),
    /// Measure how much of what was needed and lost the first entries of a receipt hold
    Receipt(receipt::ReceiptArgs),
    /// Count what recorded agents missed after compactions: the client's own, and Ebbtide's in the
    /// same places
    Regret(regret::RegretArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Puts sentences in ten languages (rules, orders, facts, preferences, decisions) \
into recorded sessions, as messages of the user, and replays them. \"Verbatim\" \
counts the sentences that the newest request holds; \"listed\" counts those for \
which the user's words had no room, \"of the rest\" is the share of all others that \
stands verbatim, and \"inverted\" counts those that lost their negation. A dash \
means that there was nothing to judge.

\"extractive\" makes summaries without a model. \"forgets\" stands for a model that \
writes down nothing.

Example:
  ebbtide bench survival session.jsonl --window 16k")]
pub struct SurvivalArgs {
    /// Session files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Window to replay in
    #[arg(long, value_name = "SIZE", default_value = "16k", value_parser = size::parse)]
    window: Tokens,
    /// Sentences in each replay, of 200 in all
    #[arg(long, value_name = "N", default_value_t = 20)]
    each: usize,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.survival/1";

pub fn run(args: &BenchArgs, console: &mut Console) -> Result<Exit, Failure> {
    match &args.command {
        Bench::Survival(args) => run_survival(args, console),
        Bench::Behaviour(args) => behaviour::run(args, console),
        Bench::Receipt(args) => receipt::run(args, console),
        Bench::Regret(args) => regret::run(args, console),
    }
}

fn run_survival(args: &SurvivalArgs, console: &mut Console) -> Result<Exit, Failure> {
    let mut sessions = Vec::new();
    for file in &args.files {
        sessions.extend(loading::load(file, None)?.document.sessions);
    }
    let survived = survival(&sessions, args.window, args.each, &Heuristic);
    let survived = survived.map_err(|error| Failure::of(&error))?;
    if args.json {
        console.json(&json!({ "schema": SCHEMA, "rows": rows(&survived) }))?;
    } else {
        print(&survived, console)?;
    }
    Ok(Exit::Success)
}

fn rows(survived: &Survived) -> Vec<serde_json::Value> {
    survived
        .iter()
        .map(|(row, tally)| json!({ "run": row, "sentences": tally, "verbatim": tally.share() }))
        .collect()
}

fn print(survived: &Survived, console: &mut Console) -> Result<(), Failure> {
    let all: Vec<(&Row, &Tally)> = survived.iter().collect();
    let names: Vec<String> = all
        .iter()
        .map(|(row, _)| format!("{}, {}, after {}", row.route, row.place.as_str(), row.after))
        .collect();
    let columns = columns(&all);
    console.lines(table::render("run", &names, &columns, console.width))
}

/// A share alone would pass 4 of 20 sentences for 100 %, where the other 16 are listed.
fn columns(rows: &[(&Row, &Tally)]) -> [Column; 4] {
    const NOTHING: &str = "–";
    let count = |heading: &str, of: fn(&Tally) -> String| {
        Column::of(heading, rows, |(_, tally)| match tally.said {
            0 => NOTHING.to_owned(),
            _ => of(tally),
        })
    };
    [
        count("verbatim", |it| format!("{} of {}", it.kept, it.said)),
        count("listed", |it| it.listed.to_string()),
        count("of the rest", |it| {
            it.share()
                .map_or_else(|| NOTHING.to_owned(), figures::percent)
        }),
        count("inverted", |it| it.inverted.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use lab::survival::{Placement, Row, Tally};

    use super::columns;

    #[test]
    fn listed_sentences_do_not_pass_for_verbatim_ones() {
        let row = Row {
            route: "compact",
            place: Placement::Early,
            after: 10,
        };
        let tally = |said, kept, listed| Tally {
            said,
            kept,
            listed,
            inverted: 0,
        };
        let tallies = [tally(20, 4, 16), tally(20, 0, 20), tally(0, 0, 0)];
        let rows: Vec<_> = tallies.iter().map(|tally| (&row, tally)).collect();
        let cells = columns(&rows).map(|column| column.cells.join(" | "));
        assert_eq!(
            cells,
            [
                "4 of 20 | 0 of 20 | –",
                "16 | 20 | –",
                "100 % | – | –",
                "0 | 0 | –"
            ]
        );
    }
}
