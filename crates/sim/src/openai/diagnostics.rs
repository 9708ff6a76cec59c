//! Diagnoses cache misses against a response that the client names.

use serde_json::{Value, json};

use super::items::Call;
use crate::organisation::Organisation;
use crate::seal::{Print, print};

/// The parts of a request that later requests are compared with.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    /// The settings that decide about the cache, in the order in which they are compared.
    settings: [Print; 7],
    items: Vec<Print>,
    compactions: usize,
    tokens: u64,
}

/// The reasons, in the order of the settings.
const REASONS: [&str; 7] = [
    "model_changed",
    "prompt_cache_key_changed",
    "tools_changed",
    "text_format_changed",
    "reasoning_effort_changed",
    "verbosity_changed",
    "service_tier_changed",
];

impl Compared {
    pub fn of(call: &Call, tokens: u64) -> Self {
        let inner = |key: &str, member: &str| {
            let found = call.field(key).and_then(|it| it.get(member));
            found.map(Value::to_string).unwrap_or_default()
        };
        let whole = |key: &str| call.field(key).map(Value::to_string).unwrap_or_default();
        let compactions = call.items.iter().filter(|item| item.kind() == "compaction");
        let instructions = print(&[whole("instructions").as_bytes()]);
        Self {
            settings: [
                call.known.model.name.clone(),
                whole("prompt_cache_key"),
                whole("tools"),
                inner("text", "format") + &whole("response_format"),
                inner("reasoning", "effort") + &whole("reasoning_effort"),
                inner("text", "verbosity") + &whole("verbosity"),
                whole("service_tier"),
            ]
            .map(|setting| print(&[setting.as_bytes()])),
            items: [instructions]
                .into_iter()
                .chain(call.shown().map(|item| item.print))
                .collect(),
            compactions: compactions.count(),
            tokens,
        }
    }

    /// The reason why `next` could not read all of this one.
    fn reason(&self, next: &Self) -> Option<&'static str> {
        let settings = self.settings.iter().zip(&next.settings).zip(REASONS);
        let changed = settings.into_iter().find(|((one, other), _)| one != other);
        if let Some((_, reason)) = changed {
            return Some(reason);
        }
        if next.items.starts_with(&self.items) {
            return None;
        }
        Some(if next.compactions > self.compactions {
            "context_compacted"
        } else {
            "input_changed"
        })
    }
}

/// `prompt_cache_diagnostics` of an answer that read `read` tokens from the cache.
pub(super) fn diagnose(
    call: &Call,
    now: &Compared,
    organisation: &Organisation,
    read: u64,
) -> Option<Value> {
    let id = call.cache_option("comparison_response_id")?.as_str()?;
    let Some(before) = organisation.compared.get(id) else {
        return Some(json!({"type": "comparison_response_not_found"}));
    };
    Some(match before.1.reason(now) {
        Some(reason) => json!({
            "type": "cache_miss",
            "reason": reason,
            "cache_missed_tokens": before.1.tokens.saturating_sub(read),
        }),
        None => json!({"type": "cache_hit"}),
    })
}
