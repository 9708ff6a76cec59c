//! `ebbtide plumb test`: pages of Markdown whose programs do what stands beside them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use plumb::literate::{self, Remedy};

use super::{modules::Folders, source};
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// What `ebbtide plumb test` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb test docs/plumb
  ebbtide plumb test notes.md
  ebbtide plumb test --update notes.md

A fence with the word plumb is a program; fences below it say what is said of it
(diagnostics) and what it does (run). docs/plumb/README.md says how they are
written. Agents are answered by the page; no model is called.

Exits with 1 where a page says what is not so.")]
pub struct TestArgs {
    /// Pages, or folders with pages (*.md)
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write what is so into the pages
    #[arg(long)]
    pub update: bool,
    /// Look for modules here as well, after the page's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
}

/// Tests each page.
pub fn run(args: &TestArgs, console: &mut Console) -> Result<Exit, Failure> {
    let mut pages = Vec::new();
    for path in &args.files {
        collect(path, &mut pages)?;
    }
    let mut exit = Exit::Done;
    for path in &pages {
        let text = source::read(path)?;
        let tested = literate::test(&text, &Folders::of(path, &args.path));
        let name = path.display();
        let update = args.update && tested.text != text;
        let left = tested
            .mismatches
            .iter()
            .filter(|one| !update || one.remedy == Remedy::Hand);
        let mut wrong = 0;
        for mismatch in left {
            wrong += 1;
            console.remark(format!("{name}, {}", mismatch.to_string().trim_end()));
        }
        if update {
            source::write(path, &tested.text)?;
        }
        if wrong > 0 {
            exit = Exit::Failed;
        }
        let counted = |count: usize, word: &str| {
            let ending = if count == 1 { "" } else { "s" };
            format!("{count} {word}{ending}")
        };
        let outcome = match (wrong, update) {
            (0, false) if tested.programs == 0 => "there is nothing to test".to_owned(),
            (0, false) => "everything is so".to_owned(),
            (0, true) => "brought up to date".to_owned(),
            (wrong, _) => format!("{wrong} not so"),
        };
        console.remark(format!(
            "{name}: {}, {}: {outcome}",
            counted(tested.programs, "program"),
            counted(tested.expectations, "expectation"),
        ));
    }
    Ok(exit)
}

/// The pages of a folder, in the order of their names; another path as it is.
fn collect(path: &Path, pages: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !path.is_dir() {
        pages.push(path.to_owned());
        return Ok(());
    }
    let unreadable = |source| Failure::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?.path();
        if entry.extension().is_some_and(|ending| ending == "md") {
            found.push(entry);
        }
    }
    found.sort();
    pages.append(&mut found);
    Ok(())
}
