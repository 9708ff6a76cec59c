//! No path of the machine the work was done on.

use std::path::Path;

use super::Violation;
use super::tree::Tree;
use crate::command::variable;

/// Looks for the checkout's own folder, the folder it lies in, and the user's home in all files.
pub fn check(tree: &Tree, root: &Path) -> Vec<Violation> {
    let home = variable("HOME").unwrap_or_default();
    let folders = telling(root, &home);
    tree.files
        .iter()
        .filter_map(|file| {
            let found = folders
                .iter()
                .find(|folder| file.text.contains(folder.as_str()))?;
            Some(Violation {
                rule: "machine-path",
                at: file.path.clone(),
                message: format!("`{found}` is a path of this machine"),
            })
        })
        .collect()
}

/// Folders that can only come from this machine. The root of the file system and its direct children
/// are everybody's, but for the slash behind a checkout's parent.
fn telling(root: &Path, home: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut add = |folder: &Path| {
        let text = folder.to_string_lossy();
        if folder.is_absolute() && folder.components().count() > 2 {
            folders.push(format!("{}/", text.trim_end_matches('/')));
        }
    };
    add(root);
    if let Some(parent) = root.parent() {
        add(parent);
    }
    add(Path::new(home));
    folders
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{check, telling};
    use crate::tidy::tree::{File, Role, Tree};

    #[test]
    fn which_folders_tell() {
        assert_eq!(
            telling(Path::new("/srv/build/project"), "/home/somebody"),
            ["/srv/build/project/", "/srv/build/", "/home/somebody/"]
        );
        assert_eq!(
            telling(Path::new("/srv/project"), "/root"),
            ["/srv/project/"]
        );
    }

    #[test]
    fn a_path_of_this_machine_is_found() {
        let file = |text: &str| File {
            path: "README.md".to_owned(),
            text: text.to_owned(),
            role: Role::Other,
        };
        let tree = Tree {
            files: vec![file("see /srv/project/notes"), file("see /srv/other")],
            packages: Vec::new(),
        };
        assert_eq!(check(&tree, Path::new("/srv/project")).len(), 1);
    }
}
