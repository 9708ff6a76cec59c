//! The folder in which the agent works. A summary names it once and leaves it out of the paths of files.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::summary::Field;

/// The longest path that is looked at, in bytes.
const LONGEST: usize = 1_024;
/// The size of the line without the folder, in bytes.
const LINE: usize = 32;
/// The beginning of the line that names the folder.
const NAMES: &str = "files with relative paths are in ";

/// The beginnings of a file's state.
pub(super) const STATES: [&str; 5] = ["written (", "created", "changed ", "deleted", "not changed"];

/// An absolute path that ends with `/`; empty where no folder is worth its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folder(String);

impl Folder {
    /// The folder that saves the most bytes if these files are named by the rest of their paths. None if one of
    /// them has a relative path: a reader could not tell which paths leave the folder out.
    pub fn of<'p>(paths: impl Iterator<Item = &'p str>) -> Self {
        let mut files: HashMap<&str, usize> = HashMap::new();
        for path in paths {
            if !path.starts_with('/') && !path.starts_with("~/") {
                return Self::default();
            }
            let whole = path.get(..path.len().min(LONGEST)).unwrap_or_default();
            for (at, _) in whole.match_indices('/').filter(|&(at, _)| at > 0) {
                let folder = path.get(..=at).unwrap_or_default();
                *files.entry(folder).or_default() += 1;
            }
        }
        let saved = |(folder, files): &(&str, usize)| folder.len() * files.saturating_sub(1);
        let folders = files.into_iter().filter(|it| saved(it) > LINE);
        let most = folders.max_by(|a, b| saved(a).cmp(&saved(b)).then(b.0.cmp(a.0)));
        Self(most.map_or_else(String::new, |(folder, _)| folder.to_owned()))
    }

    /// The path of the folder, without the `/` at its end.
    pub fn path(&self) -> &str {
        self.0.strip_suffix('/').unwrap_or_default()
    }

    /// The line that names the folder.
    pub fn line(&self) -> String {
        format!("{NAMES}{}", self.path())
    }

    /// The path without the folder; none of a file that lies elsewhere.
    pub fn inside<'p>(&self, path: &'p str) -> Option<&'p str> {
        let inside = path.strip_prefix(&self.0).filter(|_| !self.0.is_empty());
        inside.filter(|inside| !inside.is_empty() && !inside.starts_with('/'))
    }
}

/// Spells out every path of an earlier summary, since its quotations lose the folder's line.
pub(super) fn in_full(summary: &str) -> Cow<'_, str> {
    let mut lines = summary.lines().filter_map(|line| line.strip_prefix("- "));
    let Some(folder) = lines.find_map(|line| line.strip_prefix(NAMES)) else {
        return Cow::Borrowed(summary);
    };
    let whole = |path: &str| match path.starts_with('/') || path.starts_with("~/") {
        true => path.to_owned(),
        false => format!("{folder}/{path}"),
    };
    let mut out = String::with_capacity(summary.len());
    let mut is_done = false;
    for line in summary.split_inclusive('\n') {
        if let Some(field) = Field::of_line(line).filter(|_| line.starts_with('#')) {
            is_done = field == Field::Done;
        }
        let told = line.strip_prefix("- ").filter(|_| is_done);
        match told.and_then(|told| told.split_once(": ")) {
            _ if told.is_some_and(|told| told.starts_with(NAMES)) => {}
            Some(("read", paths)) => {
                let paths: Vec<String> = paths.split(", ").map(whole).collect();
                out.extend(["- read: ", &paths.join(", ")]);
            }
            Some((path, state)) if STATES.iter().any(|it| state.starts_with(it)) => {
                out.extend(["- ", &whole(path), ": ", state]);
            }
            _ => out.push_str(line),
        }
    }
    Cow::Owned(out)
}
