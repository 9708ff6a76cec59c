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
Puts sentences in ten languages (rules, orders, facts, preferences, decisions)
into recorded sessions, as messages of the user, and replays them. \"Verbatim\" is
the share of the sentences within the room for the user's words that the newest
request holds; \"listed\" counts those for which there was no room, and
\"inverted\" those that lost their negation.

\"extractive\" makes summaries without a model. \"forgets\" stands for a model that
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
    let columns = [
        Column::of("sentences", &all, |(_, it)| it.said.to_string()),
        Column::of("verbatim", &all, |(_, it)| figures::percent(it.share())),
        Column::of("listed", &all, |(_, it)| it.listed.to_string()),
        Column::of("inverted", &all, |(_, it)| it.inverted.to_string()),
    ];
    console.lines(table::render("run", &names, &columns, console.width))
}
