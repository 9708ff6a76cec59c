//! `ebbtide plumb test`: tests the programs in Markdown pages against the results written there.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use context::figures::plural;
use plumb::literate::{self, Remedy};

use super::{modules::Folders, source};
use crate::console::Console;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb test docs/plumb
  ebbtide plumb test notes.md
  ebbtide plumb test --update notes.md

A code fence marked plumb holds a program. The fences below it hold the \
expected diagnostics and the expected runs; docs/plumb/README.md describes the \
format. The page supplies the agents' responses; no model is called.

Exits with 1 if an expectation fails.")]
pub struct TestArgs {
    /// Markdown pages, or folders with pages (*.md)
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Update the pages with the actual results
    #[arg(long)]
    pub update: bool,
    /// Also look for modules in this folder, after the page's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
}

pub fn run(args: &TestArgs, console: &mut Console) -> Result<Exit, Failure> {
    let mut pages = Vec::new();
    for path in &args.files {
        collect(path, &mut pages)?;
    }
    let mut exit = Exit::Success;
    for path in &pages {
        let text = source::read(path)?;
        let tested = literate::test(&text, &Folders::of(path, &args.path));
        let name = path.display();
        let update = args.update && tested.text != text;
        let left = tested
            .mismatches
            .iter()
            .filter(|one| !update || one.remedy == Remedy::Hand);
        let mut failed = 0;
        for mismatch in left {
            failed += 1;
            console.note(format!("{name}, {}", mismatch.to_string().trim_end()));
        }
        if update {
            source::write(path, &tested.text)?;
        }
        if failed > 0 {
            exit = Exit::Failed;
        }
        let result = match (failed, update) {
            (0, false) if tested.programs == 0 => "nothing to test".to_owned(),
            (0, false) => "passed".to_owned(),
            (0, true) => "updated".to_owned(),
            (failed, _) => format!("{failed} failed"),
        };
        console.note(format!(
            "{name}: {}, {}: {result}",
            plural(tested.programs, "program"),
            plural(tested.expectations, "expectation"),
        ));
    }
    Ok(exit)
}

/// Adds the pages of a folder, in the order of their names, or the path itself if it is no folder.
fn collect(path: &Path, pages: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !path.is_dir() {
        pages.push(path.to_owned());
        return Ok(());
    }
    let unreadable = Failure::unreadable(path);
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(&unreadable)? {
        let entry = entry.map_err(&unreadable)?.path();
        if entry.extension().is_some_and(|ending| ending == "md") {
            found.push(entry);
        }
    }
    found.sort();
    pages.append(&mut found);
    Ok(())
}
