//! The `ebbtide` command line: parses the arguments, runs one command, sets the exit status.

mod cli;
mod codes;
mod command;
mod console;
mod demo;
mod environment;
mod failure;
mod input;
mod inspection;
mod interrupt;
mod loading;
mod logs;
mod output;
mod progress;
mod settings;
mod size;
mod strategy;
mod table;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let environment = Environment::read();
    let mut console = Console::open(&environment);
    let result = command::run(&cli.command, &environment, &mut console)
        .and_then(|exit| console.flush().map(|()| exit));
    let exit = match result {
        Ok(exit) => exit,
        Err(failure) => {
            if !matches!(failure, Failure::BrokenPipe) {
                // Flush the output first, so that the error follows it on a shared terminal.
                let _ = console.flush();
                console.note(failure.render(console.palette_err));
            }
            failure.exit()
        }
    };
    ExitCode::from(exit.number())
}

/// Prints help, the version or a usage error.
fn usage(error: &clap::Error) -> ExitCode {
    // Printing fails only on a closed pipe, which needs no message.
    let _ = error.print();
    let exit = if error.use_stderr() {
        Exit::Invalid
    } else {
        Exit::Success
    };
    ExitCode::from(exit.number())
}
