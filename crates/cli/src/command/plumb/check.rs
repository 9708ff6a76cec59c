//! `ebbtide plumb check`: what is wrong with programs.

use std::path::PathBuf;

use clap::Args;
use context::coded::Coded;
use plumb::diagnostic::to_json;
use serde::Serialize;

use super::{modules::Folders, source};
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// What `ebbtide plumb check` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb check debate.plumb
  ebbtide plumb check strategies/*.plumb --json
  cat debate.plumb | ebbtide plumb check -

Exits with 0 where the programs can run, with 2 where one of them cannot, and
with 1 where a file cannot be read. Mistakes are shown on standard error; with
--json they are on standard output, for editors.")]
pub struct CheckArgs {
    /// The programs; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Look for modules here as well, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The name and version of the shape of `--json`.
const SCHEMA: &str = "ebbtide.plumb.check/1";

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    files: Vec<File>,
}

#[derive(Serialize)]
struct File {
    file: String,
    sound: bool,
    diagnostics: serde_json::Value,
    /// Why the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Unread>,
}

#[derive(Serialize)]
struct Unread {
    code: &'static str,
    message: String,
}

/// Checks each program.
pub fn run(args: &CheckArgs, console: &mut Console) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    // What the first file that cannot be read makes of it.
    let mut unread = None;
    let mut files = Vec::new();
    for path in &args.files {
        let name = source::name(path);
        let text = match source::read(path) {
            Ok(text) => text,
            Err(failure) => {
                console.remark(failure.render(console.palette_err));
                unread = unread.or(Some(failure.exit()));
                files.push(File {
                    file: name,
                    sound: false,
                    diagnostics: serde_json::json!([]),
                    error: Some(Unread {
                        code: failure.code().as_str(),
                        message: failure.to_string(),
                    }),
                });
                continue;
            }
        };
        let checked = plumb::check::check(&name, &text, &Folders::of(path, &args.path));
        let sound = checked.is_sound();
        if !sound {
            exit = Exit::NotUnderstood;
        }
        if args.json {
            files.push(File {
                file: name,
                sound,
                diagnostics: to_json(&checked.diagnostics, &checked.sources),
                error: None,
            });
            continue;
        }
        source::show(&checked.diagnostics, &checked.sources, console);
        let counts = source::counts(&checked.diagnostics);
        console.remark(match (sound, counts) {
            (true, None) => format!("{name}: nothing is wrong"),
            (true, Some(counts)) => format!("{name}: {counts}; it can run"),
            (false, counts) => format!("{name}: {}", counts.unwrap_or_default()),
        });
    }
    if args.json {
        console.json(&Report {
            schema: SCHEMA,
            files,
        })?;
    }
    Ok(unread.unwrap_or(exit))
}
