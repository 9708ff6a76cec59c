//! OpenAI Chat Completions and Responses.

pub(crate) mod stored;

use crate::exchange::{Answer, Incoming};
use crate::provider::Provider;
use crate::refusal::Refusal;
use crate::seal::Print;

/// Whether a request is meant for OpenAI: by its path, or on a path that both have by the header that
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
    _provider: &mut Provider,
    _incoming: &Incoming<'_>,
    _organisation: Print,
) -> Option<Result<Answer, Refusal>> {
    None
}
