//! The top-level command line: the list of commands and the program's own help.

use clap::{Parser, Subcommand};

use crate::command::{archive, bench, compact, completions, config, connect, demo, docs, doctor};
use crate::command::{
    inspect, mcp, pin, plumb, purge, replay, serve, sim, statusline, store, wrap,
};

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

Data goes to standard output, everything else to standard error. NO_COLOR and \
COLUMNS are respected.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the gateway, which compacts conversations for any client
    Serve(serve::ServeArgs),
    /// Run a client through the gateway, without changing any settings
    Wrap(wrap::WrapArgs),
    /// Connect a client to the gateway by changing its settings, or undo that
    Connect(connect::ConnectArgs),
    /// Check that the gateway works and which clients use it
    Doctor(doctor::DoctorArgs),
    /// Print the gateway's effective configuration
    Config(config::ConfigArgs),
    /// Add, list and remove pins in a running gateway
    Pin(pin::PinArgs),
    /// List what a summary in a running gateway leaves out
    Lost(archive::LostArgs),
    /// Print an original from a running gateway, byte for byte
    Expand(archive::ExpandArgs),
    /// Find what was said in a conversation of a running gateway
    Recall(archive::RecallArgs),
    /// Show all of a conversation again in place of its newest summary
    #[command(after_help = archive::UNDO_HELP)]
    Undo(archive::OrderArgs),
    /// Show the summary again that `undo` took back
    #[command(after_help = archive::REDO_HELP)]
    Redo(archive::OrderArgs),
    /// Serve a running gateway's memory tools over MCP on standard input and output
    Mcp(mcp::McpArgs),
    /// Print one line about a session's memory, for the status line of Claude Code
    Statusline(statusline::StatuslineArgs),
    /// Replay recorded sessions under several memory strategies and compare them
    Replay(replay::ReplayArgs),
    /// Check, run, draw, test and format programs in the strategy language
    Plumb(plumb::PlumbArgs),
    /// Compact a conversation without a model
    Compact(compact::CompactArgs),
    /// Measure what summaries keep
    Bench(bench::BenchArgs),
    /// Show what a session contains
    Inspect(inspect::InspectArgs),
    /// Watch an agent cross its window over HTTP, with Ebbtide and without
    Demo(demo::DemoArgs),
    /// Serve a simulated provider that is stricter than the real ones, for tests
    Sim(sim::SimArgs),
    /// Check, repair or copy a store
    Store(store::StoreArgs),
    /// Delete conversations from a store
    Purge(purge::PurgeArgs),
    /// Print a shell completion script
    Completions(completions::CompletionsArgs),
    /// Print generated documentation as Markdown
    #[command(hide = true)]
    Docs(docs::DocsArgs),
}
