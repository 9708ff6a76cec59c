//! Files that are replaced as a whole, or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::ConnectError;
use crate::failure::Failure;
use crate::output;

/// One file to replace, create or remove.
#[derive(Debug)]
pub struct Step {
    /// The file itself, not a link to it.
    pub path: PathBuf,
    /// The text that must be there still; `None` for no file.
    pub from: Option<String>,
    /// The text to write; `None` removes the file.
    pub to: Option<String>,
    /// The folders to create for the file, or to remove with it if they are empty; the outermost first.
    pub folders: Vec<PathBuf>,
}

impl Step {
    fn take(&self) -> Result<(), Failure> {
        if read(&self.path)? != self.from {
            return Err(ConnectError::Changed(self.path.clone()).into());
        }
        match &self.to {
            Some(text) => {
                output::replace(&self.path, text).map_err(Failure::unwritable(&self.path))
            }
            None if self.from.is_none() => Ok(()),
            None => {
                fs::remove_file(&self.path).map_err(Failure::unwritable(&self.path))?;
                for folder in self.folders.iter().rev() {
                    // A folder that holds other files stays.
                    let _ = fs::remove_dir(folder);
                }
                Ok(())
            }
        }
    }

    fn reversed(&self) -> Self {
        Self {
            path: self.path.clone(),
            from: self.to.clone(),
            to: self.from.clone(),
            folders: self.folders.clone(),
        }
    }
}

/// Takes all steps. If one fails, the files are as before.
pub fn take(steps: &[Step]) -> Result<(), Failure> {
    for (number, step) in steps.iter().enumerate() {
        if let Err(failure) = step.take() {
            for done in steps.iter().take(number).rev() {
                // The first failure is the one to report.
                let _ = done.reversed().take();
            }
            return Err(failure);
        }
    }
    Ok(())
}

/// Reads a file; `None` if there is none.
pub fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::unreadable(path)(error)),
    }
}

/// The most links that lead from one to the next, as in Linux.
const LINKS: usize = 40;

/// The file that a path leads to through links, whether it exists or not.
pub fn real(path: &Path) -> Result<PathBuf, Failure> {
    let mut real = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&real) else {
            return Ok(real);
        };
        real = match real.parent() {
            Some(folder) => folder.join(target),
            None => target,
        };
    }
    let error = io::Error::other("too many symbolic links");
    Err(Failure::unreadable(path)(error))
}

/// The folders of a file that do not exist, the outermost first.
pub fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1);
    let missing = folders.take_while(|folder| !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Step, take};

    #[test]
    fn a_failed_step_undoes_the_steps_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let (created, edited) = (folder.path().join("a/b"), folder.path().join("edited"));
        fs::write(&edited, "edited by someone else").unwrap();
        let step = |path, from: Option<&str>| Step {
            path,
            from: from.map(str::to_owned),
            to: Some("new".to_owned()),
            folders: vec![folder.path().join("a")],
        };
        let steps = [step(created, None), step(edited.clone(), Some("old"))];
        assert!(take(&steps).is_err());
        assert!(!folder.path().join("a").exists());
        assert_eq!(
            fs::read_to_string(edited).unwrap(),
            "edited by someone else"
        );
    }
}
