//! `ebbtide plumb graph`: draws a program.

use std::path::{Path, PathBuf};

use clap::Args;
use plumb::picture;

use super::source;
use crate::console::Console;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb graph debate.plumb -o debate.svg
  ebbtide plumb graph debate.plumb | dot -Tpdf > debate.pdf
  ebbtide plumb graph debate.plumb --process judge
  ebbtide plumb graph debate.plumb --process Mem.prepared -o prepared.svg

The graph shows the network that runs, with processes expanded and the checks \
that the compiler adds. Each session is one node, or with --whole the network \
that implements it. The SVG adapts to light and dark pages.")]
pub struct GraphArgs {
    /// Program; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Process to draw
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub process: String,
    /// Write SVG; the default if the output file ends in .svg
    #[arg(long)]
    pub svg: bool,
    /// Write DOT, for Graphviz; the default otherwise
    #[arg(long, conflicts_with = "svg")]
    pub dot: bool,
    /// Expand each session into the network that implements it
    #[arg(long)]
    pub whole: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also look for modules in this folder, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
}

pub fn run(args: &GraphArgs, console: &mut Console) -> Result<Exit, Failure> {
    let Some(checked) = source::load(&args.file, &args.path, console)? else {
        return Ok(Exit::Invalid);
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
    Ok(Exit::Success)
}
