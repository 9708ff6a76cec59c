//! The command line as a whole: its commands, and what all of them have in common.

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

/// Memory for long-running LLM agents: serve a gateway that compacts for any client, replay recorded
/// sessions under different memory strategies, compact a conversation without a model, look into a session.
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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Start with:
  ebbtide demo                  an agent at work, with Ebbtide and without
  ebbtide replay                lists the sessions that are on this computer
  ebbtide replay FILE           replays one of them

Exit codes:
  0  done
  1  failed while running: a file or a pipe cannot be read or written
  2  the command line or the input was not understood
  3  done, but some of the given files were skipped

Data goes to standard output, everything else to standard error. NO_COLOR and
COLUMNS are respected.";

/// One command each.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the gateway: compaction for any client
    Serve(ServeArgs),
    /// Print the gateway's configuration that is in effect
    Config(ConfigArgs),
    /// Set and remove pins in a gateway that runs
    Pin(PinArgs),
    /// Replay recorded sessions under several memory strategies and compare them
    Replay(ReplayArgs),
    /// Check, draw, test and format programs of the language of strategies
    Plumb(PlumbArgs),
    /// Compact a conversation without a model
    Compact(CompactArgs),
    /// Say what is in a session
    Inspect(InspectArgs),
    /// Watch an agent cross its window over HTTP, with Ebbtide and without
    Demo(DemoArgs),
    /// Serve a provider that is stricter than the real ones, for tests
    Sim(SimArgs),
    /// Remove conversations that are not wanted any more from a store
    Purge(PurgeArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print generated documentation as Markdown
    #[command(hide = true)]
    Docs(DocsArgs),
}
