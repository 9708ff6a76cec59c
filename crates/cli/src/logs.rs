//! The log of a long-running command, on standard error. It holds no message text and no keys.

use std::panic;

use tracing_subscriber::EnvFilter;

use crate::command::serve::LogForm;
use crate::environment::{Colour, Environment};

/// Starts a log of warnings, for a command that reports its own progress.
pub fn start_quietly(environment: &Environment) {
    begin(LogForm::Text, environment, "warn");
}

/// Starts the log. `EBBTIDE_LOG` filters it: `debug`, `ebbtide::request=off,info`, ….
pub fn start(form: LogForm, environment: &Environment) {
    // The MCP library tells of each request.
    begin(form, environment, "info,rmcp=warn");
}

fn begin(form: LogForm, environment: &Environment, default: &str) {
    let asked = environment.setting("EBBTIDE_LOG").unwrap_or(default);
    let filter = EnvFilter::try_new(asked).unwrap_or_else(|_| EnvFilter::new(default));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(environment.colour_err == Colour::Allowed);
    // A process has one log; a second call keeps the first.
    let _ = match form {
        LogForm::Text => log.try_init(),
        LogForm::Json => log.json().flatten_event(true).try_init(),
    };
    panic::set_hook(Box::new(|panic| {
        // A panic message may quote a conversation, so only the source location is logged.
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "internal error; please report it");
    }));
}
