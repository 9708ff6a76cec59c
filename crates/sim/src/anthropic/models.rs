//! The models endpoint.

use serde_json::{Value, json};
use tokens::{Capability, Known, Model, ModelTable, Provider};

use crate::config::Compaction;
use crate::exchange::Answer;
use crate::refusal::Refusal;

fn card(model: &Model, compaction: Compaction) -> Value {
    let compacts = compaction == Compaction::Known && model.can(Capability::NativeCompaction);
    let edits = model.can(Capability::ContextEditing);
    json!({
        "type": "model",
        "id": model.name,
        "display_name": model.name,
        "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": model.window.get(),
        "max_tokens": model.max_output.get(),
        "capabilities": {
            "compaction": {"supported": compacts, "summarize": {"supported": compacts}},
            "context_management": {"supported": edits},
        },
    })
}

/// All models.
pub(super) fn list(compaction: Compaction) -> Answer {
    let cards: Vec<Value> = ModelTable::shipped()
        .models()
        // An entry without a dash is a family, no model.
        .filter(|model| model.provider == Provider::Anthropic && model.name.contains('-'))
        .map(|model| card(model, compaction))
        .collect();
    let id = |card: Option<&Value>| card.and_then(|card| card.get("id").cloned());
    let body = json!({
        "data": cards,
        "has_more": false,
        "first_id": id(cards.first()),
        "last_id": id(cards.last()),
    });
    Answer::json(200, body.to_string())
}

/// One model.
pub(super) fn one(name: &str, compaction: Compaction) -> Result<Answer, Refusal> {
    let model = ModelTable::shipped().find(name);
    if model.provider != Provider::Anthropic || model.known == Known::Unknown {
        return Err(Refusal::new(
            404,
            "not_found_error",
            format!("model: {name}"),
        ));
    }
    Ok(Answer::json(200, card(&model, compaction).to_string()))
}
