//! `ebbtide inspect --pulses`: one line per step of the agent, and how it was. Reads such lines back.

use context::Tokens;
use context::vitality::{Pulse, VitalityAnalyzer, pulses};
use lab::figures;
use wire::session::Session;

use super::window::LIMIT;
use crate::console::Console;
use crate::failure::Failure;

/// The beginning of every line in a log of pulses.
const PREFIX: &[u8] = b"PULSE|";

/// Prints the pulses of a session, and how its agent was in the end.
pub(super) fn print(session: &Session, console: &mut Console) -> Result<(), Failure> {
    let mut analyzer = VitalityAnalyzer::default();
    for pulse in pulses(&session.title, &session.turns, window(session)) {
        let pulse = match &session.model {
            Some(model) => pulse.with_metadata("model", model),
            None => pulse,
        };
        console.record(pulse.to_log())?;
        analyzer.ingest(pulse);
    }
    note(&session.title, &analyzer, console);
    Ok(())
}

fn window(session: &Session) -> Tokens {
    let model = session.model.as_deref();
    model.map_or(LIMIT, |model| {
        tokens::ModelTable::shipped().find(model).window
    })
}

/// Returns the lines of a log of pulses; `None` where the file is something else.
pub(super) fn lines(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    bytes.starts_with(PREFIX).then_some(text)
}

/// Prints how each agent of a log was in the end.
pub(super) fn print_log(text: &str, path: &str, console: &mut Console) -> Result<(), Failure> {
    let mut analyzer = VitalityAnalyzer::default();
    let mut agents: Vec<String> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let pulse = Pulse::from_log(line)
            .map_err(|error| Failure::of(&error).at(&format!("{path}:{}", index + 1)))?;
        if !agents.contains(&pulse.agent) {
            agents.push(pulse.agent.clone());
        }
        analyzer.ingest(pulse);
    }
    for agent in &agents {
        console.line(described(agent, &analyzer))?;
    }
    Ok(())
}

fn note(agent: &str, analyzer: &VitalityAnalyzer, console: &mut Console) {
    console.note(described(agent, analyzer));
}

/// An agent in one line: its state, its figures, and what to do.
fn described(agent: &str, analyzer: &VitalityAnalyzer) -> String {
    let Some(status) = analyzer.status(agent) else {
        return format!("{agent}: no pulses");
    };
    let figures = analyzer.statistics(agent);
    let mut line = format!(
        "{agent}: {}; the newest {} did {} different things",
        status.message(),
        figures::plural(figures.pulses, "step"),
        figures.different,
    );
    if figures.most_repeated > 1 {
        line += &format!(", one of them {} times", figures.most_repeated);
    }
    if let Some(last) = analyzer.history(agent).last() {
        line += &format!(
            "; at {} of the window",
            figures::percent(last.pressure.get())
        );
    }
    if !status.is_healthy() {
        line += &format!("; advice: {}", status.recommendations().join(", "));
    }
    line
}
