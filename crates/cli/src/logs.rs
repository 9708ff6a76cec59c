//! The log of a program that runs on: to standard error, without message text or keys.

use std::panic;

use tracing_subscriber::EnvFilter;

use crate::command::serve::LogForm;
use crate::environment::{Colour, Environment};

/// What is logged where nothing else is asked for.
const USUAL: &str = "info";

/// Starts a log of warnings, for a program that says by itself what it does.
pub fn start_quietly(environment: &Environment) {
    begin(LogForm::Text, environment, "warn");
}

/// Starts the log. `EBBTIDE_LOG` says what goes into it: `debug`, `ebbtide::request=off,info`, ….
pub fn start(form: LogForm, environment: &Environment) {
    begin(form, environment, USUAL);
}

fn begin(form: LogForm, environment: &Environment, usual: &str) {
    let asked = environment
        .settings
        .iter()
        .find(|(name, _)| name == "EBBTIDE_LOG")
        .map_or(usual, |(_, value)| value.as_str());
    let filter = EnvFilter::try_new(asked).unwrap_or_else(|_| EnvFilter::new(usual));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(environment.colour_err == Colour::Allowed);
    // A second log in one process is one too many, and the first goes on.
    let _ = match form {
        LogForm::Text => log.try_init(),
        LogForm::Json => log.json().flatten_event(true).try_init(),
    };
    panic::set_hook(Box::new(|panic| {
        // Its message may hold what somebody said; the place is enough to find the mistake.
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a mistake in the program; please report it");
    }));
}
