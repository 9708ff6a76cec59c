//! The commands, one module each.

pub mod archive;
pub mod bench;
pub mod compact;
pub mod completions;
pub mod config;
pub mod connect;
pub mod demo;
pub mod discover;
pub mod docs;
pub mod doctor;
pub mod inspect;
pub mod manual;
pub mod mcp;
pub mod pin;
pub mod plumb;
pub mod purge;
pub mod remote;
pub mod replay;
pub mod serve;
pub mod sim;
pub mod statusline;
pub mod store;
pub mod wrap;

use tokio::runtime::Runtime;

use crate::cli::Command;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

pub fn run(
    command: &Command,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serve::run(args, environment, console),
        Command::Config(args) => config::run(args, environment, console),
        Command::Statusline(args) => statusline::run(args, environment, console),
        Command::Wrap(args) => wrap::run(args, environment, console),
        Command::Pin(args) => pin::run(args, environment, console),
        Command::Lost(args) => archive::lost(args, environment, console),
        Command::Expand(args) => archive::expand(args, environment, console),
        Command::Recall(args) => archive::recall(args, environment, console),
        Command::Undo(args) => archive::order("undo", args, environment, console),
        Command::Redo(args) => archive::order("redo", args, environment, console),
        Command::Mcp(args) => mcp::run(args, environment, console),
        Command::Connect(args) => connect::run(args, environment, console),
        Command::Doctor(args) => doctor::run(args, environment, console),
        Command::Completions(args) => completions::run(args, console),
        Command::Replay(args) => replay::run(args, environment, console),
        Command::Demo(args) => demo::run(args, environment, console),
        Command::Plumb(args) => plumb::run(args, console),
        Command::Bench(args) => bench::run(args, console),
        Command::Compact(args) => compact::run(args, console),
        Command::Inspect(args) => inspect::run(args, console),
        Command::Sim(args) => sim::run(args, console),
        Command::Store(args) => store::run(args, environment, console),
        Command::Purge(args) => purge::run(args, environment, console),
        Command::Docs(args) => docs::run(args, console),
    }
}

/// Starts the async runtime of a command that serves or connects.
fn runtime() -> Result<Runtime, Failure> {
    Runtime::new().map_err(Failure::NoRuntime)
}
