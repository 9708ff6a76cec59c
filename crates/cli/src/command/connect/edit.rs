//! Writes settings into a document, and removes them again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document::Document;

/// One value that a client needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path of keys in the file.
    pub keys: Vec<String>,
    pub how: How,
    pub value: Value,
}

/// The way in which a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Sets the value at the path.
    Set,
    /// Appends an element to the list at the path.
    Append,
}

/// A setting that was written, with what is needed to remove it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub keys: Vec<String>,
    pub how: How,
    pub value: Value,
    /// The value that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// The number of keys, from the left, that existed before.
    pub depth: usize,
}

/// A value of another type stands where a setting has to go.
#[derive(Debug, PartialEq, Eq)]
pub struct Clash {
    /// The path of the value; empty for the whole file.
    pub keys: Vec<String>,
    /// The type that is needed, without an article.
    pub expected: &'static str,
}

/// The outcome of reverting one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reverted {
    Removed,
    /// The old value is back.
    Restored,
    /// Someone else has changed the value, so it stays.
    Kept,
    /// The value was removed already.
    Gone,
}

impl Setting {
    /// Says if a document holds the setting.
    pub fn is_in(&self, document: &Value) -> bool {
        stands(document, &self.keys, self.how, &self.value)
    }

    /// Says if a document holds the setting, whatever key it names.
    pub fn is_in_with_any_key(&self, document: &Value) -> bool {
        stands(&without_keys(document), &self.keys, self.how, &self.value)
    }

    /// The other value that stands in the setting's place.
    pub fn found_in<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        match self.how {
            How::Set => at(document, &self.keys),
            How::Append => None,
        }
    }
}

/// Writes the settings that the document lacks and returns them as changes.
pub fn apply(document: &mut dyn Document, settings: &[Setting]) -> Result<Vec<Change>, Clash> {
    let mut changes = Vec::new();
    for setting in settings {
        let whole = document.value();
        if setting.is_in(&whole) {
            continue;
        }
        let depth = depth(&whole, setting)?;
        let old = setting.found_in(&whole).cloned();
        let Setting { keys, how, value } = setting.clone();
        match how {
            How::Set => document.set(&keys, &value),
            How::Append => document.append(&keys, &value),
        }
        changes.push(Change {
            keys,
            how,
            value,
            old,
            depth,
        });
    }
    Ok(changes)
}

/// Reverts changes in a document that was edited since, and returns the outcome of each. The changes
/// are undone last first, because a later one may lie in an object that an earlier one created.
pub fn revert(document: &mut dyn Document, changes: &[Change]) -> Vec<(Change, Reverted)> {
    let reverted = changes.iter().rev();
    let mut outcomes: Vec<_> = reverted
        .map(|change| (change.clone(), revert_one(document, change)))
        .collect();
    outcomes.reverse();
    outcomes
}

fn revert_one(document: &mut dyn Document, change: &Change) -> Reverted {
    let Change {
        keys,
        how,
        value,
        old,
        depth,
    } = change;
    let whole = document.value();
    if !stands(&whole, keys, *how, value) {
        return match (how, at(&whole, keys)) {
            (How::Set, Some(_)) => Reverted::Kept,
            _ => Reverted::Gone,
        };
    }
    if let Some(old) = old {
        document.set(keys, old);
        return Reverted::Restored;
    }
    match how {
        How::Set => document.remove(keys),
        How::Append => document.take(keys, value),
    }
    for length in (depth + 1..=keys.len()).rev() {
        document.prune(keys.get(..length).unwrap_or_default());
    }
    Reverted::Removed
}

fn at<'a>(whole: &'a Value, keys: &[String]) -> Option<&'a Value> {
    keys.iter().try_fold(whole, |value, key| value.get(key))
}

fn stands(whole: &Value, keys: &[String], how: How, value: &Value) -> bool {
    let found = at(whole, keys);
    match how {
        How::Set => found == Some(value),
        How::Append => found
            .and_then(Value::as_array)
            .is_some_and(|list| list.contains(value)),
    }
}

