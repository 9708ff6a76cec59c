//! The path of the store: a file that only its owner may read, in a folder of the same kind.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use history::HistoryError;

/// The handling of a store that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Create it and its folder, and begin a store in an empty file.
    Create,
    /// Return an error, also for an empty file.
    Refuse,
}

/// Returns the full path of the store's file, which exists afterwards. A new folder gets mode 0700 and a
/// new file 0600; existing ones keep their mode. SQLite gives `-wal` and `-shm` the mode of the file.
///
/// # Errors
/// [`HistoryError::Unreachable`] if the file cannot be created or is missing and must not be created, and
/// [`HistoryError::NotAStore`] if it is no regular file.
pub fn prepare(path: &Path, missing: Missing) -> Result<PathBuf, HistoryError> {
    let failed = |what: &str| HistoryError::Unreachable {
        place: path.display().to_string(),
        what: what.to_owned(),
    };
    let failed_io = |error: std::io::Error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => HistoryError::NoSpace,
        _ => failed(&error.to_string()),
    };
    let Some(name) = path.file_name() else {
        return Err(failed("the path names no file"));
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if missing == Missing::Create {
        make_folder(folder).map_err(failed_io)?;
    }
    // SQLite gives `:memory:` and `file:` a special meaning; a full path never matches them.
    let full = folder.canonicalize().map_err(failed_io)?.join(name);
    match fs::metadata(&full) {
        Ok(there) if there.is_dir() => Err(failed("it is a folder")),
        // A device or a pipe, which would be waited for.
        Ok(there) if !there.is_file() => Err(HistoryError::NotAStore {
            place: full.display().to_string(),
        }),
        Ok(_) => Ok(full),
        Err(error) if error.kind() == ErrorKind::NotFound && missing == Missing::Create => {
            make_file(&full).map_err(failed_io)?;
            Ok(full)
        }
        Err(error) => Err(failed_io(error)),
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
        // Another process created it first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
