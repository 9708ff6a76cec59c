//! The folder below which the agent works. A summary names it once and leaves it out of the paths.

use std::collections::{HashMap, HashSet};

use super::steps::{Action, Step};

/// An absolute path that ends with `/`; empty where no folder is worth its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folder(String);

impl Folder {
    /// The folder that saves the most letters if the files of these steps are named below it.
    pub fn of(steps: &[Step<'_>]) -> Self {
        let actions = steps.iter().flat_map(Step::actions);
        let paths: HashSet<String> = actions.filter_map(path_of).collect();
        let mut files: HashMap<&str, usize> = HashMap::new();
        for path in &paths {
            for (at, _) in path.match_indices('/').filter(|&(at, _)| at > 0) {
                let folder = path.get(..=at).unwrap_or_default();
                // A relative path is short already.
                if folder.starts_with(['/', '~']) {
                    *files.entry(folder).or_default() += 1;
                }
            }
        }
        // Its own line names it once more.
        let saved = |(folder, files): &(&str, usize)| folder.len() * files.saturating_sub(1);
        let folders = files.into_iter().filter(|it| saved(it) > 0);
        let most = folders.max_by(|a, b| saved(a).cmp(&saved(b)).then(b.0.cmp(a.0)));
        Self(most.map_or_else(String::new, |(folder, _)| folder.to_owned()))
    }

    /// The line that names the folder.
    pub fn line(&self) -> Option<String> {
        let folder = self.0.strip_suffix('/')?;
        Some(format!("files are below {folder}"))
    }

    /// The path below the folder; a path that lies elsewhere, as it is.
    pub fn short<'p>(&self, path: &'p str) -> &'p str {
        let below = path.strip_prefix(&self.0);
        below.filter(|below| !below.is_empty()).unwrap_or(path)
    }
}

fn path_of(action: Action) -> Option<String> {
    match action {
        Action::Wrote(path, _)
        | Action::Changed(path)
        | Action::Deleted(path)
        | Action::Read(path) => Some(path),
        Action::Ran(_) | Action::Other => None,
    }
}
