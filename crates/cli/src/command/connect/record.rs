//! The record of a connected client: its files before the connection, and the changes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::client::Client;
use super::document::Format;
use super::edit::Change;
use super::error::ConnectError;
use super::file::{self, Step};
use crate::failure::Failure;

/// The version of the record's form.
const VERSION: u32 = 1;

/// All files of one client that were changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The URL of the gateway that the client uses.
    pub url: String,
    /// The environment variable with the key that the client's hooks and tools send.
    #[serde(default)]
    pub key_variable: Option<String>,
    pub files: Vec<Touched>,
}

/// A file that was changed. The record holds its whole text, secrets included, so only its owner can
/// read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Touched {
    /// The file itself, not a link to it.
    pub path: PathBuf,
    pub format: Format,
    /// The text before the first change; `None` if there was no file.
    pub before: Option<String>,
    /// The hash of the text that was written; `None` if the user edited the file between two
    /// connections, so that `before` lacks that edit.
    pub after: Option<String>,
    /// The folders that were created, the outermost first.
    pub folders: Vec<PathBuf>,
    pub changes: Vec<Change>,
}

impl Touched {
    /// Says if this is the text that was written last.
    pub fn is_unedited(&self, text: &str) -> bool {
        self.after.as_deref() == Some(hash(text).as_str())
    }
}

/// The hash by which an unedited file is recognized.
pub fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Record {
    pub const fn new(url: String, key_variable: Option<String>, files: Vec<Touched>) -> Self {
        Self {
            version: VERSION,
            url,
            key_variable,
            files,
        }
    }

    pub fn file(&self, path: &Path) -> Option<&Touched> {
        self.files.iter().find(|touched| touched.path == path)
    }
}

/// The place of a client's record.
#[derive(Debug)]
pub struct Shelf {
    data_folder: PathBuf,
    path: PathBuf,
    /// The record's text as it was read.
    text: Option<String>,
}

impl Shelf {
    /// Opens the place in Ebbtide's data folder and reads the record that lies there.
    pub fn open(data_folder: &Path, client: Client) -> Result<(Self, Option<Record>), Failure> {
        let name = format!("{}.json", client.word());
        let path = data_folder.join("connect").join(name);
        let text = file::read(&path)?;
        let record = text.as_deref().map(|text| parse(&path, text)).transpose()?;
        let shelf = Self {
            data_folder: data_folder.to_owned(),
            path,
            text,
        };
        Ok((shelf, record))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The step that stores a record, or removes it.
    pub fn step(&self, record: Option<&Record>) -> Result<Step, Failure> {
        let to = record.map(serde_json::to_string_pretty).transpose();
        let to = to.map_err(|error| Failure::unwritable(&self.path)(error.into()))?;
        Ok(Step {
            path: self.path.clone(),
            from: self.text.clone(),
            to,
            folders: vec![self.data_folder.clone(), self.data_folder.join("connect")],
        })
    }
}

fn parse(path: &Path, text: &str) -> Result<Record, ConnectError> {
    let bad = |reason| ConnectError::Record {
        path: path.to_owned(),
        reason,
    };
    // The parser's message may quote a value, so only its place is given.
    let record: Record = serde_json::from_str(text)
        .map_err(|error| bad(format!("line {}, column {}", error.line(), error.column())))?;
    match record.version {
        VERSION => Ok(record),
        other => Err(bad(format!("version {other}"))),
    }
}
