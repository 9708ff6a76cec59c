//! The provider's report on its input, which shows if a change of ours did harm.

use serde_json::Value;

/// The provider's report on its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The kinds of changes that it made to the input.
    pub(crate) transformed: Vec<String>,
    /// Why its cache was missed.
    pub(crate) missed: Option<String>,
}

impl Proof {
    /// Reads an answer, or an event of one.
    pub fn read(&mut self, json: &str) {
        // Most events hold neither; parsing them all would cost more than the rest of the exchange.
        if !json.contains("input_transformations") && !json.contains("cache_miss_reason") {
            return;
        }
        let Ok(value) = serde_json::from_str::<Value>(json) else {
            return;
        };
        let message = value.get("message").unwrap_or(&value);
        let listed = message.get("input_transformations");
        let kinds = listed.and_then(Value::as_array).into_iter().flatten();
        let kinds = kinds.filter_map(|change| change.get("type")?.as_str());
        self.transformed.extend(kinds.map(str::to_owned));
        let reason = message.pointer("/diagnostics/cache_miss_reason/type");
        if let Some(reason) = reason.and_then(Value::as_str) {
            self.missed = Some(reason.to_owned());
        }
    }
}
