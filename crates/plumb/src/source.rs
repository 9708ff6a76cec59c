//! The texts of one check.

use std::sync::Arc;

use crate::span::{SourceId, Span};

/// A text with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file name, or the name of a module.
    pub name: Arc<str>,
    /// The path for diagnostics, or the name if it has no file.
    pub place: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

/// The texts of one check: the program at 0, then its modules in the order in which they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    /// Adds a text. After 65,535 of them every further one gets the last number.
    pub fn add(&mut self, name: &str, text: &str) -> SourceId {
        self.add_at(name, name, text)
    }

    /// Adds a text with a path of its own; otherwise the same as [`add`](Self::add).
    pub fn add_at(&mut self, name: &str, place: &str, text: &str) -> SourceId {
        let id = SourceId(u16::try_from(self.list.len()).unwrap_or(u16::MAX));
        self.list.push(Source {
            name: name.into(),
            place: place.into(),
            text: text.into(),
        });
        id
    }

    /// The text with this number.
    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.list.get(usize::from(id.0))
    }

    /// The start of a span as `place:line:column`, both from 1, in characters. `None` if it is in none of
    /// these texts.
    #[must_use]
    pub fn locate(&self, span: Span) -> Option<String> {
        let source = self.get(span.source)?;
        let before = source.text.get(..span.range().start)?;
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Some(format!("{}:{line}:{column}", source.place))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        (0..=u16::MAX).map(SourceId).zip(&self.list)
    }
}
