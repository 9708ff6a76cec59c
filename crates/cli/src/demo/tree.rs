//! The text files in a folder, read once, and their division into areas to review.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::definitions::definitions;
use crate::failure::Failure;
use crate::input;

/// Bytes. Larger files are probably data, not source text.
pub const FILE_LIMIT: u64 = 200_000;
/// Bytes of all files together; the demo needs no more.
const TREE_LIMIT: u64 = 8_000_000;
const DEPTH_LIMIT: usize = 8;
/// Files per task.
const AREA_FILES: usize = 6;

/// The text files in a folder.
pub struct Tree {
    root: PathBuf,
    /// The root with all symbolic links resolved.
    real: PathBuf,
    /// In the order of review.
    pub files: Vec<SourceFile>,
}

pub struct SourceFile {
    /// Relative to the root, with `/` on every system.
    pub path: String,
    pub text: String,
}

/// Neighboring files, reviewed in one task.
pub struct Area<'a> {
    /// Their common folder, relative to the root; `.` for the root.
    pub folder: &'a str,
    pub files: &'a [SourceFile],
}

impl SourceFile {
    /// The file's folder, relative to the root; `.` for the root.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or(".", |(folder, _)| folder)
    }

    /// The file's folder, cut to two levels.
    pub fn part(&self) -> &str {
        let folder = self.folder();
        let end = folder.match_indices('/').nth(1).map(|(end, _)| end);
        end.and_then(|end| folder.get(..end)).unwrap_or(folder)
    }
}

impl Tree {
    /// Reads the text files in `root`. Version control, build output, dependencies, lock files,
    /// unreadable files and files that are not UTF-8 are left out.
    pub fn read(root: &Path) -> Result<Self, Failure> {
        let unreadable = Failure::unreadable(root);
        fs::read_dir(root).map_err(&unreadable)?;
        let real = fs::canonicalize(root).map_err(&unreadable)?;
        let mut files = Vec::new();
        let mut size = 0;
        input::walk(root, DEPTH_LIMIT, &mut |entry| {
            let Ok((path, meta)) = entry else { return };
            if meta.len() > FILE_LIMIT || size > TREE_LIMIT || is_generated(&path) {
                return;
            }
            // A symbolic link may lead out of the folder.
            if fs::canonicalize(&path).map_or(true, |path| !path.starts_with(&real)) {
                return;
            }
            let Some(file) = read_text(root, &path) else {
                return;
            };
            size += meta.len();
            files.push(file);
        });
        // The parts with the most definitions come first; within a part, a folder's own files come
        // before its subfolders.
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

    /// The root with all symbolic links resolved.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Divides the tree into areas of a few files each.
    pub fn areas(&self) -> impl Iterator<Item = Area<'_>> {
        self.files
            .chunk_by(|a, b| a.part() == b.part())
            .flat_map(|neighbours| neighbours.chunks(AREA_FILES))
            .filter_map(|files| {
                let (first, last) = (files.first()?, files.last()?);
                // The files are sorted by folder, so the first and the last determine the shared part.
                let folder = shared(first.folder(), last.folder());
                Some(Area { folder, files })
            })
    }

    /// More tokens than one pass over the tree takes: those of the text, and of the calls for each file.
    pub fn tokens_at_most(&self) -> u64 {
        const CALLS: u64 = 1_000;
        self.files.len() as u64 * CALLS + self.bytes() / 2
    }

    /// The failure for a tree with too little text.
    pub fn too_little(&self) -> Failure {
        Failure::TooLittleText {
            path: self.root.clone(),
            found_files: self.files.len(),
            found_bytes: self.bytes(),
        }
    }

    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.text.len() as u64).sum()
    }
}

/// The deepest folder that contains both; `.` for the root.
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

fn is_generated(path: &Path) -> bool {
    const ENDINGS: [&str; 7] = [
        "lock",
        "lock.json",
        "lock.yaml",
        ".min.js",
        ".map",
        ".svg",
        ".snap",
    ];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::shared;

    #[test]
    fn shared_folders() {
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
