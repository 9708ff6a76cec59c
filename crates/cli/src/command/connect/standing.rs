//! The state of a client's settings, for `ebbtide doctor`.

use serde_json::Value;

use super::address::Address;
use super::client::{Client, Reached, SettingsFile};
use super::document;
use super::file;
use super::shown;
use crate::environment::ClientFolders;
use crate::failure::Failure;

/// The extent to which a client's settings point at a gateway.
#[derive(Debug, PartialEq, Eq)]
pub enum Standing {
    /// The client has no settings folder, which is named for display.
    Absent(String),
    /// No setting points at the gateway. Holds the other URLs that are set, without secrets.
    Unconnected(Vec<String>),
    /// Some settings are missing. Holds their keys and files.
    Partial(Vec<String>),
    Connected {
        /// The file with the first setting, for display.
        file: String,
        /// Another setting that keeps the client from using the gateway.
        obstacle: Option<String>,
    },
}

/// Reads a client's settings.
pub fn standing(
    client: Client,
    folders: &ClientFolders,
    address: &Address,
) -> Result<Standing, Failure> {
    let folder = client.folder(folders);
    let mut survey = Survey::default();
    let gateway = Reached { address, key: None };
    for file in client.files(folders, gateway) {
        let text = file::read(&file.path)?;
        let document = document::open(&file.path, file.format, text.as_deref())?;
        survey.add(client, &file, &document.value(), folders);
    }
    Ok(match (survey.held, survey.missing.is_empty()) {
        (0, _) if !folder.exists() => Standing::Absent(shown::path(folder, &folders.home)),
        (0, _) => Standing::Unconnected(survey.others),
        (_, false) => Standing::Partial(survey.missing),
        (_, true) => Standing::Connected {
            file: survey.file.unwrap_or_default(),
            obstacle: survey.obstacle,
        },
    })
}

/// The findings from all files of a client.
#[derive(Default)]
struct Survey {
    held: usize,
    missing: Vec<String>,
    others: Vec<String>,
    file: Option<String>,
    obstacle: Option<String>,
}

impl Survey {
    fn add(&mut self, client: Client, file: &SettingsFile, value: &Value, folders: &ClientFolders) {
        let path = shown::path(&file.path, &folders.home);
        for setting in &file.settings {
            if setting.is_in_with_any_key(value) {
                self.held += 1;
                continue;
            }
            self.missing
                .push(format!("{} in {path}", setting.keys.join(".")));
            let other = setting.found_in(value);
            self.others.extend(other.map(shown::foreign));
        }
        self.file.get_or_insert(path);
        self.obstacle = self.obstacle.take().or_else(|| client.obstacle(value));
    }
}
