//! Strategies by name or by file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use context::coded::Coded;
use conversation::homunculus::hosted::{StrategyError, StrategyProgram};

use crate::command::plumb::{modules::Folders, source};
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// The strategies of these names, or in these files: what ends in `.plumb` is a file. Where two files have
/// the same name in different folders, each is called by its path.
pub fn all(names: &[String], console: &mut Console) -> Result<Vec<Arc<StrategyProgram>>, Failure> {
    let of_file = |name: &str| file(name).map(|path| called(path).into_owned());
    let mut programs = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let own = of_file(name);
        let alike = |other: &&String| own.is_some() && of_file(other.trim()) == own;
        programs.push(match file(name) {
            Some(path) if names.iter().filter(alike).count() > 1 => read_as(name, path, console)?,
            _ => named(name, console)?,
        });
    }
    Ok(programs)
}

/// The file that a name stands for.
fn file(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_plumb = path.extension().is_some_and(|ending| ending == "plumb");
    is_plumb.then_some(path)
}

/// What the strategy in a file is called.
fn called(path: &Path) -> Cow<'_, str> {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
}

/// The strategy of this name, or in this file: what ends in `.plumb` is a file.
pub fn named(name: &str, console: &mut Console) -> Result<Arc<StrategyProgram>, Failure> {
    if let Some(path) = file(name) {
        return read(path, console);
    }
    let unknown = || Failure::refused(&lab::ReplayError::UnknownStrategy(name.to_owned()));
    StrategyProgram::shipped(name).ok_or_else(unknown)
}

/// The strategy in a file. It is called as the file is, with the ending, which no shipped strategy has.
pub fn read(path: &Path, console: &mut Console) -> Result<Arc<StrategyProgram>, Failure> {
    read_as(&called(path), path, console)
}

/// The strategy in a file, under another name.
fn read_as(
    name: &str,
    path: &Path,
    console: &mut Console,
) -> Result<Arc<StrategyProgram>, Failure> {
    let text = source::read(path)?;
    let place = source::name(path);
    let folders = Folders::of(path, &[]);
    StrategyProgram::in_file(name, &place, &text, &folders).map_err(|error| {
        if let StrategyError::Unsound {
            diagnostics,
            sources,
            ..
        } = &error
        {
            source::show(diagnostics, sources, console);
        }
        Failure::Reported {
            code: error.code(),
            message: error.to_string(),
            place: Some(path.display().to_string()),
            hint: error.hint(),
            exit: Exit::NotUnderstood,
        }
    })
}
