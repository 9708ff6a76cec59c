//! Reads, checks and writes programs, and shows their diagnostics.

use std::io;
use std::path::{Path, PathBuf};

use context::coded::Coded;
use context::figures::plural;
use plumb::check::Checked;
use plumb::diagnostic::{Colour, Diagnostic, Severity, render};
use plumb::graph::Graph;
use plumb::source::Sources;

use super::modules::Folders;
use crate::console::Console;
use crate::environment;
use crate::failure::Failure;
use crate::input;
use crate::output;

/// Reads a file, or standard input if the path is `-`.
pub fn read(path: &Path) -> Result<String, Failure> {
    let bytes = match input::read(path) {
        Err(Failure::Empty(_)) => Vec::new(),
        Err(folder @ Failure::IsFolder(_)) => {
            let files = path.join("*.plumb");
            let hint = format!("Pass the files in it, such as {}.", files.display());
            return Err(with_hint(&folder, hint));
        }
        other => other?,
    };
    String::from_utf8(bytes).map_err(|_| {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
        let hint = "Save the file as UTF-8.".to_owned();
        with_hint(&Failure::unreadable(path)(source), hint)
    })
}

/// Replaces the hint of a failure with one about programs.
fn with_hint(failure: &Failure, hint: String) -> Failure {
    Failure::Reported {
        code: failure.code(),
        message: failure.to_string(),
        place: None,
        hint: Some(hint),
        exit: failure.exit(),
    }
}

/// Writes a file. One that exists is replaced at once, so that a full disk does not leave half a program.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = match std::fs::canonicalize(path) {
        // The file that a link names is replaced, not the link.
        Ok(file) if file.is_file() => match output::replace(&file, text) {
            // In a folder that is read-only, the file need not be.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                std::fs::write(&file, text)
            }
            replaced => replaced,
        },
        _ => std::fs::write(path, text),
    };
    written.map_err(Failure::unwritable(path))
}

/// Reads and checks a program, and shows its diagnostics. Returns `None` if it cannot run.
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

/// Builds the network of one process.
pub fn graph(checked: &Checked, path: &Path, process: &str) -> Result<Graph, Failure> {
    let missing = || Failure::NoSuchProcess {
        path: path.to_owned(),
        asked: process.to_owned(),
        held: checked.names().map(str::to_owned).collect(),
    };
    checked.graph(process).ok_or_else(missing)
}

/// The name of a file in diagnostics.
pub fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

/// The maximum number of diagnostics that are shown at once.
const SHOWN: usize = 100;

/// Shows diagnostics on standard error, with the source lines. Of very many, the first errors are shown, and the
/// others are counted.
pub fn show(diagnostics: &[Diagnostic], sources: &Sources, console: &mut Console) {
    if diagnostics.is_empty() {
        return;
    }
    let mut all = diagnostics.to_vec();
    if all.len() > SHOWN {
        all.sort_by_key(|one| one.severity);
    }
    let rest = all.split_off(all.len().min(SHOWN));
    let diagnostics = all.as_slice();
    let colour = match console.palette_err.colour() {
        environment::Colour::Allowed => Colour::Ansi,
        environment::Colour::Plain => Colour::Plain,
    };
    console.note(render(diagnostics, sources, colour, console.width));
    if let Some(rest) = counts(&rest) {
        console.note(format!(
            "{rest} more; `ebbtide plumb check --json` lists all"
        ));
    }
}

/// Counts diagnostics, as in `2 errors and 1 warning`; `None` if there are none.
pub fn counts(diagnostics: &[Diagnostic]) -> Option<String> {
    let counted = |severity, word| {
        let all = diagnostics.iter();
        let count = all.filter(|one| one.severity == severity).count();
        (count > 0).then(|| plural(count, word))
    };
    let errors = counted(Severity::Error, "error");
    let warnings = counted(Severity::Warning, "warning");
    match (errors, warnings) {
        (Some(errors), Some(warnings)) => Some(format!("{errors} and {warnings}")),
        (one, other) => one.or(other),
    }
}
