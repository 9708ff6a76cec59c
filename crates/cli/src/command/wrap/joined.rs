//! The lock by which the owner of a gateway knows that other commands use it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::sleep;

use crate::environment::Environment;

/// The time between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(100);

/// A lock on a file of the gateway's port. The commands that join a gateway share it, and its owner takes it alone
/// before it ends the gateway. The system releases the lock of a killed process.
#[derive(Debug)]
pub struct Joined {
    path: PathBuf,
    file: File,
}

impl Joined {
    /// Opens the file for a port. `None` if that fails: then the owner does not wait.
    pub fn open(environment: &Environment, port: u16) -> Option<Self> {
        let folder = environment.data_folder.as_ref()?.join("wrap");
        // A service's user may name a home folder that does not exist, and should not exist.
        let home = &environment.client_folders.as_ref()?.home;
        home.is_dir().then_some(())?;
        fs::create_dir_all(&folder).ok()?;
        let path = folder.join(format!("{port}.lock"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).ok()?;
        Some(Self { path, file })
    }

    /// Counts this command as a user of the gateway. Waits while the owner ends the gateway.
    pub async fn share(&self) {
        while matches!(self.file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            sleep(PAUSE).await;
        }
    }

    /// Returns true if no other command uses the gateway. From then on, none can join it.
    pub fn is_alone(&self) -> bool {
        !matches!(self.file.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Waits until no other command uses the gateway.
    pub async fn alone(&self) {
        while !self.is_alone() {
            sleep(PAUSE).await;
        }
    }

    /// Removes the file of a gateway that has ended. The next owner does not notice a command that opens the file
    /// in this moment.
    pub fn remove(self) {
        let _absent = fs::remove_file(self.path);
    }
}
