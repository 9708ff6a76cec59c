//! Plans the changes to a settings file, before anything is written.

use std::path::PathBuf;

use serde_json::Value;

use super::client::SettingsFile;
use super::document::{self, Document};
use super::edit::{self, Change, Clash};
use super::error::ConnectError;
use super::file::{self, Step};
use super::record::{Touched, hash};
use crate::failure::Failure;

/// The plan for one settings file.
#[derive(Debug)]
pub struct Draft {
    pub is_new: bool,
    /// The missing settings, with the values in their places now. Empty if none is missing.
    pub changes: Vec<Change>,
    /// The document as it is now.
    pub value: Value,
    /// The text to write and the change to record; `None` if no setting is missing.
    pub outcome: Option<(Step, Touched)>,
}

/// Reads a client's file and writes the settings into its text. `recorded` is what an earlier
/// connection did to it.
pub fn draft(file: &SettingsFile, recorded: Option<&Touched>) -> Result<Draft, Failure> {
    let path = file::real(&file.path)?;
    let current = file::read(&path)?;
    let mut document = document::open(&file.path, file.format, current.as_deref())?;
    let value = document.value();
    let changes = apply(file, document.as_mut())?;
    let is_new = current.is_none();
    let outcome = match changes.is_empty() {
        true => None,
        false => Some(outcome(file, (path, current), recorded)?),
    };
    Ok(Draft {
        is_new,
        changes,
        value,
        outcome,
    })
}

/// Plans the new text of a file and its record.
fn outcome(
    file: &SettingsFile,
    (path, current): (PathBuf, Option<String>),
    recorded: Option<&Touched>,
) -> Result<(Step, Touched), Failure> {
    let base = Base::of(file, current.as_deref(), recorded)?;
    let (text, changes) = base.with_settings(file)?;
    let (before, created) = match recorded {
        Some(touched) => (touched.before.clone(), touched.folders.clone()),
        None => (current.clone(), Vec::new()),
    };
    let folders = [file::missing_folders(&path), created].concat();
    let touched = Touched {
        path: path.clone(),
        format: file.format,
        before,
        after: base.unedited.then(|| hash(&text)),
        folders: folders.clone(),
        changes,
    };
    let step = Step {
        path,
        from: current,
        to: Some(text),
        folders,
    };
    Ok((step, touched))
}

impl Draft {
    /// Says if another base URL stood in the file.
    pub fn replaces_a_url(&self) -> bool {
        let outcome = self.outcome.as_ref();
        let mut changes = outcome.iter().flat_map(|(_, touched)| &touched.changes);
        // Base URLs are the only settings that are texts.
        changes.any(|change| change.value.is_string() && change.old.is_some())
    }
}

/// A file's text without what an earlier connection wrote, so that the old values stay those of the
/// user.
struct Base {
    text: Option<String>,
    /// The user has not edited the file since the first connection.
    unedited: bool,
}

impl Base {
    fn of(
        file: &SettingsFile,
        current: Option<&str>,
        recorded: Option<&Touched>,
    ) -> Result<Self, ConnectError> {
        let Some(touched) = recorded else {
            return Ok(Self {
                text: current.map(str::to_owned),
                unedited: true,
            });
        };
        let is_before = touched.before.as_deref() == current;
        if is_before || current.is_some_and(|text| touched.is_unedited(text)) {
            return Ok(Self {
                text: touched.before.clone(),
                unedited: true,
            });
        }
        let mut document = document::open(&file.path, file.format, current)?;
        edit::revert(document.as_mut(), &touched.changes);
        Ok(Self {
            text: Some(document.text()),
            unedited: false,
        })
    }

    /// Writes the settings in, and checks that the new text can be read and holds them all. TOML
    /// forbids some tables beside dotted keys, which the editor does not notice.
    fn with_settings(&self, file: &SettingsFile) -> Result<(String, Vec<Change>), Failure> {
        let mut document = document::open(&file.path, file.format, self.text.as_deref())?;
        let changes = apply(file, document.as_mut())?;
        let text = document.text();
        let written = document::parse(file.format, &text);
        let value = written.map(|document| document.value()).unwrap_or_default();
        let missing = file.settings.iter().find(|setting| !setting.is_in(&value));
        match missing {
            None => Ok((text, changes)),
            Some(setting) => {
                let keys = setting.keys.clone();
                Err(clash(
                    file,
                    Clash {
                        keys,
                        expected: "place for a table",
                    },
                ))
            }
        }
    }
}

fn apply(file: &SettingsFile, document: &mut dyn Document) -> Result<Vec<Change>, Failure> {
    edit::apply(document, &file.settings).map_err(|found| clash(file, found))
}

fn clash(file: &SettingsFile, clash: Clash) -> Failure {
    let path = file.path.clone();
    ConnectError::Clash { path, clash }.into()
}
