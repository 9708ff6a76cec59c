//! The text files below a folder, read once.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::findings::definitions;
use crate::failure::Failure;
use crate::input;

/// Files larger than this are data, not text that somebody would have an agent read.
pub const FILE_LIMIT: u64 = 200_000;
/// More than this is not needed for a demo.
const TREE_LIMIT: u64 = 8_000_000;
/// How deep folders are searched.
const DEPTH_LIMIT: usize = 8;
/// How many files the agent reviews for one task.
const AREA_FILES: usize = 6;

/// The text files below a folder.
pub struct Tree {
    root: PathBuf,
    real: PathBuf,
    /// The files, in the order of their paths.
    pub files: Vec<SourceFile>,
}

/// One text file.
pub struct SourceFile {
    /// Its path below the root, with `/` on every system.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// A few neighbouring files, as much as is reviewed for one task.
pub struct Area<'a> {
    /// The folder they lie in, as a path below the root; `.` for the root.
    pub folder: &'a str,
    /// The files.
    pub files: &'a [SourceFile],
}

impl SourceFile {
    /// The folder it is in, below the root; `.` for the root.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or(".", |(folder, _)| folder)
    }

    /// The part of the tree it belongs to: its folder, at most two folders deep.
    pub fn part(&self) -> &str {
        let folder = self.folder();
        let end = folder.match_indices('/').nth(1).map(|(end, _)| end);
        end.and_then(|end| folder.get(..end)).unwrap_or(folder)
    }
}

impl Tree {
    /// Reads the text files below `root`. Version control, build output, dependencies, lock files and
    /// whatever is not UTF-8 are left out.
    pub fn read(root: &Path) -> Result<Self, Failure> {
        let unreadable = |source| Failure::Unreadable {
            path: root.to_owned(),
            source,
        };
        fs::read_dir(root).map_err(unreadable)?;
        let real = fs::canonicalize(root).map_err(unreadable)?;
        let mut files = Vec::new();
        let mut size = 0;
        input::walk(root, DEPTH_LIMIT, &mut |entry| {
            let Ok((path, meta)) = entry else { return };
            if meta.len() > FILE_LIMIT || size > TREE_LIMIT || is_generated(&path) {
                return;
            }
            // A link may lead out of the folder.
            if fs::canonicalize(&path).map_or(true, |path| !path.starts_with(&real)) {
                return;
            }
            let Some(file) = read_text(root, &path) else {
                return;
            };
            size += meta.len();
            files.push(file);
        });
        // The parts with the most to review first; in each the order in which people look at a tree:
        // neighbours first, then what lies deeper.
        let mut found: HashMap<String, usize> = HashMap::new();
        for file in &files {
            *found.entry(file.part().to_owned()).or_default() += definitions(&file.text).len();
        }
        let most = |file: &SourceFile| Reverse(found.get(file.part()).copied());
        files.sort_by(|a, b| {
            (most(a), a.part(), a.folder(), &a.path).cmp(&(most(b), b.part(), b.folder(), &b.path))
        });
        Ok(Self {
            root: root.to_owned(),
            real,
            files,
        })
    }

    /// The folder's own path, every link followed.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The tree in portions for one task each: a few files of one part of it.
    pub fn areas(&self) -> impl Iterator<Item = Area<'_>> {
        self.files
            .chunk_by(|a, b| a.part() == b.part())
            .flat_map(|neighbours| neighbours.chunks(AREA_FILES))
            .filter_map(|files| {
                let (first, last) = (files.first()?, files.last()?);
                // Sorted by folders, so that what the first and the last share all share.
                let folder = shared(first.folder(), last.folder());
                Some(Area { folder, files })
            })
    }

    /// The failure that says how little there is.
    pub fn too_little(&self) -> Failure {
        Failure::TooLittleText {
            path: self.root.clone(),
            found_files: self.files.len(),
            found_bytes: self.files.iter().map(|file| file.text.len() as u64).sum(),
        }
    }
}

/// The folder in which both folders lie; `.` for the root.
fn shared<'a>(one: &'a str, other: &str) -> &'a str {
    let mut end = 0;
    for part in one.split_inclusive('/') {
        let name = part.trim_end_matches('/');
        let rest = other.get(end..).unwrap_or_default();
        if rest.split('/').next() != Some(name) {
            break;
        }
        end += part.len();
    }
    match one.get(..end).map(|shared| shared.trim_end_matches('/')) {
        None | Some("") => ".",
        Some(shared) => shared,
    }
}

fn read_text(root: &Path, path: &Path) -> Option<SourceFile> {
    let text = String::from_utf8(fs::read(path).ok()?).ok()?;
    let is_text = !text.trim().is_empty() && !text.contains('\0');
    let below = path.strip_prefix(root).ok()?;
    let names: Vec<_> = below
        .components()
        .map(|name| name.as_os_str().to_string_lossy())
        .collect();
    is_text.then(|| SourceFile {
        path: names.join("/"),
        text,
    })
}

/// Files that a program wrote and nobody reads.
fn is_generated(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    [
        "lock",
        "lock.json",
        "lock.yaml",
        ".min.js",
        ".map",
        ".svg",
        ".snap",
    ]
    .iter()
    .any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::shared;

    #[test]
    fn the_folder_that_both_lie_in() {
        let check = |one: &str, other: &str, expected: &str| {
            assert_eq!(shared(one, other), expected, "{one} and {other}");
        };
        check("crates/wire/src", "crates/wire/src/api", "crates/wire/src");
        check("crates/wire/src/api", "crates/wire/src", "crates/wire/src");
        check("crates/wire/benches", "crates/wire/src", "crates/wire");
        check("crates", "crates", "crates");
        check("src", "srcs", ".");
        check(".", ".", ".");
    }
}
