//! `ebbtide plumb`: programs in the language of strategies and agent networks.

mod check;
mod desugar;
mod fmt;
mod graph;
mod lsp;
pub mod modules;
mod run;
pub mod source;
mod test;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::{Exit, Failure};

/// What `ebbtide plumb` takes.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct PlumbArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PlumbCommand,
}

/// One command each.
#[derive(Debug, Subcommand)]
pub enum PlumbCommand {
    /// Say what is wrong with programs, without running them
    Check(check::CheckArgs),
    /// Run a program on standard input and output
    Run(run::RunArgs),
    /// Draw a program: as SVG, or as DOT for Graphviz
    Graph(graph::GraphArgs),
    /// Print a program without its sessions: the plain morphisms they stand for
    Desugar(desugar::DesugarArgs),
    /// Test pages of Markdown: programs, and what they do
    Test(test::TestArgs),
    /// Write programs in canonical form
    Fmt(fmt::FmtArgs),
    /// Serve editors: mistakes, types, definitions, completions
    Lsp(lsp::LspArgs),
}

/// Does it.
pub fn run(args: &PlumbArgs, console: &mut Console) -> Result<Exit, Failure> {
    match &args.command {
        PlumbCommand::Check(args) => check::run(args, console),
        PlumbCommand::Run(args) => run::run(args, console),
        PlumbCommand::Graph(args) => graph::run(args, console),
        PlumbCommand::Desugar(args) => desugar::run(args, console),
        PlumbCommand::Test(args) => test::run(args, console),
        PlumbCommand::Fmt(args) => fmt::run(args, console),
        PlumbCommand::Lsp(args) => lsp::run(args, console),
    }
}