/// A document without the fields by which hooks and MCP servers name a key.
fn without_keys(document: &Value) -> Value {
    const NAMES: [&str; 3] = ["headers", "allowedEnvVars", "bearer_token_env_var"];
    match document {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !NAMES.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), without_keys(value)))
            .collect(),
        Value::Array(list) => list.iter().map(without_keys).collect(),
        other => other.clone(),
    }
}

/// The number of keys of a setting's path that exist.
fn depth(whole: &Value, setting: &Setting) -> Result<usize, Clash> {
    let keys = &setting.keys;
    let clash = |depth: usize, expected| Clash {
        keys: keys.iter().take(depth).cloned().collect(),
        expected,
    };
    let mut value = whole;
    for (depth, key) in keys.iter().enumerate() {
        let map = value.as_object().ok_or(clash(depth, "object"))?;
        match map.get(key) {
            Some(next) => value = next,
            None => return Ok(depth),
        }
    }
    match setting.how {
        How::Append if !value.is_array() => Err(clash(keys.len(), "list")),
        _ => Ok(keys.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Clash, How, Reverted, Setting, apply, revert};
    use crate::command::connect::document::{Format, parse};

    fn setting(path: &str, how: How, value: Value) -> Setting {
        Setting {
            keys: path.split('.').map(str::to_owned).collect(),
            how,
            value,
        }
    }

    fn settings() -> [Setting; 3] {
        [
            setting("env.URL", How::Set, json!("new")),
            setting("hooks.Start", How::Append, json!({"url": "ours"})),
            setting("hooks.Stop", How::Append, json!({"url": "ours"})),
        ]
    }

    /// Applies the settings to a text, has the user edit it, and reverts the changes.
    #[track_caller]
    fn check(text: &str, edit: fn(String) -> String, expected: &str) -> Vec<Reverted> {
        let mut document = parse(Format::Json, text).unwrap();
        let changes = apply(document.as_mut(), &settings()).unwrap();
        let again = apply(document.as_mut(), &settings()).unwrap();
        assert!(again.is_empty(), "nothing is written twice");
        let mut edited = parse(Format::Json, &edit(document.text())).unwrap();
        let outcomes = revert(edited.as_mut(), &changes);
        assert_eq!(edited.text(), expected);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    #[test]
    fn an_edit_elsewhere_stays() {
        let text = "{\n  \"model\": \"a\"\n}\n";
        let edit = |text: String| text.replace("\"a\"", "\"b\"");
        let outcomes = check(text, edit, "{\n  \"model\": \"b\"\n}\n");
        assert_eq!(outcomes, [Reverted::Removed; 3]);
    }

    #[test]
    fn old_values_and_other_hooks_stay() {
        let text = "{\n  \"env\": {\n    \"URL\": \"old\"\n  },\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"url\": \"mine\"\n      }\n    ]\n  }\n}\n";
        let outcomes = check(text, |text| text, text);
        assert_eq!(
            outcomes,
            [Reverted::Restored, Reverted::Removed, Reverted::Removed]
        );
    }

    #[test]
    fn a_value_that_the_user_changed_stays() {
        let edit = |text: String| text.replace("\"new\"", "\"mine\"");
        let expected = "{\n  \"env\": {\n    \"URL\": \"mine\"\n  }\n}\n";
        assert_eq!(check("", edit, expected)[0], Reverted::Kept);
    }

    #[test]
    fn a_value_of_another_type_is_a_clash() {
        for (text, keys, expected) in [
            ("[]", &[][..], "object"),
            ("{\"env\": 1}", &["env"], "object"),
            ("{\"hooks\": {\"Stop\": {}}}", &["hooks", "Stop"], "list"),
        ] {
            let mut document = parse(Format::Json, text).unwrap();
            let clash = apply(document.as_mut(), &settings()).unwrap_err();
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            assert_eq!(clash, Clash { keys, expected }, "{text}");
        }
    }
}
