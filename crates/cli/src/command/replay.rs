//! `ebbtide replay`: recorded sessions under several memory strategies.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use context::Tokens;
use context::coded::Coded;
use conversation::homunculus::hosted::StrategyProgram;
use lab::compare::Comparison;
use lab::equal_size::{Pooled, pooled};
use lab::total::{Total, totals};
use lab::{Options, RecallMeasure, figures};
use serde::Serialize;
use tokens::ModelTable;

use crate::command::{discover, inspect};
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::loading::{self, Loaded};
use crate::progress::Watch;
use crate::{input, size, strategy, view};

/// What `ebbtide replay` takes.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ReplayArgs {
    /// Session files, and folders to search for them (*.jsonl, *.json, *.traj); - reads standard
    /// input; without any, lists the sessions on this computer
    #[arg(value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    #[command(flatten)]
    pub assumptions: Assumptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a page with plots to this file
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
}

/// What a replay assumes.
#[derive(Debug, Args)]
pub struct Assumptions {
    /// The context window in tokens, such as 64k or 1M [default: the model's]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub window: Option<Tokens>,
    /// The model whose tokens, window and prices are used [default: the one that the session names]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// A TOML file with models of your own, or other prices, laid over the table that is built in
    #[arg(long, value_name = "FILE")]
    pub models: Option<PathBuf>,
    /// The strategies to compare, by name or by file, separated by commas [default: all that are
    /// shipped]
    #[arg(long, value_name = "NAME|FILE.plumb", value_delimiter = ',')]
    pub strategy: Vec<String>,
    /// A text that must never be lost, besides the #pin lines of the user; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub pin: Vec<String>,
}

const AFTER_HELP: &str = "\
Strategies:
  prepared            writes the summary ahead, swaps it in at the limit
  stop_the_world      at the limit, waits until a summary is written
  truncate            drops the oldest messages
  clear_tool_results  replaces old tool results by a placeholder
  keep_last_n         waits for a summary, keeps it and the last 20 messages
  cold_cache          swaps after a pause, when the provider has forgotten it
  thrifty             as prepared; swaps as soon as that pays
  pinning             as prepared; agrees with whoever pins on how much
  FILE.plumb          your own (docs/strategies.md)

Examples:
  ebbtide replay
  ebbtide replay session.jsonl --window 64k
  ebbtide replay ~/.claude/projects --html report.html
  ebbtide replay session.jsonl --strategy prepared,mine.plumb --json";

/// More sessions than this are shown together only.
const SHOWN_EACH: usize = 8;

/// The name and version of the shape of `--json`.
const SCHEMA: &str = "ebbtide.report/1";

impl Assumptions {
    /// As the lab takes them.
    pub fn options(&self, console: &mut Console) -> Result<Options, Failure> {
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
            ..Options::default()
        })
    }
}

impl Assumptions {
    fn models(&self) -> Result<ModelTable, Failure> {
        let shipped = ModelTable::shipped();
        let Some(path) = &self.models else {
            return Ok(shipped.clone());
        };
        let bytes = input::read(path)?;
        shipped
            .extended(&String::from_utf8_lossy(&bytes))
            .map_err(|error| Failure::reported(&error, path))
    }
}

/// A file that was left out.
#[derive(Serialize)]
struct Skipped {
    path: String,
    code: &'static str,
    message: String,
}

/// The shape of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    comparisons: &'a [Comparison],
    totals: Vec<Total>,
    recall_totals: Vec<Pooled>,
    skipped: &'a [Skipped],
}

/// Replays.
pub fn run(
    args: &ReplayArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    if args.sessions.is_empty() {
        return discover::run(args.json, environment, console);
    }
    let options = args.assumptions.options(console)?;
    let (files, unreadable) = input::gather(&args.sessions)?;
    let mut replay = Replay {
        options,
        watch: Watch::new(environment.progress, files.len()),
        comparisons: Vec::new(),
        skipped: Vec::new(),
        problems: Vec::new(),
    };
    for failure in unreadable {
        replay.skip(Path::new(""), &failure);
    }
    for file in &files {
        replay.watch.file(file);
        match loading::load(file, args.assumptions.model.as_deref()) {
            Ok(loaded) => replay.run(&loaded)?,
            // One file that was named is the whole of the work: its failure is the command's.
            Err(failure) if files.len() == 1 => return Err(failure),
            Err(failure) => replay.skip(file, &failure),
        }
    }
    replay.watch.finish();
    if replay.comparisons.is_empty() {
        replay.complain(console);
        return Err(Failure::NothingUsable { files: files.len() });
    }
    replay.show(args, console)?;
    replay.complain(console);
    Ok(if replay.skipped.is_empty() {
        Exit::Done
    } else {
        Exit::Partial
    })
}

/// A replay of several files.
struct Replay {
    options: Options,
    watch: Watch,
    comparisons: Vec<Comparison>,
    skipped: Vec<Skipped>,
    /// For each comparison, its file's problems in a line.
    problems: Vec<Option<String>>,
}

impl Replay {
    fn run(&mut self, loaded: &Loaded) -> Result<(), Failure> {
        for session in &loaded.document.sessions {
            let watch = &self.watch;
            let comparison = lab::replay::run(session, &self.options, &mut |progress| {
                watch.step(&progress);
            })
            .map_err(|error| Failure::refused(&error))?;
            self.comparisons.push(comparison);
            self.problems.push((!session.problems.is_empty()).then(|| {
                format!(
                    "In the file, {}. All: ebbtide inspect {} --problems",
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
            console.remark(format!("wrote {}", path.display()));
        }
        if args.json {
            for note in totals(&self.comparisons).iter().filter_map(Total::replaced) {
                console.remark(note);
            }
            return console.json(&Report {
                schema: SCHEMA,
                comparisons: &self.comparisons,
                totals: totals(&self.comparisons),
                recall_totals: pooled(&self.comparisons),
                skipped: &self.skipped,
            });
        }
        if self.comparisons.len() <= SHOWN_EACH {
            for (comparison, problems) in self.comparisons.iter().zip(&self.problems) {
                view::session(comparison, console)?;
                if let Some(problems) = problems {
                    console.line("")?;
                    view::paragraph(problems, console)?;
                }
                console.line("")?;
            }
        }
        if self.comparisons.len() > 1 {
            view::total(&self.comparisons, console)?;
            console.line("")?;
        }
        view::recall(&self.comparisons, console)?;
        if let Some(first) = self.comparisons.first() {
            view::legend(&first.simulation, console)?;
        }
        if self.comparisons.len() > SHOWN_EACH {
            console.line("")?;
            view::paragraph("Each session by itself: --html OUT or --json.", console)?;
        }
        Ok(())
    }

    /// Says which files were left out.
    fn complain(&self, console: &mut Console) {
        for skipped in &self.skipped {
            console.remark(format!(
                "skipped {}: {} ({})",
                skipped.path, skipped.message, skipped.code
            ));
        }
        if !self.skipped.is_empty() {
            console.remark(format!(
                "{} skipped",
                figures::plural(self.skipped.len(), "file")
            ));
        }
    }
}

/// Writes the page with the plots.
fn write_page(path: &Path, comparisons: &[Comparison]) -> Result<(), Failure> {
    let unwritable = |source| Failure::Unwritable {
        path: path.to_owned(),
        source,
    };
    let page =
        lab::report::html(comparisons).map_err(|error| unwritable(std::io::Error::other(error)))?;
    fs::write(path, page).map_err(unwritable)
}
