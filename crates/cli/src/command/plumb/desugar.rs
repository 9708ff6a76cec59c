//! `ebbtide plumb desugar`: prints a program with its sessions translated into plain morphisms.

use std::path::PathBuf;

use clap::Args;
use plumb::syntax;

use super::source;
use crate::console::Console;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb desugar compaction.plumb
  ebbtide plumb desugar compaction.plumb | ebbtide plumb check -

The output checks and runs like the program, but has no sessions: merge, \
barrier, map, filter and the other morphisms replace each protocol. Comments \
are dropped. Exits with 2 if the program cannot run.")]
pub struct DesugarArgs {
    /// Program; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also look for modules in this folder, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
}

pub fn run(args: &DesugarArgs, console: &mut Console) -> Result<Exit, Failure> {
    let Some(checked) = source::load(&args.file, &args.path, console)? else {
        return Ok(Exit::Invalid);
    };
    console.data(syntax::format(checked.desugared(), "").as_bytes())?;
    Ok(Exit::Success)
}
