//! A settings file that is read as JSON values and edited in place.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::ConnectError;
use super::json::JsonDocument;
use super::toml::TomlDocument;

/// The syntax of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON, with or without comments and trailing commas.
    Json,
    Toml,
}

impl Format {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Toml => "TOML",
        }
    }
}

/// The place and reason of a syntax error. The reason quotes nothing from the file, which may hold
/// secrets.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    pub reason: String,
}

/// A parsed settings file. Every edit keeps the comments and the formatting of the rest.
///
/// An edit whose path does not exist, or leads through a value of another type, changes nothing;
/// [`edit`](super::edit) checks the path first.
pub trait Document {
    /// The whole document; an empty file is an empty object.
    fn value(&self) -> Value;
    /// Sets the value at a path, and creates the objects on the way.
    fn set(&mut self, keys: &[String], value: &Value);
    /// Appends to the list at a path, which is created if it does not exist.
    fn append(&mut self, keys: &[String], element: &Value);
    /// Removes the value at a path.
    fn remove(&mut self, keys: &[String]);
    /// Removes the first equal element from the list at a path.
    fn take(&mut self, keys: &[String], element: &Value);
    /// Removes the value at a path if it is an object or a list that holds nothing, comments included.
    fn prune(&mut self, keys: &[String]);
    /// The text of the file.
    fn text(&self) -> String;
}

/// Parses a file. An empty text is a valid document in both formats.
pub fn parse(format: Format, text: &str) -> Result<Box<dyn Document>, Malformed> {
    Ok(match format {
        Format::Json => Box::new(JsonDocument::parse(text)?),
        Format::Toml => Box::new(TomlDocument::parse(text)?),
    })
}

/// Parses the text of a client's file; no file is an empty one.
pub fn open(
    path: &Path,
    format: Format,
    text: Option<&str>,
) -> Result<Box<dyn Document>, ConnectError> {
    parse(format, text.unwrap_or_default()).map_err(|malformed| ConnectError::Malformed {
        path: path.to_owned(),
        format,
        malformed,
    })
}
