//! `ebbtide plumb fmt`: programs in canonical form.

use std::path::{Path, PathBuf};

use clap::Args;
use plumb::source::Sources;
use plumb::syntax;

use super::source;
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// What `ebbtide plumb fmt` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb fmt strategies/*.plumb
  ebbtide plumb fmt --check strategies/*.plumb
  cat debate.plumb | ebbtide plumb fmt - > formatted.plumb

Exits with 2 where a program cannot be read; it is left as it is. With --check,
exits with 1 where a program is not in canonical form, and names it.")]
pub struct FmtArgs {
    /// The programs, which are written in place; - reads standard input and writes standard output
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Change nothing; name the programs that are not in canonical form
    #[arg(long)]
    pub check: bool,
}

/// What became of a program.
enum Outcome {
    /// It was in canonical form.
    Same,
    /// It was not.
    Changed(String),
    /// It cannot be read.
    Broken,
}

/// Formats each program.
pub fn run(args: &FmtArgs, console: &mut Console) -> Result<Exit, Failure> {
    let (mut broken, mut differs) = (false, false);
    for path in &args.files {
        let text = source::read(path)?;
        let outcome = format(path, &text, console);
        let stdin = path == Path::new("-");
        match outcome {
            Outcome::Broken => broken = true,
            Outcome::Changed(_) if args.check => {
                differs = true;
                console.line(source::name(path))?;
            }
            Outcome::Same if args.check => {}
            Outcome::Same if stdin => console.data(text.as_bytes())?,
            Outcome::Changed(formatted) if stdin => console.data(formatted.as_bytes())?,
            Outcome::Same => {}
            Outcome::Changed(formatted) => source::write(path, &formatted)?,
        }
    }
    Ok(match (broken, differs) {
        (true, _) => Exit::NotUnderstood,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Done,
    })
}

fn format(path: &Path, text: &str, console: &mut Console) -> Outcome {
    let mut sources = Sources::default();
    let id = sources.add(&source::name(path), text);
    let (program, diagnostics) = syntax::parse(id, text);
    if !diagnostics.is_empty() {
        source::show(&diagnostics, &sources, console);
        return Outcome::Broken;
    }
    let formatted = syntax::format(&program, text);
    if formatted == text {
        Outcome::Same
    } else {
        Outcome::Changed(formatted)
    }
}
