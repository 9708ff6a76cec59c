//! Strategies by name or by file.

use std::path::Path;
use std::sync::Arc;

use context::coded::Coded;
use homunculus::hosted::{StrategyError, StrategyProgram};

use crate::command::plumb::{modules::Folders, source};
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// The strategy of this name, or in this file: what ends in `.plumb` is a file.
///
/// # Errors
/// Where there is no strategy of that name, the file cannot be read, or what stands in it is not a
/// strategy. What is wrong with a program is shown on standard error.
pub fn named(name: &str, console: &mut Console) -> Result<Arc<StrategyProgram>, Failure> {
    let path = Path::new(name);
    if path.extension().is_some_and(|ending| ending == "plumb") {
        return read(path, console);
    }
    let unknown = || Failure::refused(&lab::ReplayError::UnknownStrategy(name.to_owned()));
    StrategyProgram::shipped(name).ok_or_else(unknown)
}

/// The strategy in a file. It is called as the file is, without the ending.
///
/// # Errors
/// As [`named`].
pub fn read(path: &Path, console: &mut Console) -> Result<Arc<StrategyProgram>, Failure> {
    let text = source::read(path)?;
    let name = path.file_stem().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy();
    StrategyProgram::new(&name, &text, &Folders::of(path, &[])).map_err(|error| {
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
