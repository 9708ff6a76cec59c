//! The file of `--state`: the memories of agents from one run to the next.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use driver::{Network, StateError};

use crate::failure::Failure;

/// The state file of a run.
pub struct StateFile {
    path: PathBuf,
    /// The text that the file holds.
    written: Option<String>,
}

impl StateFile {
    /// Opens a state file, and gives the agents of a network the memories in it. A file that does not exist is
    /// created by the first [`StateFile::save`].
    pub fn open(path: &Path, network: &mut Network) -> Result<Self, Failure> {
        let written = match fs::read(path) {
            Ok(bytes) => {
                let refused = |error: StateError| Failure::of(&error).at(&path.display());
                let text = String::from_utf8(bytes).map_err(|_| {
                    refused(StateError::Damaged {
                        why: "it is not UTF-8".to_owned(),
                    })
                })?;
                network.restore(&text).map_err(refused)?;
                Some(text)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::unreadable(path)(error)),
        };
        Ok(Self {
            // The file that a link names is replaced, not the link.
            path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            written,
        })
    }

    /// Writes the memories as they are now, unless the file holds them already. After a crash at any moment the
    /// file is the old one or the new one.
    pub fn save(&mut self, network: &Network) -> Result<(), Failure> {
        let text = network.state().map_err(|error| Failure::of(&error))?;
        if self.written.as_ref() != Some(&text) {
            self.replace(&text)
                .map_err(Failure::unwritable(&self.path))?;
            self.written = Some(text);
        }
        Ok(())
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let new = self.path.with_file_name(name);
        // One of a process that had this number and was killed.
        let _ = fs::remove_file(&new);
        let written = private(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

/// A new file that only its owner can read: memories hold whatever was said.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
