//! Facts about the session that is replayed.

use context::title::is_session_id;
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
    let started = session.turns.iter().find_map(Turn::at);
    let started = started.map(|at| at.to_string());
    SessionFacts {
        title: session.title.clone(),
        label: (session.label()).or_else(|| nameless(session, started.as_deref())),
        started,
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

/// The name of a session of which nothing else is known than its format and day. `None` where the file has a name.
fn nameless(session: &Session, started: Option<&str>) -> Option<String> {
    let day = started.and_then(|started| started.get(..10));
    let format = format_name(session.format);
    is_session_id(&session.title).then(|| match day {
        Some(day) => format!("{format} session of {day}"),
        None => format!("{format} session"),
    })
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
