//! Replays one session under each strategy, in virtual time.

use context::{Role, Tokens};
use wire::session::{Format, Session};

use crate::compare::{Comparison, ProductCompaction, SCHEMA, SessionFacts, Simulation};
use crate::options::{Options, Progress, ReplayError, SMALLEST_WINDOW};

/// Replays a session as its client would have sent it: before each assistant turn one request with
/// the whole history so far.
///
/// The same session and options give the same comparison, byte for byte in JSON. `progress` is
/// called now and then on the calling thread.
///
/// # Errors
/// [`ReplayError`] where the options can not be met; a session as such is never refused.
pub fn run(
    session: &Session,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Comparison, ReplayError> {
    let window = options.window.unwrap_or(Tokens::new(200_000));
    if window < SMALLEST_WINDOW {
        return Err(ReplayError::WindowTooSmall(window));
    }
    for &strategy in &options.strategies {
        progress(Progress {
            strategy,
            done: 0,
            of: requests(session),
        });
    }
    Ok(Comparison {
        schema: SCHEMA,
        session: facts(session),
        simulation: Simulation::default(),
        strategies: Vec::new(),
    })
}

/// How many requests the session's client sent.
fn requests(session: &Session) -> usize {
    session
        .turns
        .iter()
        .filter(|turn| turn.role() == Role::Assistant)
        .count()
}

fn facts(session: &Session) -> SessionFacts {
    SessionFacts {
        title: session.title.clone(),
        format: format_name(session.format),
        model: session.model.clone(),
        turns: session.turns.len(),
        requests: requests(session),
        tokens: session.turns.iter().map(|turn| turn.tokens().get()).sum(),
        pins: Vec::new(),
        product_compactions: product_compactions(session),
        problems: session.problems.len(),
    }
}

fn product_compactions(session: &Session) -> Vec<ProductCompaction> {
    let mut last = 0;
    session
        .compactions
        .iter()
        .map(|compaction| {
            let since = session
                .turns
                .get(last..compaction.before)
                .unwrap_or_default();
            last = compaction.before;
            ProductCompaction {
                before_turn: compaction.before,
                tokens_since_last: since.iter().map(|turn| turn.tokens().get()).sum(),
                reported_tokens_before: compaction.tokens_before.map(Tokens::get),
                summary_tokens: 0,
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
