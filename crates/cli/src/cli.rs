//! The top-level command line: the list of commands and the program's own help.

use clap::{Parser, Subcommand};

use crate::command::compact::CompactArgs;
use crate::command::completions::CompletionsArgs;
use crate::command::config::ConfigArgs;
use crate::command::demo::DemoArgs;
use crate::command::docs::DocsArgs;
use crate::command::inspect::InspectArgs;
use crate::command::pin::PinArgs;
use crate::command::plumb::PlumbArgs;
use crate::command::purge::PurgeArgs;
use crate::command::replay::ReplayArgs;
use crate::command::serve::ServeArgs;
use crate::command::sim::SimArgs;

/// Manage the memory of long-running LLM agents: serve a gateway that compacts for any client, replay
/// recorded sessions under different strategies, compact or inspect a session.
#[derive(Debug, Parser)]
#[command(
    name = "ebbtide",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = AFTER_HELP
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Start with:
  ebbtide demo                  run an agent with Ebbtide and without
  ebbtide replay                list the sessions on this computer
  ebbtide replay FILE           replay one of them

Exit codes:
  0  success
  1  run-time failure, such as a file or pipe that cannot be read or written
  2  invalid command line or input
  3  success, but some of the files were skipped

Data goes to standard output, everything else to standard error. NO_COLOR and
COLUMNS are respected.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the gateway, which compacts conversations for any client
    Serve(ServeArgs),
    /// Print the gateway's effective configuration
    Config(ConfigArgs),
    /// Add, list and remove pins in a running gateway
    Pin(PinArgs),
    /// Replay recorded sessions under several memory strategies and compare them
    Replay(ReplayArgs),
    /// Check, run, draw, test and format programs in the strategy language
    Plumb(PlumbArgs),
    /// Compact a conversation without a model
    Compact(CompactArgs),
    /// Show what a session contains
    Inspect(InspectArgs),
    /// Watch an agent cross its window over HTTP, with Ebbtide and without
    Demo(DemoArgs),
    /// Serve a simulated provider that is stricter than the real ones, for tests
    Sim(SimArgs),
    /// Delete conversations from a store
    Purge(PurgeArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print generated documentation as Markdown
    #[command(hide = true)]
    Docs(DocsArgs),
}
