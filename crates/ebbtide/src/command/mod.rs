//! The commands, one a file.

pub mod completions;
pub mod docs;

use crate::cli::Command;
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// Runs a command.
///
/// # Errors
/// Why it did not do what it was asked.
pub fn run(command: &Command, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        Command::Completions(args) => completions::run(args, console),
        Command::Docs(args) => docs::run(args, console),
    }
}
