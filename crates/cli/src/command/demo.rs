//! `ebbtide demo`: an agent at work over HTTP, with the gateway and without.

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use context::Tokens;
use gateway::config::RouteChoice;
use tokio::runtime::Runtime;

use crate::console::Console;
use crate::demo::{self, Plan, Screen, closing};
use crate::environment::{Environment, clock};
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;
use crate::{logs, size, strategy};

/// What `ebbtide demo` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Starts a simulated provider and the gateway on free ports of this computer. A
scripted model and a real agent then review the files below a folder over HTTP:
the agent lists, reads and searches them. Nothing is written there, and nothing
leaves the computer. Times are those of a large hosted model, on a faster clock.

Examples:
  ebbtide demo
  ebbtide demo --strategy thrifty
  ebbtide demo --stay
  ebbtide demo --keep kept && ebbtide replay kept/with-session.json")]
pub struct DemoArgs {
    /// The folder whose files the agent reads
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// The model's context window in tokens
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "32k")]
    pub window: Tokens,
    /// The model that the provider plays: its tokens, prices and rules
    #[arg(long, value_name = "NAME", default_value = "claude-opus-5-5")]
    pub model: String,
    /// How often the window is to be crossed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub boundaries: u8,
    /// How many times as fast as a real provider the simulated one answers
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub speed: u32,
    /// How the gateway makes its summaries
    #[arg(long, value_enum, default_value_t = Route::Auto)]
    pub route: Route,
    /// Which strategy of the gateway decides when: one that is shipped, or your own
    #[arg(long, value_name = "NAME|FILE.plumb", default_value = "prepared")]
    pub strategy: String,
    /// Leave the gateway and its dashboard up when all is done, until interrupted
    #[arg(long)]
    pub stay: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Keep the conversations, the gateway's store and the requests as the provider received them in
    /// this folder
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

/// How the gateway makes its summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Route {
    /// Native where the model has it, else readable.
    Auto,
    /// The provider's own signed block.
    Native,
    /// By a template that a model fills.
    Readable,
    /// Without a model.
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

/// Runs the agent twice and compares.
pub fn run(
    args: &DemoArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    if let Some(folder) = &args.keep {
        fs::create_dir_all(folder).map_err(|source| Failure::Unwritable {
            path: folder.clone(),
            source,
        })?;
    }
    let plan = Plan {
        folder: args.dir.clone(),
        model: args.model.clone(),
        window: args.window,
        route: args.route.into(),
        strategy: strategy::named(&args.strategy, console)?,
        speed: f64::from(args.speed),
        boundaries: args.boundaries.into(),
        keep: args.keep.clone(),
    };
    logs::start_quietly(environment);
    let runtime = Runtime::new().map_err(|source| Failure::DemoBroken {
        reason: source.to_string(),
    })?;
    runtime.block_on(async {
        let mut screen = Screen::new(console, environment.progress, &plan);
        let played = demo::play(&plan, &clock(), &mut screen).await?;
        if args.json {
            console.json(&played.report)?;
        } else {
            for line in closing::lines(&played.report, console.width) {
                console.line(line)?;
            }
            closing::what_next(console)?;
        }
        if args.stay {
            console.flush()?;
            console.remark(format!(
                "the dashboard is at {}/ebbtide/",
                played.stage.url()
            ));
            interrupted().await;
        }
        played.stage.shutdown().await;
        Ok(Exit::Done)
    })
}
