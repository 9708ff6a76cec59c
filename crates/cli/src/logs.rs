//! The log of a long-running command, on standard error. It holds no message text and no keys.

use std::panic;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

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
    let asked = environment
        .setting("EBBTIDE_LOG")
        .map(str::parse::<Targets>);
    let is_wrong = matches!(asked, Some(Err(_)));
    let usual = || default.parse().unwrap_or_default();
    let filter = asked.and_then(Result::ok).unwrap_or_else(usual);
    let log = tracing_subscriber::fmt()
        // The filter decides.
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(environment.colour_err == Colour::Allowed);
    // A process has one log; a second call keeps the first.
    let _ = match form {
        LogForm::Text => log.finish().with(filter).try_init(),
        LogForm::Json => {
            let log = log.json().flatten_event(true);
            log.finish().with(filter).try_init()
        }
    };
    if is_wrong {
        tracing::warn!(
            "EBBTIDE_LOG is ignored: it is no list such as `warn` or `ebbtide::request=off,info`"
        );
    }
    panic::set_hook(Box::new(|panic| {
        // A panic message may quote a conversation, so only the source location is logged.
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "internal error; please report it");
    }));
}
