//! The model table: what is known about models, by their names.

mod entry;
mod error;
mod name;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::{Spanned, Value};

pub use self::error::{CODES, Position, TableError};

use self::entry::{Entry, Rejected};
use self::name::Name;
use crate::model::{Known, Model};

/// The models that are shipped, as text.
pub const SHIPPED: &str = include_str!("../../models.toml");

/// The facts about models, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTable {
    default: Entry,
    entries: Vec<Entry>,
}

impl ModelTable {
    /// The table that is compiled in.
    #[must_use]
    pub fn shipped() -> &'static Self {
        static TABLE: LazyLock<ModelTable> = LazyLock::new(|| {
            let empty = ModelTable {
                default: Entry::blank(),
                entries: Vec::new(),
            };
            #[expect(
                clippy::expect_used,
                reason = "the text is compiled in, and a test reads it"
            )]
            empty
                .extended(SHIPPED)
                .expect("the shipped model table is valid")
        });
        &TABLE
    }

    /// This table with the entries of a TOML text laid over it. An entry whose name is known changes
    /// what it states; another one starts from `[default]`, or from the model that `like` names.
    /// Models that were made `like` a changed one before do not change with it.
    ///
    /// # Errors
    /// The text is not TOML or an entry of it is wrong; the error says where and what.
    pub fn extended(&self, text: &str) -> Result<Self, TableError> {
        let document: Document = toml::from_str(text).map_err(|error| TableError::Syntax {
            at: Position::of(text, &error.span().unwrap_or(0..0)),
            message: error.message().trim().replace('\n', "; "),
        })?;
        let mut table = self.clone();
        if let Some(default) = document.default {
            apply(&mut table.default, text, &default.into_inner().0)?;
        }
        let mut seen = BTreeSet::new();
        for row in document.model {
            let name = table.lay_over(text, &row)?;
            if !seen.insert(name.clone()) {
                return Err(TableError::Duplicate {
                    at: Position::of(text, &row.span()),
                    name,
                });
            }
        }
        Ok(table)
    }

    /// Lays one row over the table and returns its name.
    fn lay_over(&mut self, text: &str, row: &Spanned<Pairs>) -> Result<String, TableError> {
        let pairs = &row.get_ref().0;
        let own = |key: &'static str| {
            entry::string(pairs, key)
                .map(|(value, span)| match value {
                    Ok(value) => Ok((value.to_ascii_lowercase(), span)),
                    Err(rejected) => Err(rejection(text, key, rejected, &span, &span)),
                })
                .transpose()
        };
        let (name, _) = own("name")?.ok_or_else(|| TableError::Nameless {
            at: Position::of(text, &row.span()),
        })?;
        let known = self
            .entries
            .iter()
            .position(|entry| entry.model.name == name);
        let mut entry = match own("like")? {
            Some((like, span)) => self.like(&like).ok_or_else(|| TableError::UnknownModel {
                at: Position::of(text, &span),
                name: like,
            })?,
            None => known
                .and_then(|at| self.entries.get(at).cloned())
                .unwrap_or_else(|| Entry {
                    patterns: Vec::new(),
                    ..self.default.clone()
                }),
        };
        entry.model.name.clone_from(&name);
        entry.model.known = Known::Listed;
        entry.patterns.push(name::Pattern::new(&name));
        apply(&mut entry, text, pairs)?;
        match known.and_then(|at| self.entries.get_mut(at)) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
        Ok(name)
    }

    fn like(&self, name: &str) -> Option<Entry> {
        let original = self.entries.iter().find(|entry| entry.model.name == name)?;
        Some(Entry {
            patterns: Vec::new(),
            ..original.clone()
        })
    }

    /// Returns the facts about the model with this name. Every name gets an answer; [`Model::known`] says
    /// what it rests on.
    #[must_use]
    pub fn find(&self, model: &str) -> Model {
        let name = Name::new(model);
        let mut best: Option<(usize, &Entry)> = None;
        for entry in &self.entries {
            let fit = entry
                .patterns
                .iter()
                .filter_map(|pattern| pattern.fit(&name.given).max(pattern.fit(&name.plain)))
                .max();
            // The later of two equals wins, so that a user's entry does.
            if let Some(fit) = fit
                && best.is_none_or(|(before, _)| fit >= before)
            {
                best = Some((fit, entry));
            }
        }
        let mut found = best.map_or(&self.default, |(_, entry)| entry).model.clone();
        found.known = match best {
            Some((usize::MAX, _)) => Known::Listed,
            Some(_) => Known::Similar,
            None => Known::Unknown,
        };
        found.window = name.window.unwrap_or(found.window);
        found
    }

    /// The listed models, in the order of the table.
    pub fn models(&self) -> impl Iterator<Item = &Model> + Clone {
        self.entries.iter().map(|entry| &entry.model)
    }
}

/// Applies all keys of a row but `name` and `like`.
fn apply(
    entry: &mut Entry,
    text: &str,
    pairs: &[(Spanned<String>, Spanned<Value>)],
) -> Result<(), TableError> {
    for (key, value) in pairs {
        if matches!(key.get_ref().as_str(), "name" | "like") {
            continue;
        }
        entry
            .set(key.get_ref(), value.get_ref())
            .map_err(|rejected| {
                rejection(text, key.get_ref(), rejected, &key.span(), &value.span())
            })?;
    }
    Ok(())
}

fn rejection(
    text: &str,
    key: &str,
    rejected: Rejected,
    key_span: &Range<usize>,
    value_span: &Range<usize>,
) -> TableError {
    let key = key.to_owned();
    match rejected {
        Rejected::Key => TableError::UnknownKey {
            at: Position::of(text, key_span),
            key,
        },
        Rejected::Value(expected) => TableError::BadValue {
            at: Position::of(text, value_span),
            key,
            expected,
        },
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    default: Option<Spanned<Pairs>>,
    #[serde(default)]
    model: Vec<Spanned<Pairs>>,
}

/// The keys and values of one row with their places, in the order of the text.
struct Pairs(Vec<(Spanned<String>, Spanned<Value>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}
