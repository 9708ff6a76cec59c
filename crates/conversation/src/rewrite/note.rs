//! Additions to a client's message: the note about the model's memory, and restated pins.

use context::note::RuntimeContext;
use history::Change;
use tokens::{Capability, Model, Provider};
use wire::api::{Dialect, Insertion, Request, SystemBetween, SystemMessages};

/// Something that is added to one message of a request, and its index among the messages.
///
/// The store keeps it as an edition, and every later request repeats it. [`betas`](super::betas)
/// names the beta headers that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// The message that is changed, or behind which something is put.
    pub message: usize,
    /// The change.
    pub change: Change,
}

/// The note at the newest message, through the channel that the model has (see [`Request::note`]). `None`
/// where there is nothing to say, or the model has no channel there.
#[must_use]
pub fn note(request: &Request<'_>, model: &Model, facts: &RuntimeContext<'_>) -> Option<Addition> {
    let takes = takes_system(request.dialect(), model);
    addition(request, request.note(takes, &facts.render())?)
}

/// Returns `true` if a change that was made for one model can be shown to this one. Models without such a
/// channel refuse or misunderstand a system message between others; they see the conversation without it.
#[must_use]
pub fn fits(change: &Change, dialect: Dialect, model: &Model) -> bool {
    let Change::Followed(message) = change else {
        return true;
    };
    // Within a text the quotes would be escaped.
    takes_system(dialect, model) == SystemMessages::Anywhere
        || !message.contains(r#""role":"system""#)
}

fn takes_system(dialect: Dialect, model: &Model) -> SystemMessages {
    let anywhere = match dialect.facts().layout.system_between {
        SystemBetween::Always => true,
        SystemBetween::WithCapability => model.can(Capability::MidConversationSystem),
        SystemBetween::OpenAiOnly => model.provider == Provider::OpenAi,
    };
    if anywhere {
        SystemMessages::Anywhere
    } else {
        SystemMessages::InFront
    }
}

/// Pins restated at the newest message (see [`Request::restatement`]).
#[must_use]
pub fn restate(request: &Request<'_>, text: &str) -> Option<Addition> {
    addition(request, request.restatement(text)?)
}

fn addition(request: &Request<'_>, insertion: Insertion) -> Option<Addition> {
    let change = match insertion {
        Insertion::After(json) => Change::Followed(json.into()),
        Insertion::Block(json) => Change::Appended(json.into()),
    };
    Some(Addition {
        message: request.len().checked_sub(1)?,
        change,
    })
}

#[cfg(test)]
mod tests {
    use super::{Change, RuntimeContext, fits, note};
    use context::Tokens;
    use tokens::ModelTable;
    use wire::api::{Dialect, Request};

    #[track_caller]
    fn check(member: &str, clears: bool) {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"hi"}}]{member}}}"#);
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
        let model = ModelTable::shipped().find("claude-opus-5-5");
        let facts = RuntimeContext {
            used: Some(Tokens::new(900)),
            ..RuntimeContext::default()
        };
        let Change::Followed(said) = note(&request, &model, &facts).unwrap().change else {
            panic!("a message of its own");
        };
        assert_eq!(said.contains("clear_at"), clears, "{said:?}");
    }

    #[test]
    fn a_system_message_between_others_is_shown_to_models_that_take_one() {
        let system = Change::Followed(r#"{"role":"system","content":"n"}"#.into());
        let user = Change::Followed(r#"{"role":"user","content":"\"role\":\"system\""}"#.into());
        let check = |model: &str, dialect, expected| {
            let model = ModelTable::shipped().find(model);
            assert_eq!(fits(&system, dialect, &model), expected, "{}", model.name);
            assert!(fits(&user, dialect, &model), "{}", model.name);
        };
        check("claude-opus-5-5", Dialect::Anthropic, true);
        check("claude-opus-4-5", Dialect::Anthropic, false);
        check("gpt-5.2", Dialect::Chat, true);
        check("llama-3.3-70b", Dialect::Chat, false);
        check("gpt-5.2", Dialect::Responses, true);
    }

    #[test]
    fn a_note_stays_where_the_breakpoint_would_fall_on_it() {
        check("", true);
        check(r#","cache_control":{"type":"ephemeral"}"#, false);
    }
}
