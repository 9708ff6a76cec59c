//! `ebbtide replay`: replays recorded sessions under several memory strategies.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use context::Tokens;
use context::coded::Coded;
use conversation::homunculus::hosted::StrategyProgram;
use lab::compare::Comparison;
use lab::equal_size::pooled;
use lab::scoreboard::recorded;
use lab::total::{Total, totals};
use lab::{Options, figures};
use serde::Serialize;
use serde_json::json;
use tokens::ModelTable;

use crate::command::{discover, inspect};
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::loading::{self, Loaded};
use crate::progress::ReplayProgress;
use crate::{input, size, strategy, view};

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ReplayArgs {
    /// Session files, or folders to search for *.jsonl, *.json and *.traj; - reads standard input;
    /// without any, lists the sessions on this computer
    #[arg(value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    #[command(flatten)]
    pub assumptions: Assumptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write an HTML page with plots to this file
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Assumptions {
    /// Context window in tokens, such as 64k or 1M [default: the model's]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub window: Option<Tokens>,
    /// Model whose tokenizer, window and prices apply [default: the one that the session names]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// TOML file with your own models or prices, merged over the built-in table
    #[arg(long, value_name = "FILE")]
    pub models: Option<PathBuf>,
    /// Strategies to compare, by name or by file, separated by commas [default: all shipped ones]
    #[arg(long, value_name = "NAME|FILE.plumb", value_delimiter = ',')]
    pub strategy: Vec<String>,
    /// Text that must never be lost, in addition to the user's #pin lines; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub pin: Vec<String>,
    /// Move the soft threshold by what the agent does: its task list, failed tool results, loops
    #[arg(long)]
    pub adaptive: bool,
}

const AFTER_HELP: &str = "\
Strategies:
  prepared            prepares the summary early, swaps it in at the limit
  stop_the_world      waits for a summary at the limit
  truncate            drops the oldest messages
  clear_tool_results  replaces old tool results with a placeholder
  keep_last_n         waits for a summary, keeps it and the last 20 messages
  cold_cache          swaps after a pause, when the provider's cache has expired
  thrifty             like prepared; swaps as soon as a swap saves money
  pinning             like prepared; limits the share of the window for pins
  vulnerable          an example: like prepared; pins signs of vulnerability
  FILE.plumb          your own (docs/strategies.md)

Examples:
  ebbtide replay
  ebbtide replay session.jsonl --window 64k
  ebbtide replay ~/.claude/projects --html report.html
  ebbtide replay session.jsonl --strategy prepared,mine.plumb --json";

/// Above this many sessions, only the totals are shown.
const SHOWN_EACH: usize = 8;

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.report/1";

impl Assumptions {
    fn options(&self, console: &mut Console) -> Result<Options, Failure> {
        let strategies = if self.strategy.is_empty() {
            StrategyProgram::all().collect()
        } else {
            strategy::all(&self.strategy, console)?
        };
        Ok(Options {
            window: self.window,
            model: self.model.clone(),
            models: self.models()?,
            strategies,
            pins: self.pin.clone(),
            adaptive: self.adaptive,
            ..Options::default()
        })
    }

    fn models(&self) -> Result<ModelTable, Failure> {
        let shipped = ModelTable::shipped();
        let Some(path) = &self.models else {
            return Ok(shipped.clone());
        };
        let bytes = input::read(path)?;
        shipped
            .extended(&String::from_utf8_lossy(&bytes))
            .map_err(|error| Failure::of(&error).at(&path.display()))
    }
}

/// A file that was skipped, as JSON.
#[derive(Serialize)]
struct Skipped {
    path: String,
    code: &'static str,
    message: String,
}

pub fn run(
    args: &ReplayArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    if args.sessions.is_empty() {
        return discover::run(args.json, environment, console);
    }
    let options = args.assumptions.options(console)?;
    if args.assumptions.models.is_none() {
        loading::note_model(args.assumptions.model.as_deref(), console);
    }
    let (files, unreadable) = input::gather(&args.sessions)?;
    let mut replay = Replay {
        options,
        progress: ReplayProgress::new(environment.progress, &files),
        comparisons: Vec::new(),
        skipped: Vec::new(),
        problems: Vec::new(),
    };
    for failure in unreadable {
        replay.skip(Path::new(""), &failure);
    }
    for file in &files {
        replay.progress.file();
        match loading::load(file, args.assumptions.model.as_deref()) {
            Ok(loaded) => replay.run(&loaded)?,
            // With a single file, its failure is the command's failure.
            Err(failure) if files.len() == 1 => return Err(failure),
            Err(failure) => replay.skip(file, &failure),
        }
    }
    replay.progress.finish();
    if replay.comparisons.is_empty() {
        replay.report_skipped(console);
        return Err(Failure::NothingUsable { files: files.len() });
    }
    replay.show(args, console)?;
    replay.report_skipped(console);
    Ok(if replay.skipped.is_empty() {
        Exit::Success
    } else {
        Exit::Partial
    })
}

/// A replay of several files.
struct Replay {
    options: Options,
    progress: ReplayProgress,
    comparisons: Vec<Comparison>,
    skipped: Vec<Skipped>,
    /// For each comparison, one line about the problems in its file.
    problems: Vec<Option<String>>,
}

impl Replay {
    fn run(&mut self, loaded: &Loaded) -> Result<(), Failure> {
        for session in &loaded.document.sessions {
            let bar = &self.progress;
            let name = session.label().unwrap_or_else(|| session.title.clone());
            let comparison = lab::replay::run(session, &self.options, &mut |progress| {
                bar.step(&name, &progress);
            })
            .map_err(|error| Failure::of(&error))?;
            self.comparisons.push(comparison);
            self.problems.push((!session.problems.is_empty()).then(|| {
                format!(
                    "Problems in the file: {}. To list them: ebbtide inspect {} --problems",
                    inspect::summary(&session.problems),
                    loaded.path.display()
                )
            }));
        }
        Ok(())
    }

    fn skip(&mut self, file: &Path, failure: &Failure) {
        self.skipped.push(Skipped {
            path: file.display().to_string(),
            code: failure.code().as_str(),
            message: failure.to_string(),
        });
    }

    fn show(&self, args: &ReplayArgs, console: &mut Console) -> Result<(), Failure> {
        if let Some(path) = &args.html {
            write_page(path, &self.comparisons)?;
            console.note(format!("wrote {}", path.display()));
        }
        if args.json {
            for note in totals(&self.comparisons).iter().filter_map(Total::replaced) {
                console.note(note);
            }
            return console.json(&json!({
                "schema": SCHEMA,
                "comparisons": self.comparisons,
                "totals": totals(&self.comparisons),
                "recall_totals": pooled(&self.comparisons),
                "skipped": self.skipped,
            }));
        }
        if self.comparisons.len() > 1
            && let Some(verdict) = recorded(&self.comparisons)
        {
            console.paragraph(&verdict)?;
            console.line("")?;
        }
        if self.comparisons.len() <= SHOWN_EACH {
            for (comparison, problems) in self.comparisons.iter().zip(&self.problems) {
                view::session(comparison, console)?;
                if let Some(problems) = problems {
                    console.line("")?;
                    console.paragraph(problems)?;
                }
                console.line("")?;
            }
        }
        if self.comparisons.len() > 1 {
            view::total(&self.comparisons, console)?;
            console.line("")?;
        }
        view::recall(&self.comparisons, console)?;
        view::legend(&self.comparisons, console)?;
        if self.comparisons.len() > SHOWN_EACH {
            console.line("")?;
            console.paragraph("To see each session, use --html OUT or --json.")?;
        }
        Ok(())
    }

    /// Reports the skipped files on standard error.
    fn report_skipped(&self, console: &mut Console) {
        for skipped in &self.skipped {
            console.note(format!(
                "skipped {}: {} ({})",
                skipped.path, skipped.message, skipped.code
            ));
        }
        if !self.skipped.is_empty() {
            console.note(format!(
                "{} skipped",
                figures::plural(self.skipped.len(), "file")
            ));
        }
    }
}

fn write_page(path: &Path, comparisons: &[Comparison]) -> Result<(), Failure> {
    let unwritable = Failure::unwritable(path);
    let page =
        lab::report::html(comparisons).map_err(|error| unwritable(std::io::Error::other(error)))?;
    fs::write(path, page).map_err(unwritable)
}
