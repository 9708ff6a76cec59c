//! `ebbtide plumb graph`: a program as a picture.

use std::path::{Path, PathBuf};

use clap::Args;
use plumb::picture;

use super::source;
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// What `ebbtide plumb graph` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb graph debate.plumb -o debate.svg
  ebbtide plumb graph debate.plumb | dot -Tpdf > debate.pdf
  ebbtide plumb graph debate.plumb --process judge
  ebbtide plumb graph debate.plumb --process Mem.prepared -o prepared.svg

The picture shows what runs: processes put in place of their names, and the checks
that the compiler added; each session is one node, with --whole the network that it
stands for. An SVG needs no other program, and follows the light or dark page it is
shown on.")]
pub struct GraphArgs {
    /// The program; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The process to draw
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub process: String,
    /// As SVG; usual where the file that is written ends in .svg
    #[arg(long)]
    pub svg: bool,
    /// As DOT, for Graphviz; usual elsewhere
    #[arg(long, conflicts_with = "svg")]
    pub dot: bool,
    /// Show what sessions become, too: the nodes of the network that each stands for
    #[arg(long)]
    pub whole: bool,
    /// Write this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Look for modules here as well, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
}

/// Draws a process.
pub fn run(args: &GraphArgs, console: &mut Console) -> Result<Exit, Failure> {
    let Some(checked) = source::load(&args.file, &args.path, console)? else {
        return Ok(Exit::NotUnderstood);
    };
    let graph = source::graph(&checked, &args.file, &args.process)?;
    let svg = |path: &Path| path.extension().is_some_and(|ending| ending == "svg");
    let as_svg = args.svg || (!args.dot && args.output.as_deref().is_some_and(svg));
    let sessions = if args.whole { &[] } else { checked.sessions() };
    let picture = if as_svg {
        picture::svg_of(&graph, sessions)
    } else {
        picture::dot_of(&graph, sessions)
    };
    match &args.output {
        Some(path) => source::write(path, &picture)?,
        None => console.data(picture.as_bytes())?,
    }
    Ok(Exit::Done)
}
