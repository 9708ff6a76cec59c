//! `ebbtide bench regret`: what recorded agents missed after compactions.

use std::path::PathBuf;

use clap::Args;
use lab::regret::{Row, Way, measure};
use serde_json::json;
use tokens::{ModelCounter, Tokenizer};

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::loading;
use crate::table::{self, Column};

#[derive(Debug, Args)]
#[command(after_help = "\
Counts what agents did again in the 40 steps after each compaction that the \
client made itself: files read, names searched, commands that failed, closed \
tasks reopened, and sentences that the user had to repeat. It counts only what \
the compaction had hidden.

The recorded agent acted on the client's own summary. \"ours\" is what \
Ebbtide's view in the same place would not have shown either. \"nothing hidden\" \
is what agents do again while they still see everything: the figure of a \
compaction that loses nothing.

Example:
  ebbtide bench regret ~/.claude/projects")]
pub struct RegretArgs {
    /// Session files, or folders to search for them
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.regret/1";

pub fn run(args: &RegretArgs, console: &mut Console) -> Result<Exit, Failure> {
    let sessions = loading::sessions(&args.sessions, console)?;
    // One vocabulary for all sessions, so that they compare.
    let rows = measure(&sessions, &ModelCounter::new(Tokenizer::Cl100k));
    let rows: Vec<(Way, Row)> = rows.into_iter().collect();
    if args.json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|(way, row)| json!({ "way": way, "places": row.places, "regret": row.regret }))
            .collect();
        console.json(&json!({ "schema": SCHEMA, "rows": rows }))?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        console.line("No session was compacted or is long enough.")?;
        return Ok(Exit::Success);
    }
    let names: Vec<String> = rows
        .iter()
        .map(|(way, _)| way.as_str().to_owned())
        .collect();
    let per = |heading: &str, of: fn(&Row) -> usize| {
        Column::of(heading, &rows, |(_, row)| {
            let found = row.regret.per_hundred(of(row));
            found.map_or_else(|| "–".to_owned(), |found| format!("{found:.1}"))
        })
    };
    let columns = [
        Column::of("places", &rows, |(_, row)| row.places.to_string()),
        Column::of("steps", &rows, |(_, row)| row.regret.steps.to_string()),
        per("read", |row| row.regret.read_again),
        per("searched", |row| row.regret.searched_again),
        per("failed", |row| row.regret.failed_again),
        per("corrected", |row| row.regret.corrected),
        per("reopened", |row| row.regret.reopened),
        per("all", |row| row.regret.total()),
    ];
    console.lines(table::render(
        "per 100 steps",
        &names,
        &columns,
        console.width,
    ))?;
    Ok(Exit::Success)
}
