//! `ebbtide demo`: a session that the program makes itself, replayed.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use context::Tokens;
use lab::compare::{Compaction, Comparison, Outcome};
use lab::figures;

use crate::command::replay::{self, Assumptions};
use crate::console::{Console, Tone};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::progress::Watch;
use crate::table::{self, Column, columns};
use crate::{demo, loading, view};

/// What `ebbtide demo` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
A scripted agent reviews the files below a folder: it lists, searches, reads,
takes notes and runs a check. Its session is replayed under each strategy. No
model is called, nothing is sent, and no file is changed.

Examples:
  ebbtide demo
  ebbtide demo --dir ~/src/project --html demo.html
  ebbtide demo --save demo.jsonl && ebbtide inspect demo.jsonl")]
pub struct DemoArgs {
    /// The folder whose files the agent reads
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    #[command(flatten)]
    pub assumptions: Assumptions,
    /// Keep the session that was made in this file, as a Claude Code log
    #[arg(long, value_name = "OUT")]
    pub save: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a page with plots to this file
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
}

/// Small enough that the made session fills it several times.
const WINDOW: Tokens = Tokens::new(32_000);

/// Makes a session and replays it.
///
/// # Errors
/// Where the folder holds too little text, or something cannot be read or written.
pub fn run(
    args: &DemoArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mut options = args.assumptions.options()?;
    options.window.get_or_insert(WINDOW);
    let made = demo::make(&args.dir)?;
    if let Some(path) = &args.save {
        fs::write(path, &made.log).map_err(|source| Failure::Unwritable {
            path: path.clone(),
            source,
        })?;
    }
    let loaded = loading::from_bytes(&args.dir, &made.log, "demo", options.model.as_deref())?;
    let Some(session) = loaded.document.sessions.first() else {
        return Err(Failure::NothingUsable { files: 1 });
    };
    let watch = Watch::new(environment.progress, 1);
    let comparison = lab::replay::run(session, &options, &mut |step| watch.step(step))
        .map_err(|error| Failure::refused(&error))?;
    watch.finish();
    if let Some(path) = &args.html {
        replay::write_page(path, std::slice::from_ref(&comparison))?;
        console.remark(format!("wrote {}", path.display()));
    }
    if args.json {
        replay::print_json(&comparison, console)?;
        return Ok(Exit::Done);
    }
    introduce(args, &made, &comparison, console)?;
    if let Some(outcome) = comparison.strategies.first() {
        story(outcome, console)?;
    }
    view::session(&comparison, console)?;
    console.line("")?;
    view::recall(std::slice::from_ref(&comparison), console)?;
    view::legend(&comparison.simulation, console)?;
    what_next(args, console)?;
    Ok(Exit::Done)
}

fn introduce(
    args: &DemoArgs,
    made: &demo::Made,
    comparison: &Comparison,
    console: &mut Console,
) -> Result<(), Failure> {
    let session = &comparison.session;
    view::paragraph(
        &format!(
            "A scripted agent has just reviewed the files in {}: {}, {} and {} tokens of \
             conversation. Its model's window holds {} tokens, so it must forget on the way. This is \
             what each memory strategy would have done.",
            args.dir.display(),
            figures::plural(made.files, "read file").replace("read files", "files read"),
            figures::plural(session.requests, "request"),
            figures::count(session.tokens),
            figures::count(comparison.simulation.window),
        ),
        console,
    )?;
    console.line("")
}

/// What happened at each boundary under one strategy.
fn story(outcome: &Outcome, console: &mut Console) -> Result<(), Failure> {
    let heading = format!("What happens under {}", outcome.strategy);
    console.line(console.palette.paint(Tone::Heading, &heading))?;
    let column = |show: &dyn Fn(&Compaction) -> String| {
        outcome.compactions.iter().map(show).collect::<Vec<_>>()
    };
    let names = column(&|compaction| {
        format!(
            "before request {}",
            figures::count(compaction.before_request as u64)
        )
    });
    let recall = |compaction: &Compaction| {
        compaction.recall.map_or_else(
            || "–".to_owned(),
            |recall| format!("{} of {}", figures::percent(recall.named), recall.needed),
        )
    };
    let columns = [
        Column::new(
            "tokens|before",
            column(&|one| figures::count(one.tokens_before)),
        ),
        Column::new(
            "tokens|after",
            column(&|one| figures::count(one.tokens_after)),
        ),
        Column::new("somebody|waited", column(&|one| waited(one))),
        Column::new("needed later,|still named", column(&recall)),
    ];
    for line in table::render("the limit is reached", &names, &columns, console.width) {
        console.line(line)?;
    }
    console.line("")
}

fn waited(compaction: &Compaction) -> String {
    if compaction.stalled() {
        figures::seconds(compaction.simulated_wait_seconds)
    } else {
        "no".to_owned()
    }
}

fn what_next(args: &DemoArgs, console: &mut Console) -> Result<(), Failure> {
    console.line("")?;
    console.line(console.palette.paint(Tone::Heading, "What to try next"))?;
    let saved = args.save.as_ref().map_or_else(
        || "demo.jsonl".to_owned(),
        |path| path.display().to_string(),
    );
    let tries = [
        ("ebbtide demo --html demo.html".to_owned(), "with plots"),
        (format!("ebbtide demo --save {saved}"), "keeps the session"),
        (
            format!("ebbtide compact {saved} --summary-only"),
            "its summary",
        ),
        ("ebbtide replay".to_owned(), "sessions of your own"),
    ];
    let widest = tries.iter().map(|(command, _)| columns(command)).max();
    let widest = widest.unwrap_or(0);
    let room = tries.iter().map(|(_, what)| columns(what)).max();
    let beside = 2 + widest + 2 + room.unwrap_or(0) <= console.width;
    for (command, what) in tries {
        if beside {
            console.line(format!("  {command:<widest$}  {what}"))?;
        } else {
            console.line(format!("  {what}"))?;
            console.line(format!("    {command}"))?;
        }
    }
    Ok(())
}
