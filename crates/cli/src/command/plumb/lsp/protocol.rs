//! The parts of the language server protocol that are spoken here. Field names are the protocol's.

use serde::{Deserialize, Serialize};

/// `textDocument/didOpen`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    pub text_document: Text,
}

/// A text with its name.
#[derive(Debug, Deserialize)]
pub struct Text {
    pub uri: String,
    pub text: String,
}

/// `textDocument/didChange`. The changes are whole texts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    pub text_document: Name,
    pub content_changes: Vec<Content>,
}

/// The name of a text.
#[derive(Debug, Deserialize)]
pub struct Name {
    pub uri: String,
}

/// A whole text.
#[derive(Debug, Deserialize)]
pub struct Content {
    pub text: String,
}

/// `textDocument/didClose`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closed {
    pub text_document: Name,
}

/// What requests about a whole text carry.
#[derive(Debug, Deserialize)]
#[serde(from = "Closed")]
pub struct Document {
    pub uri: String,
}

impl From<Closed> for Document {
    fn from(closed: Closed) -> Self {
        Self {
            uri: closed.text_document.uri,
        }
    }
}

/// What requests about a place carry.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct At {
    pub text_document: Name,
    pub position: Position,
}

/// A place: from 0, characters in UTF-16 units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// From a place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// A range of a text.
#[derive(Clone, Debug, Serialize)]
pub struct Location {
    pub uri: String,
    pub range: Range,
}

/// Something that is wrong with a text.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    pub range: Range,
    /// 1 an error, 2 a warning.
    pub severity: u8,
    pub code: &'static str,
    pub source: &'static str,
    pub message: String,
    pub related_information: Vec<Related>,
}

/// Another place that has to do with it.
#[derive(Clone, Debug, Serialize)]
pub struct Related {
    pub location: Location,
    pub message: String,
}

/// What stands at a place.
#[derive(Clone, Debug, Serialize)]
pub struct Hover {
    pub contents: Markup,
    pub range: Range,
}

/// Markdown.
#[derive(Clone, Debug, Serialize)]
pub struct Markup {
    pub kind: &'static str,
    pub value: String,
}

/// What could stand at a place.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub label: String,
    /// The protocol's number of its kind.
    pub kind: u8,
    pub detail: String,
    /// By what the editor orders them.
    pub sort_text: String,
}

/// A change of a text.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    pub range: Range,
    pub new_text: String,
}
