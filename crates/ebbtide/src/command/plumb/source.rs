//! The text of a program.

use std::io;
use std::path::Path;

use plumb::diagnostic::{Colour, Diagnostic, Severity, render};
use plumb::source::Sources;

use crate::console::Console;
use crate::environment;
use crate::failure::Failure;
use crate::input;

/// The text of a file, or of standard input where the path is `-`.
///
/// # Errors
/// Where it cannot be read or is not UTF-8.
pub fn read(path: &Path) -> Result<String, Failure> {
    let bytes = match input::read(path) {
        Err(Failure::Empty { .. }) => Vec::new(),
        other => other?,
    };
    String::from_utf8(bytes).map_err(|_| Failure::Unreadable {
        path: path.to_owned(),
        source: io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"),
    })
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
