//! `ebbtide demo`: runs an agent over HTTP, with the gateway and without.

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use context::Tokens;
use gateway::config::RouteChoice;
use tokens::{Known, ModelTable, Provider};

use crate::command::runtime;
use crate::console::Console;
use crate::demo::{self, Plan, Screen, text};
use crate::environment::{Environment, clock};
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;
use crate::loading::note_model;
use crate::{logs, size, strategy};

#[derive(Debug, Args)]
#[command(after_help = "\
Starts a simulated provider and the gateway on free local ports. A real agent, \
driven by a scripted model, then reviews the files in a folder over HTTP: it \
lists, reads and searches them. The demo writes nothing there, and no data \
leaves this computer. The provider has the response times of a large hosted \
model, on a faster clock.

Examples:
  ebbtide demo
  ebbtide demo --strategy thrifty
  ebbtide demo --strategy prepared,thrifty
  ebbtide demo --stay
  ebbtide demo --keep kept && ebbtide replay kept/with-session.json")]
pub struct DemoArgs {
    /// Folder whose files the agent reads
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Context window of the model, in tokens
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "32k")]
    pub window: Tokens,
    /// Model to simulate: its tokenizer, prices and rules
    #[arg(long, value_name = "NAME", default_value = "claude-opus-5-5")]
    pub model: String,
    /// Number of times the agent crosses the window
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub boundaries: u8,
    /// Speed of the simulated provider, relative to a real one
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub speed: u32,
    /// Route to summaries in the gateway
    #[arg(long, value_enum, default_value_t = Route::Auto)]
    pub route: Route,
    /// Memory strategies of the gateway, separated by commas: shipped ones, or your own files. The
    /// first decides how many tasks there are, and the others repeat them
    #[arg(
        long,
        value_name = "NAME|FILE.plumb",
        default_value = "prepared",
        value_delimiter = ','
    )]
    pub strategy: Vec<String>,
    /// Keep the gateway and its dashboard running until you press Ctrl-C
    #[arg(long)]
    pub stay: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write a picture of both runs: the pressure over the time that the user waited
    #[arg(long, value_name = "OUT.svg")]
    pub svg: Option<PathBuf>,
    /// Save the conversations, the gateway's store and the requests that the provider received in this
    /// folder
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Route {
    /// Native if the model supports it, otherwise readable
    Auto,
    /// The provider's own signed compaction block
    Native,
    /// A template that a model fills in
    Readable,
    /// Without a model
    Extractive,
}

impl From<Route> for RouteChoice {
    fn from(route: Route) -> Self {
        match route {
            Route::Auto => Self::Auto,
            Route::Native => Self::Native,
            Route::Readable => Self::Readable,
            Route::Extractive => Self::Extractive,
        }
    }
}

/// The smallest window in which both agents can work: a task with its tool results takes a large part of it.
const SMALLEST: Tokens = Tokens::new(20_000);

/// Refuses what the simulated provider would refuse in the middle of the demo.
fn check(args: &DemoArgs, console: &mut Console) -> Result<(), Failure> {
    let table = ModelTable::shipped();
    let model = table.find(&args.model);
    if model.known == Known::Unknown || model.provider != Provider::Anthropic {
        let listed = table.models().map(|model| model.name.as_str());
        let near = context::nearest(
            &args.model,
            listed.filter(|name| name.starts_with("claude-")),
        );
        let near = near.unwrap_or("claude-opus-5-5");
        return Err(Failure::NotInDemo {
            what: format!("has no model `{}`", args.model),
            instead: format!("Name a Claude model, such as `--model {near}`."),
        });
    }
    if args.window < SMALLEST {
        return Err(Failure::NotInDemo {
            what: format!("does not work in a window of {} tokens", args.window),
            instead: "Use `--window 20k` or more: the files that the agent reads take much of it."
                .to_owned(),
        });
    }
    note_model(Some(&args.model), console);
    Ok(())
}

pub fn run(
    args: &DemoArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    check(args, console)?;
    if let Some(folder) = &args.keep {
        fs::create_dir_all(folder).map_err(Failure::unwritable(folder))?;
    }
    let mut strategies = strategy::all(&args.strategy, console)?.into_iter();
    let Some(first) = strategies.next() else {
        return Err(Failure::of(&lab::ReplayError::UnknownStrategy(
            String::new(),
        )));
    };
    let plan = Plan {
        folder: args.dir.clone(),
        model: args.model.clone(),
        window: args.window,
        route: args.route.into(),
        strategy: first,
        others: strategies.collect(),
        speed: f64::from(args.speed),
        boundaries: args.boundaries.into(),
        keep: args.keep.clone(),
    };
    logs::start_quietly(environment);
    runtime()?.block_on(async {
        let mut screen = Screen::new(console, environment.progress, &plan);
        let (report, servers) = demo::run(&plan, &clock(), &mut screen).await?;
        if let Some(path) = &args.svg {
            fs::write(path, demo::picture::svg(&report)).map_err(Failure::unwritable(path))?;
            console.note(format!("wrote {}", path.display()));
        }
        if args.json {
            console.json(&report)?;
        } else {
            console.lines(text::lines(&report, console.width))?;
            text::what_next(console)?;
        }
        if args.stay {
            console.flush()?;
            let url = servers.url();
            let interrupt = interrupted();
            console.note(format!("Dashboard: {url}/ebbtide/ (press Ctrl-C to stop)"));
            interrupt.await;
        }
        servers.shutdown().await;
        Ok(Exit::Success)
    })
}
