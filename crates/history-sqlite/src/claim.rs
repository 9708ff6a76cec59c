//! Notices that two gateways are started on one store.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// A lock on a file beside the store, `STORE-gateway`, held for as long as a gateway runs. It is not on the store's
/// own file: closing that would release SQLite's locks.
#[derive(Debug)]
pub struct Claim {
    file: PathBuf,
    _lock: File,
}

impl Claim {
    /// Claims the store. `Ok(None)` if another process has.
    ///
    /// # Errors
    /// Those of opening and locking a file, such as on a file system without locks.
    pub fn of(store: &Path) -> std::io::Result<Option<Self>> {
        let mut name = store.as_os_str().to_owned();
        name.push("-gateway");
        let file = PathBuf::from(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options.open(&file)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { file, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Claim {
    /// Removes the file. A gateway that opens it in this moment is not noticed by the next one.
    fn drop(&mut self) {
        let _absent = fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::Claim;

    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("history.db");
        let first = Claim::of(&store).unwrap();
        assert!(first.is_some());
        assert!(Claim::of(&store).unwrap().is_none());
        drop(first);
        assert!(Claim::of(&store).unwrap().is_some());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
