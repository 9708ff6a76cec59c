//! The models endpoint.

use serde_json::{Value, json};
use tokens::{Known, ModelTable, Provider};

use crate::exchange::Answer;
use crate::refusal::Refusal;

fn card(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "openai"})
}

/// All models.
pub(super) fn list() -> Answer {
    let models = ModelTable::shipped().models();
    let cards: Vec<Value> = models
        // The entry for all the others is no model.
        .filter(|model| model.provider == Provider::OpenAi && model.name != "gpt")
        .map(|model| card(&model.name))
        .collect();
    Answer::json(200, json!({"object": "list", "data": cards}).to_string())
}

/// One model.
pub(super) fn one(name: &str) -> Result<Answer, Refusal> {
    let model = ModelTable::shipped().find(name);
    if model.provider != Provider::OpenAi || model.known == Known::Unknown {
        return Err(missing(name));
    }
    Ok(Answer::json(200, card(name).to_string()))
}

/// 404 for a model.
pub(super) fn missing(name: &str) -> Refusal {
    Refusal::new(
        404,
        "invalid_request_error",
        format!("The model `{name}` does not exist or you do not have access to it."),
    )
    .coded("model_not_found")
}
