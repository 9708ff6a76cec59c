//! The ebbtide command line.

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
    let outcome = command::run(&cli.command, &environment, &mut console)
        .and_then(|exit| console.flush().map(|()| exit));
    let exit = match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            if !matches!(failure, Failure::ReaderLeft) {
                // What was written so far comes first, so that the streams do not cross.
                let _ = console.flush();
                console.remark(failure.render(console.palette_err));
            }
            failure.exit()
        }
    };
    ExitCode::from(exit.number())
}

/// Shows help, the version or what is wrong with the command line.
fn usage(error: &clap::Error) -> ExitCode {
    // Where help is piped to a reader that left, there is nobody to tell.
    let _ = error.print();
    let exit = if error.use_stderr() {
        Exit::NotUnderstood
    } else {
        Exit::Done
    };
    ExitCode::from(exit.number())
}
