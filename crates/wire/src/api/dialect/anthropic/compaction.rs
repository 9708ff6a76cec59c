//! Anthropic's own compaction.

use context::Part;
use serde_json::{Map, Value};

use super::request::drop_forced_call;
use crate::api::dialect::CompactionAsk;
use crate::api::edit::Edit;
use crate::api::request::Request;

/// The longest instructions for a summary, in characters.
const LONGEST_INSTRUCTIONS: usize = 16_384;

/// Fields that the provider refuses together with `compaction`, and a thread, which would be another
/// one. All of them stand outside the cached prefix.
const REFUSED: [&str; 5] = [
    "context_management",
    "stop_sequences",
    "output_format",
    "thread",
    "diagnostics",
];

pub(super) fn compacts(request: &Request<'_>) -> Option<usize> {
    request.sets("compaction").then_some(request.len())
}

pub(super) fn may_carry(request: &Request<'_>, from: usize) -> Result<(), &'static str> {
    let is_block =
        |part: &Part| matches!(part, Part::Opaque(it) if it.kind.as_str() == "compaction");
    let second = request.messages().skip(from).any(|message| {
        message.contains("\"compaction\"") && message.draft().parts.iter().any(is_block)
    });
    if second {
        return Err("the client carries one already");
    }
    Ok(())
}

/// Beside the provider's own block, a request may neither say how much of a task's budget remains
/// nor ask the provider to compact.
pub(super) fn carrying(mut edit: Edit<'_>) -> Result<Edit<'_>, &'static str> {
    if let Some(mut config) = read(&edit, "output_config", "\"remaining\"")? {
        let budget = config.get_mut("task_budget").and_then(Value::as_object_mut);
        if budget.and_then(|it| it.shift_remove("remaining")).is_some() {
            edit = edit.set("output_config", config.to_string());
        }
    }
    if let Some(mut management) = read(&edit, "context_management", "\"compact_")? {
        let edits = management.get_mut("edits").and_then(Value::as_array_mut);
        let compacts = |it: &Value| {
            let kind = it.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| kind.starts_with("compact_"))
        };
        edit = match edits {
            Some(edits) if edits.iter().all(compacts) => edit.remove("context_management"),
            Some(edits) => {
                edits.retain(|it| !compacts(it));
                edit.set("context_management", management.to_string())
            }
            None => edit,
        };
    }
    Ok(edit)
}

/// The top-level field `key`, where `word` stands in it.
fn read(edit: &Edit<'_>, key: &str, word: &str) -> Result<Option<Value>, &'static str> {
    let field = edit.request().field(key);
    let Some(field) = field.filter(|field| field.value.contains(word)) else {
        return Ok(None);
    };
    let value = serde_json::from_str(field.value);
    value.map(Some).map_err(|_| "a field cannot be read")
}

pub(super) fn ask<'r>(
    mut edit: Edit<'r>,
    ask: &CompactionAsk<'_>,
) -> Result<Edit<'r>, &'static str> {
    let request = edit.request();
    if request.field("compaction").is_some() {
        return Err("the request already asks for a compaction");
    }
    let mut compaction = Map::new();
    compaction.insert("type".to_owned(), Value::from("summarize"));
    let said = ask.instructions.map(str::trim);
    if let Some(text) = said.filter(|text| !text.is_empty()) {
        let text: String = text.chars().take(LONGEST_INSTRUCTIONS).collect();
        compaction.insert("instructions".to_owned(), Value::from(text));
    }
    let own = request.field("max_tokens");
    let own: Option<u64> = own.and_then(|it| it.value.parse().ok());
    let most = own.unwrap_or_default().max(ask.least.get());
    edit = edit
        .set("compaction", Value::Object(compaction).to_string())
        .set("max_tokens", most.to_string())
        .set("stream", "true")
        .remove_all(&REFUSED);
    edit = drop_forced_call(edit);
    edit = edit.change("output_config", |config| {
        let budget = config.get_mut("task_budget").and_then(Value::as_object_mut);
        let remaining = budget.and_then(|budget| budget.shift_remove("remaining"));
        config.shift_remove("format").or(remaining).is_some()
    });
    Ok(without_formats_of_fallbacks(edit))
}

fn without_formats_of_fallbacks(edit: Edit<'_>) -> Edit<'_> {
    let Some(Value::Array(mut fallbacks)) = edit.request().field_json("fallbacks") else {
        return edit;
    };
    // A fallback may have an `output_config` of its own, to which the same rule applies.
    let mut changed = false;
    for fallback in &mut fallbacks {
        let config = fallback.get_mut("output_config");
        let config = config.and_then(Value::as_object_mut);
        changed |= config.is_some_and(|config| config.shift_remove("format").is_some());
    }
    if changed {
        edit.set("fallbacks", Value::Array(fallbacks).to_string())
    } else {
        edit
    }
}
