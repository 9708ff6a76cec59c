//! An object with some of its members replaced.

use super::tree::Value;
use super::write::{Object, push_string};

/// `object` with the members in `new` (key, JSON) replaced in their place, or added at its end. All
/// other members keep their bytes. A value that is no object counts as an empty one.
pub(crate) fn with_members(object: Value<'_>, new: &[(&str, String)]) -> String {
    let mut out = Object::new();
    let mut left: Vec<&(&str, String)> = new.iter().collect();
    for (key, value) in object.members() {
        let key = key.text().unwrap_or_default();
        let replaced = new.iter().find(|(name, _)| *name == key);
        left.retain(|(name, _)| *name != key);
        out = out.raw(&key, replaced.map_or(value.raw(), |(_, json)| json));
    }
    left.into_iter()
        .fold(out, |out, (key, json)| out.raw(key, json))
        .end()
}

/// A member that grows by deltas: text is put together, anything else is replaced.
#[derive(Clone)]
pub(crate) enum Grown {
    /// The text so far.
    Text(String),
    /// The last value, as JSON.
    Json(String),
}

/// Members that grow by deltas, in the order in which they first came.
#[derive(Clone, Default)]
pub(crate) struct GrowingObject {
    members: Vec<(String, Grown)>,
}

impl GrowingObject {
    /// Adds `text` to the end of the member `key`.
    pub(crate) fn append(&mut self, key: &str, text: &str) {
        match self.members.iter_mut().find(|(name, _)| name == key) {
            Some((_, Grown::Text(grown))) => grown.push_str(text),
            _ => self.set_text(key, text),
        }
    }

    /// Makes `text` the member `key`.
    pub(crate) fn set_text(&mut self, key: &str, text: &str) {
        self.put(key, Grown::Text(text.to_owned()));
    }

    /// Makes `json` the member `key`.
    pub(crate) fn set_json(&mut self, key: &str, json: &str) {
        self.put(key, Grown::Json(json.to_owned()));
    }

    /// Takes a delta's member: a string grows, `null` only takes a free place, other values replace.
    pub(crate) fn grow(&mut self, key: &str, value: Value<'_>) {
        match value.text() {
            Some(text) => self.append(key, &text),
            None if value.is_null() && self.members.iter().any(|(name, _)| name == key) => {}
            None => self.set_json(key, value.raw()),
        }
    }

    /// Returns `true` until the first member comes.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The object as JSON, with `extra` members (key, JSON) at its end.
    pub(crate) fn json(&self, extra: &[(&str, String)]) -> String {
        let mut out = Object::new();
        for (key, value) in &self.members {
            let mut json = String::new();
            match value {
                Grown::Text(text) => push_string(&mut json, text),
                Grown::Json(raw) => json.push_str(raw),
            }
            out = out.raw(key, &json);
        }
        extra
            .iter()
            .fold(out, |out, (key, json)| out.raw(key, json))
            .end()
    }

    fn put(&mut self, key: &str, value: Grown) {
        match self.members.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.members.push((key.to_owned(), value)),
        }
    }
}
