//! `ebbtide plumb`: commands for programs in the language of strategies and agent networks.

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

#[derive(Debug, Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct PlumbArgs {
    #[command(subcommand)]
    pub command: PlumbCommand,
}

#[derive(Debug, Subcommand)]
pub enum PlumbCommand {
    /// Check programs for errors, without running them
    Check(check::CheckArgs),
    /// Run a program on standard input and output
    Run(run::RunArgs),
    /// Draw a program as SVG, or as DOT for Graphviz
    Graph(graph::GraphArgs),
    /// Print a program with its sessions translated into plain morphisms
    Desugar(desugar::DesugarArgs),
    /// Test the programs in Markdown pages
    Test(test::TestArgs),
    /// Format programs
    Fmt(fmt::FmtArgs),
    /// Run the language server for editors
    Lsp(lsp::LspArgs),
}

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
