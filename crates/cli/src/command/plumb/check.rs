//! `ebbtide plumb check`: reports the errors and warnings in programs.

use std::path::PathBuf;

use clap::Args;
use context::coded::Coded;
use conversation::homunculus::hosted::StrategyProgram;
use plumb::diagnostic::to_json;
use serde_json::{Value, json};

use super::{modules::Folders, source};
use crate::console::Console;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb check debate.plumb
  ebbtide plumb check strategies/*.plumb --strategy --json
  cat debate.plumb | ebbtide plumb check -

Exits with 0 if every program can run, with 2 if one of them cannot, and with 1 \
if a file cannot be read. Diagnostics go to standard error; with --json they go \
to standard output, for editors.")]
pub struct CheckArgs {
    /// Programs; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Also look for modules in this folder, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
    /// Also check that each program is a memory strategy that `replay` and `serve` accept
    #[arg(long)]
    pub strategy: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.plumb.check/1";

pub fn run(args: &CheckArgs, console: &mut Console) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    // The exit status for the first unreadable file. It wins over an unsound program.
    let mut unread = None;
    let mut files: Vec<Value> = Vec::new();
    for path in &args.files {
        let name = source::name(path);
        let text = match source::read(path) {
            Ok(text) => text,
            Err(failure) => {
                console.note(failure.render(console.palette_err));
                unread = unread.or(Some(failure.exit()));
                let (code, message) = (failure.code().as_str(), failure.to_string());
                files.push(json!({
                    "file": name,
                    "sound": false,
                    "diagnostics": [],
                    "error": { "code": code, "message": message },
                }));
                continue;
            }
        };
        let folders = Folders::of(path, &args.path);
        let checked = plumb::check::check(&name, &text, &folders);
        let sound = checked.is_sound();
        let unfit = (sound && args.strategy)
            .then(|| StrategyProgram::in_file(&name, &name, &text, &folders).err())
            .flatten()
            .map(|error| Failure::of(&error));
        if !sound || unfit.is_some() {
            exit = Exit::Invalid;
        }
        if args.json {
            let diagnostics = to_json(&checked.diagnostics, &checked.sources);
            let mut file = json!({ "file": name, "sound": sound, "diagnostics": diagnostics });
            if let Some((failure, fields)) = unfit.zip(file.as_object_mut()) {
                let (code, message) = (failure.code().as_str(), failure.to_string());
                let error = json!({ "code": code, "message": message });
                fields.insert("error".to_owned(), error);
            }
            files.push(file);
            continue;
        }
        source::show(&checked.diagnostics, &checked.sources, console);
        let counts = source::counts(&checked.diagnostics);
        console.note(match (sound, counts) {
            (true, None) => format!("{name}: no errors"),
            (true, Some(counts)) => format!("{name}: {counts}; the program can run"),
            (false, counts) => format!("{name}: {}", counts.unwrap_or_default()),
        });
        if let Some(failure) = unfit {
            console.note(failure.at(&name).render(console.palette_err));
        }
    }
    if args.json {
        console.json(&json!({ "schema": SCHEMA, "files": files }))?;
    }
    Ok(unread.unwrap_or(exit))
}
