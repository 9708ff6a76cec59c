//! The client's own compaction: how its request is recognised, and what answers it.

use context::Tokens;
use jiff::Timestamp;
use wire::api::Request;

use crate::core::Direct;

/// A request in which the client compacts on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCompaction {
    /// Who asks, for the journal: `claude-code`, `codex`, `anthropic-api`, …
    pub client: &'static str,
    /// How many of the messages it is about: the ones before its prompt.
    pub covers: usize,
    /// What it wants back.
    pub wants: Wants,
}

/// What a client that compacts wants back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// The provider's own sealed block. It can not be written here; see [`answer_sealed`].
    Sealed,
    /// Nothing now: the provider is to compact by itself from this size on, where one is named.
    Later(Option<Tokens>),
    /// A text about the messages of the request. See [`answer`].
    Text(Form),
    /// A text about a conversation that stands as text inside the prompt: nothing of it is known here.
    Foreign,
}

/// How the text that a client wants is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Plain,
    /// In `<summary>` and `</summary>`.
    Summary,
}

/// Recognises the client's own compaction. `target` is the request's path and query.
#[must_use]
pub fn own_compaction(_target: &str, _request: &Request<'_>) -> Option<ClientCompaction> {
    None
}

/// The answer that carries `summary`, which must stand for all messages that the client asks about
/// ([`ClientCompaction::covers`]): it will throw them away. Streamed where the request asks for that.
/// `None` where the client wants no text.
///
/// It says that no tokens were used, which is true of this request.
#[must_use]
pub fn answer(
    _request: &Request<'_>,
    _own: &ClientCompaction,
    _summary: &str,
    _now: Timestamp,
) -> Option<Direct> {
    None
}

/// The answer that carries the provider's own block, which must be the one of exactly the messages of
/// this request: `block` is the JSON of the content block. Anthropic only.
#[must_use]
pub fn answer_sealed(
    _request: &Request<'_>,
    _own: &ClientCompaction,
    _block: &str,
    _now: Timestamp,
) -> Option<Direct> {
    None
}
