//! `ebbtide plumb fmt`: formats programs.

use std::path::{Path, PathBuf};

use clap::Args;
use plumb::source::Sources;
use plumb::syntax;

use super::source;
use crate::console::Console;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb fmt strategies/*.plumb
  ebbtide plumb fmt --check strategies/*.plumb
  cat debate.plumb | ebbtide plumb fmt - > formatted.plumb

Exits with 2 if a program does not parse, and leaves that file unchanged. With \
--check, exits with 1 if a program is not formatted, and names it.")]
pub struct FmtArgs {
    /// Programs to format in place; - reads standard input and writes standard output
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Change nothing, and name the programs that are not formatted
    #[arg(long)]
    pub check: bool,
}

pub fn run(args: &FmtArgs, console: &mut Console) -> Result<Exit, Failure> {
    let (mut broken, mut differs) = (false, false);
    for path in &args.files {
        let text = source::read(path)?;
        let Some(formatted) = format(path, &text, console) else {
            broken = true;
            continue;
        };
        let changed = formatted != text;
        if args.check {
            differs |= changed;
            if changed {
                console.line(source::name(path))?;
            }
        } else if path == Path::new("-") {
            console.data(formatted.as_bytes())?;
        } else if changed {
            source::write(path, &formatted)?;
        }
    }
    Ok(match (broken, differs) {
        (true, _) => Exit::Invalid,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Success,
    })
}

/// The formatted text; `None`, with diagnostics on standard error, if the program does not parse.
fn format(path: &Path, text: &str, console: &mut Console) -> Option<String> {
    let mut sources = Sources::default();
    let id = sources.add(&source::name(path), text);
    let (program, diagnostics) = syntax::parse(id, text);
    source::show(&diagnostics, &sources, console);
    diagnostics
        .is_empty()
        .then(|| syntax::format(&program, text))
}
