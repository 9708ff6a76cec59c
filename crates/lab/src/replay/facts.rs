//! Facts about the session that is replayed.

use context::{Role, Tokens};
use wire::session::{Format, Session};

use super::{Scene, tokens_of};
use crate::compare::{PinFacts, ProductCompaction, SessionFacts};

/// The indices of the assistant turns: the client sent a request before each.
pub(super) fn requests(session: &Session) -> Vec<usize> {
    let turns = session.turns.iter().enumerate();
    turns
        .filter(|(_, turn)| turn.role() == Role::Assistant)
        .map(|(index, _)| index)
        .collect()
}

/// The number of system turns at the beginning of the session.
pub(super) fn leading_system_turns(session: &Session) -> usize {
    let turns = session.turns.iter();
    turns.take_while(|turn| turn.role() == Role::System).count()
}

/// The facts of the session that is replayed.
pub(super) fn of(scene: &Scene<'_>) -> SessionFacts {
    let session = scene.session;
    SessionFacts {
        title: session.title.clone(),
        format: format_name(session.format),
        model: session.model.clone(),
        turns: session.turns.len(),
        requests: scene.requests.len(),
        tokens: tokens_of(&session.turns).get(),
        pins: scene
            .pins
            .iter()
            .map(|span| PinFacts {
                text: span.pin.text.to_string(),
                since: span.since,
                until: span.until,
            })
            .collect(),
        product_compactions: product_compactions(scene),
        problems: session.problems.len(),
    }
}

fn product_compactions(scene: &Scene<'_>) -> Vec<ProductCompaction> {
    let session = scene.session;
    let mut last = 0;
    session
        .compactions
        .iter()
        .map(|compaction| {
            let since = session.turns.get(last..compaction.before);
            last = compaction.before;
            ProductCompaction {
                before_turn: compaction.before,
                tokens_since_last: tokens_of(since.unwrap_or_default()).get(),
                reported_tokens_before: compaction.tokens_before.map(Tokens::get),
                summary_tokens: scene.counter.count(&compaction.summary).get(),
            }
        })
        .collect()
}

/// The name of a format in JSON.
#[must_use]
pub const fn format_name(format: Format) -> &'static str {
    match format {
        Format::ClaudeCode => "claude-code",
        Format::Codex => "codex",
        Format::Pi => "pi",
        Format::OpenAiChat => "openai-chat",
        Format::Anthropic => "anthropic",
        Format::LangChain => "langchain",
        Format::Copilot => "copilot",
    }
}
