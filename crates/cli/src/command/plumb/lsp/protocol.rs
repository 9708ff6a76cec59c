//! The messages of the language server protocol that this server reads and writes.
//!
//! Field names are the protocol's. Nested objects that are only written are built with `json!`.

use serde::{Deserialize, Serialize};

/// `textDocument/didOpen`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    pub text_document: OpenedDocument,
}

#[derive(Debug, Deserialize)]
pub struct OpenedDocument {
    pub uri: String,
    pub text: String,
}

/// `textDocument/didChange`. Each change is the whole text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    pub text_document: DocumentId,
    pub content_changes: Vec<Content>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct DocumentId {
    pub uri: String,
}

#[derive(Debug, Deserialize)]
pub struct Content {
    pub text: String,
}

/// `textDocument/didClose`, and requests about a whole document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    pub text_document: DocumentId,
}

/// Requests about a position in a document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentPosition {
    pub text_document: DocumentId,
    pub position: Position,
}

/// `textDocument/rename`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renamed {
    pub text_document: DocumentId,
    pub position: Position,
    pub new_name: String,
}

/// `workspace/symbol`.
#[derive(Debug, Deserialize)]
pub struct Query {
    pub query: String,
}

/// Line and character, from 0. Characters count UTF-16 units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// A range in a document.
#[derive(Clone, Debug, Serialize)]
pub struct Location {
    pub uri: String,
    pub range: Range,
}
