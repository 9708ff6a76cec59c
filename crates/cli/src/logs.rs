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
    begin(form, environment, "info");
}

fn begin(form: LogForm, environment: &Environment, default: &str) {
    let asked = environment.setting("EBBTIDE_LOG").map(targets);
    let is_wrong = matches!(asked, Some(None));
    let usual = || targets(default).unwrap_or_default();
    let filter = asked.flatten().unwrap_or_else(usual);
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
            "EBBTIDE_LOG is ignored: expected a list such as `warn` or `ebbtide::request=off,info`"
        );
    }
    panic::set_hook(Box::new(|panic| {
        // A panic message may quote a conversation, so only the source location is logged.
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "internal error; please report it");
    }));
}

/// Reads a list of levels: `LEVEL` for all, `TARGET=LEVEL` for the modules below a path.
fn targets(list: &str) -> Option<Targets> {
    let items = list.split(',').map(str::trim);
    items
        .filter(|item| !item.is_empty())
        .try_fold(Targets::new(), |targets, item| {
            let Some((target, level)) = item.split_once('=') else {
                return Some(targets.with_default(item.parse::<LevelFilter>().ok()?));
            };
            let target = target.trim();
            let is_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
            let level = level.trim().parse::<LevelFilter>().ok()?;
            (!target.is_empty() && target.chars().all(is_path))
                .then(|| targets.with_target(target, level))
        })
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::LevelFilter;

    use super::targets;

    #[test]
    fn a_filter_is_a_list_of_levels() {
        let check = |list: &str, target: &str, expected: LevelFilter| {
            let found = targets(list).expect(list);
            let level = expected.into_level();
            let passes = level.is_none_or(|level| found.would_enable(target, &level));
            assert!(passes, "{list}: {target}");
            let above = match expected {
                LevelFilter::OFF => tracing::Level::ERROR,
                LevelFilter::WARN => tracing::Level::INFO,
                LevelFilter::INFO => tracing::Level::DEBUG,
                _ => return,
            };
            assert!(!found.would_enable(target, &above), "{list}: {target}");
        };
        check("warn", "ebbtide::request", LevelFilter::WARN);
        check("off", "ebbtide", LevelFilter::OFF);
        check(
            "info, ebbtide::request=off",
            "ebbtide::request",
            LevelFilter::OFF,
        );
        check("info, ebbtide::request=off", "hyper", LevelFilter::INFO);
        check(
            "ebbtide::strategy = DEBUG,info",
            "ebbtide::strategy",
            LevelFilter::DEBUG,
        );
        for wrong in [
            "degub",
            "ebbtide[request]=debug",
            "a=b=c",
            "ebbtide",
            "=info",
        ] {
            assert!(targets(wrong).is_none(), "{wrong}");
        }
    }
}
