//! `ebbtide plumb desugar`: a program without its sessions.

use std::path::PathBuf;

use clap::Args;
use plumb::syntax;

use super::source;
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// What `ebbtide plumb desugar` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb desugar compaction.plumb
  ebbtide plumb desugar compaction.plumb | ebbtide plumb check -

What is printed checks and runs as the program does, without any session: each
protocol is written out in merge, barrier, map, filter and the other morphisms.
Comments are left out. Exits with 2 where the program cannot run.")]
pub struct DesugarArgs {
    /// The program; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Look for modules here as well, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
}

/// Prints the program.
pub fn run(args: &DesugarArgs, console: &mut Console) -> Result<Exit, Failure> {
    let Some(checked) = source::load(&args.file, &args.path, console)? else {
        return Ok(Exit::NotUnderstood);
    };
    console.data(syntax::format(checked.desugared(), "").as_bytes())?;
    Ok(Exit::Done)
}
