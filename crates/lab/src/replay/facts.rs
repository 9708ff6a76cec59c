//! Facts about the session that is replayed.

use context::title::{first_words, folder_name, titled};
use context::{Role, Tokens, Turn};
use wire::session::{Format, Session};

use super::{Scene, tokens_of};
use crate::cache::Charge;
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
        label: label(session),
        started: session
            .turns
            .iter()
            .find_map(Turn::at)
            .map(|at| at.to_string()),
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

/// A name for people: the product's own, or else the first line that the user typed, behind the folder's
/// name. `None` if the log has none of them.
fn label(session: &Session) -> Option<String> {
    let name = session.name.as_ref().map(|name| name.as_str().trim());
    let name = name.filter(|name| !name.is_empty()).map(str::to_owned);
    let words = name.or_else(|| first_words(&session.turns))?;
    let folder = session.folder.as_deref().and_then(folder_name);
    Some(titled(folder, &words))
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
            let summary = scene.counter.count(&compaction.summary);
            ProductCompaction {
                before_turn: compaction.before,
                tokens_since_last: tokens_of(since.unwrap_or_default()).get(),
                reported_tokens_before: compaction.tokens_before.map(Tokens::get),
                summary_tokens: summary.get(),
                by_hand: compaction.by_hand,
                simulated_wait_seconds: waited(scene, compaction.tokens_before, summary),
            }
        })
        .collect()
}

/// The time that the person waited while the product's model wrote a summary of this size, by the latency
/// model.
fn waited(scene: &Scene<'_>, before: Option<Tokens>, summary: Tokens) -> f64 {
    let read = Charge {
        read: before.unwrap_or_default(),
        ..Charge::default()
    };
    let latency = &scene.options.latency;
    latency.call(read, summary).as_secs_f64()
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
