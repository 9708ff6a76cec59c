//! OpenAI Chat Completions and Responses.

mod account;
mod chat;
mod diagnostics;
mod items;
mod models;
mod offered;
mod responses;
mod rules;
mod speech;
pub(crate) mod stored;
mod unknown;
mod write_chat;
mod write_responses;

use crate::config::Compaction;
use crate::exchange::{Answer, Incoming};
use crate::provider::Provider;
use crate::refusal::Refusal;
use crate::seal::Print;

pub(crate) use self::diagnostics::Compared;
pub(crate) use self::items::Item;

/// Returns `true` for requests meant for OpenAI: by the path, or on a path that both have by the header that
/// only Anthropic's clients send.
pub(crate) fn speaks(incoming: &Incoming<'_>) -> bool {
    let path = incoming.route();
    let own = ["/v1/chat/", "/v1/responses"];
    let models = path == "/v1/models" || path.starts_with("/v1/models/");
    own.iter().any(|prefix| path.starts_with(prefix))
        || (models && incoming.header("anthropic-version").is_none())
}

/// Routes a request. `None`: there is no such route here.
pub(crate) fn route(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Option<Result<Answer, Refusal>> {
    Some(match (incoming.method.as_str(), incoming.route()) {
        ("POST", "/v1/chat/completions") => chat::complete(provider, incoming, organisation),
        ("POST", "/v1/responses") => responses::create(provider, incoming, organisation),
        ("POST", "/v1/responses/compact") if provider.config.compaction == Compaction::Known => {
            responses::compact(provider, incoming, organisation)
        }
        ("POST", "/v1/responses/input_tokens") => {
            responses::input_tokens(provider, incoming, organisation)
        }
        ("GET", "/v1/models") => Ok(models::list()),
        ("GET", path) if path.starts_with("/v1/models/") => {
            models::one(path.trim_start_matches("/v1/models/"))
        }
        _ => return None,
    })
}
