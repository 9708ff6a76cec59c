//! Loads memory strategies by name or from files.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use conversation::homunculus::hosted::{StrategyError, StrategyProgram};

use crate::command::plumb::{modules::Folders, source};
use crate::console::Console;
use crate::failure::Failure;

/// Loads several strategies. If two files in different folders have the same name, each strategy is
/// named by its path.
pub fn all(names: &[String], console: &mut Console) -> Result<Vec<Arc<StrategyProgram>>, Failure> {
    let file_name = |name: &str| file(name).map(|path| called(path).into_owned());
    let mut programs = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let own = file_name(name);
        let alike = |other: &&String| own.is_some() && file_name(other.trim()) == own;
        programs.push(match file(name) {
            Some(path) if names.iter().filter(alike).count() > 1 => read_as(name, path, console)?,
            _ => named(name, console)?,
        });
    }
    Ok(programs)
}

/// The path, if `name` ends in `.plumb`.
fn file(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_plumb = path.extension().is_some_and(|ending| ending == "plumb");
    is_plumb.then_some(path)
}

/// The name of the strategy in a file: the file's name with its extension, which no shipped strategy
/// has.
fn called(path: &Path) -> Cow<'_, str> {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
}

/// Loads the shipped strategy of this name, or the file if the name ends in `.plumb`.
pub fn named(name: &str, console: &mut Console) -> Result<Arc<StrategyProgram>, Failure> {
    if let Some(path) = file(name) {
        return read(path, console);
    }
    let unknown = || Failure::of(&lab::ReplayError::UnknownStrategy(name.to_owned()));
    StrategyProgram::shipped(name).ok_or_else(unknown)
}

/// Loads the strategy in a file. Errors in the program are shown on standard error.
pub fn read(path: &Path, console: &mut Console) -> Result<Arc<StrategyProgram>, Failure> {
    read_as(&called(path), path, console)
}

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
        Failure::of(&error).at(&path.display())
    })
}
