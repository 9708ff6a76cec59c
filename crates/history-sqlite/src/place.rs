//! Where the store is: a file that only its user may read, in a folder of the same kind.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use history::HistoryError;

/// Whether a store that is not there is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// It is made, its folder too.
    Made,
    /// That is an error.
    Refused,
}

/// The full path of the store's file, which is there afterwards. A folder that is made gets the mode
/// 0700, the file 0600; what is there already keeps its mode. SQLite gives the files beside it
/// (`-wal`, `-shm`) the mode of the file.
///
/// # Errors
/// [`HistoryError::Unreachable`] where there can be no file, or where there is none and it is not to be
/// made.
pub fn prepare(place: &Path, absent: Absent) -> Result<PathBuf, HistoryError> {
    let named = |what: &str| unreachable(place, what);
    let Some(name) = place.file_name() else {
        return Err(named("the path names no file"));
    };
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = |error: std::io::Error| unreachable(place, &error.to_string());
    if absent == Absent::Made {
        make_folder(folder).map_err(failed)?;
    }
    // A full path never means anything special to SQLite, as `:memory:` or `file:` would.
    let full = folder.canonicalize().map_err(failed)?.join(name);
    match fs::metadata(&full) {
        Ok(there) if there.is_dir() => Err(named("it is a folder")),
        Ok(_) => Ok(full),
        Err(error) if error.kind() == ErrorKind::NotFound && absent == Absent::Made => {
            make_file(&full).map_err(failed)?;
            Ok(full)
        }
        Err(error) => Err(failed(error)),
    }
}

fn unreachable(place: &Path, what: &str) -> HistoryError {
    HistoryError::Unreachable {
        place: place.display().to_string(),
        what: what.to_owned(),
    }
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn make_file(file: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(_) => Ok(()),
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
