//! `ebbtide bench receipt`: what the first entries of a receipt hold of what was needed.

use std::path::PathBuf;

use clap::Args;
use lab::figures;
use lab::receipt::{Beside, Worth, measure};
use serde_json::json;
use tokens::{ModelCounter, Tokenizer};

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::loading;
use crate::table::{self, Column};

#[derive(Debug, Args)]
#[command(after_help = "\
Cuts sessions where the client compacted them, and at every 30,000 tokens. Of \
the identifiers and decisions that the agent needed in its next 40 messages and \
could no longer see, counts those that the first 20 entries of the receipt hold. \
\"newest first\" is the same list by age.

Example:
  ebbtide bench receipt ~/.claude/projects")]
pub struct ReceiptArgs {
    /// Session files, or folders to search for them
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.receipt/1";

pub fn run(args: &ReceiptArgs, console: &mut Console) -> Result<Exit, Failure> {
    let sessions = loading::sessions(&args.sessions, console)?;
    // One vocabulary for all sessions, so that they compare.
    let rows = measure(&sessions, &ModelCounter::new(Tokenizer::Cl100k));
    let rows: Vec<(Beside, Worth)> = rows.into_iter().collect();
    if args.json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|(beside, worth)| json!({ "beside": beside, "worth": worth }))
            .collect();
        console.json(&json!({ "schema": SCHEMA, "rows": rows }))?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        console.line("No session was compacted or is long enough.")?;
        return Ok(Exit::Success);
    }
    let names: Vec<String> = rows.iter().map(|(it, _)| it.as_str().to_owned()).collect();
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), figures::percent);
    let columns = [
        Column::of("places", &rows, |(_, it)| it.places.to_string()),
        Column::of("needed", &rows, |(_, it)| it.needed.to_string()),
        Column::of("receipt", &rows, |(_, it)| share(it.share())),
        Column::of("newest first", &rows, |(_, it)| share(it.newest_share())),
    ];
    console.lines(table::render("beside", &names, &columns, console.width))?;
    Ok(Exit::Success)
}
