//! Plans what to do with a settings file that a connection changed.

use super::document;
use super::edit::{self, Change, Reverted};
use super::file::{self, Step};
use super::record::Touched;
use crate::failure::Failure;

/// The plan for one file.
#[derive(Debug)]
pub enum Undone {
    /// Nothing has to be done: the file is as before, or the user deleted it.
    Already,
    /// The file gets the text from before, byte for byte.
    AsBefore(Step),
    /// The file did not exist before, so it is deleted.
    Deleted(Step),
    /// The user edited it, so only Ebbtide's settings go.
    Edited(Step, Vec<(Change, Reverted)>),
}

impl Undone {
    pub fn into_step(self) -> Option<Step> {
        match self {
            Self::Already => None,
            Self::AsBefore(step) | Self::Deleted(step) | Self::Edited(step, _) => Some(step),
        }
    }
}

/// Plans how to undo the changes of an earlier connection to a file.
pub fn undo(touched: &Touched) -> Result<Undone, Failure> {
    let Some(current) = file::read(&touched.path)? else {
        return Ok(Undone::Already);
    };
    if touched.before.as_deref() == Some(current.as_str()) {
        return Ok(Undone::Already);
    }
    let unedited = touched.is_unedited(&current);
    let step = |to| Step {
        path: touched.path.clone(),
        from: Some(current.clone()),
        to,
        folders: touched.folders.clone(),
    };
    if unedited {
        return Ok(match &touched.before {
            Some(before) => Undone::AsBefore(step(Some(before.clone()))),
            None => Undone::Deleted(step(None)),
        });
    }
    let mut document = document::open(&touched.path, touched.format, Some(&current))?;
    let outcomes = edit::revert(document.as_mut(), &touched.changes);
    let text = document.text();
    let nothing_left = matches!(text.trim(), "" | "{}") && touched.before.is_none();
    Ok(match nothing_left {
        true => Undone::Deleted(step(None)),
        false => Undone::Edited(step(Some(text)), outcomes),
    })
}
