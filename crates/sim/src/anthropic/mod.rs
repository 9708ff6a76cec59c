//! Anthropic Messages.

pub(crate) mod answer;
pub(crate) mod content;
mod diagnostics;
mod models;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod rules;
pub(crate) mod threads;
mod view;

use serde_json::json;

use crate::config::Compaction;
use crate::exchange::{Answer, Incoming};
use crate::members::set;
use crate::provider::Provider;
use crate::refusal::Refusal;
use crate::seal::Print;

use self::request::{Call, parse};
use self::rules::Purpose;
use self::rules::thinking::{Terms, examine};
use self::view::View;

/// Routes a request. `None`: there is no such route here.
pub(crate) fn route(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Option<Result<Answer, Refusal>> {
    let method = incoming.method.as_str();
    Some(match (method, incoming.route()) {
        ("POST", "/v1/messages") => {
            versioned(incoming).and_then(|()| answer::messages(provider, incoming, organisation))
        }
        ("POST", "/v1/messages/count_tokens") => {
            versioned(incoming).and_then(|()| count(provider, incoming, organisation))
        }
        ("GET", "/v1/models") => Ok(models::list(provider.config.compaction)),
        ("GET", path) if path.starts_with("/v1/models/") => models::one(
            path.trim_start_matches("/v1/models/"),
            provider.config.compaction,
        ),
        (_, "/v1/messages" | "/v1/messages/count_tokens") => Err(Refusal::new(
            405,
            "invalid_request_error",
            "Method Not Allowed",
        )),
        _ => return None,
    })
}

fn versioned(incoming: &Incoming<'_>) -> Result<(), Refusal> {
    match incoming.header("anthropic-version") {
        Some(version) if is_date(version) => Ok(()),
        Some(other) => Err(Refusal::invalid(format!(
            "anthropic-version: \"{other}\" is not a valid version"
        ))),
        None => Err(Refusal::invalid("anthropic-version: header is required")),
    }
}

/// Versions are dates. Which of them exist is an open list.
fn is_date(version: &str) -> bool {
    version.parse::<jiff::civil::Date>().is_ok() && version.len() == 10
}

/// `/v1/messages/count_tokens`.
fn count(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Result<Answer, Refusal> {
    let request = parse(incoming.body)?;
    let call = Call::read(
        &request,
        incoming.headers,
        organisation,
        &mut provider.lexicon,
    )?;
    if provider.config.compaction == Compaction::Unknown {
        rules::unknown::check(&call)?;
    }
    rules::check(&call, Purpose::Count, &provider.seal)?;
    let examined = examine(&call, &provider.seal, terms(provider))?;
    let view = View::of(&call, &examined);
    let mut body = json!({"input_tokens": view.tokens()});
    if call.field("context_management").is_some() {
        let original = json!({"original_input_tokens": view.original});
        set(&mut body, "context_management", original);
    }
    Ok(Answer::json(200, body.to_string()))
}

fn terms(provider: &Provider) -> Terms {
    Terms {
        binding: provider.config.binding,
        signatures: provider.config.signatures,
    }
}
