//! The configuration for display, as TOML and as JSON. Secrets are never shown.

use std::fmt::Write;

use context::Tokens;
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::config::effective::Effective;
use crate::config::setting::{SETTINGS, Setting, Visibility};

/// Quotes a text as in `ebbtide.toml`.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Formats a list, or `none`.
pub(super) fn listed(values: &[String]) -> String {
    match values {
        [] => quoted(super::setting::NONE),
        values => quoted(&values.join(", ")),
    }
}

/// Formats tokens, or a word if there are none.
pub(super) fn whole_or(tokens: Option<Tokens>, none: &str) -> String {
    tokens.map_or_else(|| quoted(none), |tokens| tokens.get().to_string())
}

/// Formats a number, or `none`.
pub(super) fn number(number: Option<f64>) -> String {
    number.map_or_else(|| quoted(super::setting::NONE), |number| number.to_string())
}

/// Formats a duration.
pub(super) fn time(duration: SignedDuration) -> String {
    quoted(&format!("{duration:#}"))
}

/// Formats an age in the largest unit that divides it.
pub(super) fn age_text(age: SignedDuration) -> String {
    let minutes = age.as_mins();
    quoted(&match (minutes % (24 * 60), minutes % 60) {
        (0, _) => format!("{}d", minutes / (24 * 60)),
        (_, 0) => format!("{}h", minutes / 60),
        _ => format!("{minutes}m"),
    })
}

impl Effective {
    /// Formats an equivalent `ebbtide.toml` with the origin of each value.
    #[must_use]
    pub fn as_toml(&self) -> String {
        let mut out = String::new();
        let mut table = "";
        for setting in SETTINGS {
            let (of, key) = setting.key.rsplit_once('.').unwrap_or(("", setting.key));
            if of != table {
                // Writing to a string cannot fail.
                let _ = write!(out, "\n[{of}]\n");
                table = of;
            }
            let _ = writeln!(out, "{}", self.line(setting, key));
        }
        out
    }

    fn line(&self, setting: &Setting, key: &str) -> String {
        let origin = self.origin(setting);
        match ((setting.show)(&self.config), setting.shown) {
            (Some(value), Visibility::Openly) => format!("{key} = {value}  # {origin}"),
            (Some(_), Visibility::AsSet) => format!("# {key} is set  # {origin}"),
            (None, _) => format!("# {key} is not set"),
        }
    }

    /// Formats each key with its value and origin as JSON.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let entries = SETTINGS.iter().map(|setting| {
            let value = match ((setting.show)(&self.config), setting.shown) {
                (Some(value), Visibility::Openly) => plain(&value),
                (Some(_), Visibility::AsSet) => json!("set"),
                (None, _) => json!("not set"),
            };
            let entry = json!({"value": value, "origin": self.origin(setting).to_string()});
            (setting.key.to_owned(), entry)
        });
        Value::Object(entries.collect::<Map<String, Value>>())
    }
}

/// Converts a TOML value to JSON.
fn plain(value: &str) -> Value {
    let table: Option<toml::Table> = format!("value = {value}").parse().ok();
    let value = table.and_then(|mut table| table.remove("value"));
    value
        .and_then(|value| serde_json::to_value(value).ok())
        .unwrap_or_default()
}
