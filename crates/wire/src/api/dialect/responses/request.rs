//! Changes to Responses requests.

use context::Part;
use serde_json::json;

use super::{NO_CALLS, TABLE};
use crate::api::dialect::{CompactionAsk, TextAsk};
use crate::api::edit::{Edit, Piece};
use crate::api::json::write::Object;
use crate::api::request::Request;

/// The longest identifier that an error quotes whole, in characters.
const SHOWN: usize = 80;

/// The last item of a request that asks for a compaction.
const TRIGGER: &str = r#"{"type":"compaction_trigger"}"#;

pub(super) fn compacts(request: &Request<'_>) -> Option<usize> {
    let newest = request.newest()?;
    let is_trigger =
        |part: &Part| matches!(part, Part::Opaque(it) if it.kind.as_str() == "compaction_trigger");
    let ends = newest.contains("compaction_trigger") && newest.draft().parts.iter().any(is_trigger);
    ends.then(|| request.len().saturating_sub(1))
}

/// Appends the trigger.
pub(super) fn ask_for_compaction<'r>(
    edit: Edit<'r>,
    _: &CompactionAsk<'_>,
) -> Result<Edit<'r>, &'static str> {
    let request = edit.request();
    if request.is_held_by_provider() {
        return Err("the provider holds the conversation itself");
    }
    if request
        .messages()
        .any(|it| it.contains("\"compaction_trigger\""))
    {
        return Err("the request already asks for a compaction");
    }
    let pieces = vec![
        Piece::Kept(0..request.len()),
        Piece::Written(TRIGGER.into()),
    ];
    Ok(edit.messages(pieces).set("stream", "true").remove_all(&[
        "context_management",
        "max_output_tokens",
        "background",
    ]))
}

pub(super) fn ask_for_text<'r>(edit: Edit<'r>, ask: &TextAsk) -> Edit<'r> {
    edit.set(TABLE.facts.keys.longest_answer, ask.longest.to_string())
        .remove("background")
        .change("text", |text| text.shift_remove("format").is_some())
        .without_calls(NO_CALLS)
}

/// The provider's own words: clients look for the code.
pub(super) fn unknown_answer(request: &Request<'_>) -> Option<String> {
    let key = TABLE.facts.keys.previous_answer?;
    let id = request.field_text(key)?;
    let mut shown: String = id.chars().take(SHOWN).collect();
    if shown.len() < id.len() {
        shown.push('…');
    }
    let body = json!({"error": {
        "message": format!("Previous response with id '{shown}' not found."),
        "type": "invalid_request_error",
        "param": key,
        "code": "previous_response_not_found",
    }});
    Some(body.to_string())
}

pub(super) fn tool(named: Object, schema: &str) -> String {
    let named = named.raw("parameters", schema);
    named.text("type", "function").end()
}
