//! The text of a program.

use std::io;
use std::path::{Path, PathBuf};

use context::coded::Coded;
use plumb::check::Checked;
use plumb::diagnostic::{Colour, Diagnostic, Severity, render};
use plumb::graph::Graph;
use plumb::source::Sources;

use super::modules::Folders;
use crate::console::Console;
use crate::environment;
use crate::failure::{Exit, Failure};
use crate::input;

/// The text of a file, or of standard input where the path is `-`.
pub fn read(path: &Path) -> Result<String, Failure> {
    let bytes = match input::read(path) {
        Err(Failure::Empty { .. }) => Vec::new(),
        Err(folder @ Failure::IsFolder { .. }) => {
            let files = path.join("*.plumb");
            let hint = format!("Give the files in it, such as {}.", files.display());
            return Err(told(&folder, hint, Exit::NotUnderstood));
        }
        other => other?,
    };
    String::from_utf8(bytes).map_err(|_| {
        let failure = Failure::Unreadable {
            path: path.to_owned(),
            source: io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"),
        };
        let hint = "Save it as UTF-8; comments and strings may hold any character.";
        told(&failure, hint.to_owned(), Exit::Failed)
    })
}

/// A failure with a hint that is about programs.
fn told(failure: &Failure, hint: String, exit: Exit) -> Failure {
    Failure::Reported {
        code: failure.code(),
        message: failure.to_string(),
        place: None,
        hint: Some(hint),
        exit,
    }
}

/// Writes a file.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|source| Failure::Unwritable {
        path: path.to_owned(),
        source,
    })
}

/// Reads a program and checks it, and shows what is wrong with it; nothing where it cannot run.
pub fn load(
    path: &Path,
    folders: &[PathBuf],
    console: &mut Console,
) -> Result<Option<Checked>, Failure> {
    let text = read(path)?;
    let checked = plumb::check::check(&name(path), &text, &Folders::of(path, folders));
    show(&checked.diagnostics, &checked.sources, console);
    Ok(checked.is_sound().then_some(checked))
}

/// The network of a process of a program that can run.
pub fn graph(checked: &Checked, path: &Path, process: &str) -> Result<Graph, Failure> {
    let missing = || Failure::NoSuchProcess {
        path: path.to_owned(),
        asked: process.to_owned(),
        held: checked.names().map(str::to_owned).collect(),
    };
    checked.graph(process).ok_or_else(missing)
}

/// What it is called in diagnostics.
pub fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

/// Shows diagnostics with the lines they are about on standard error.
pub fn show(diagnostics: &[Diagnostic], sources: &Sources, console: &mut Console) {
    if diagnostics.is_empty() {
        return;
    }
    let colour = match console.palette_err.colour() {
        environment::Colour::Allowed => Colour::Ansi,
        environment::Colour::Plain => Colour::Plain,
    };
    console.remark(render(diagnostics, sources, colour, console.width));
}

/// `2 errors and 1 warning`; nothing where there are none.
pub fn counts(diagnostics: &[Diagnostic]) -> Option<String> {
    let of = |severity| {
        let all = diagnostics.iter();
        all.filter(|one| one.severity == severity).count()
    };
    let named = |count, word| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{count} {word}s")),
    };
    let errors = named(of(Severity::Error), "error");
    let warnings = named(of(Severity::Warning), "warning");
    match (errors, warnings) {
        (Some(errors), Some(warnings)) => Some(format!("{errors} and {warnings}")),
        (one, other) => one.or(other),
    }
}
