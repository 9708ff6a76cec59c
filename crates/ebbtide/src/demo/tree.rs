//! The text files below a folder, read once.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input;

/// Files larger than this are data, not text that somebody would have an agent read.
const FILE_LIMIT: u64 = 200_000;
/// More than this is not needed for a demo.
const TREE_LIMIT: u64 = 8_000_000;
/// How deep folders are searched.
const DEPTH_LIMIT: usize = 8;
/// How many files the agent reviews at one request.
const AREA_FILES: usize = 6;

/// The text files below a folder.
pub struct Tree {
    root: PathBuf,
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

/// A few neighbouring files of one folder, as much as is reviewed at one request.
pub struct Area<'a> {
    /// The folder's path below the root; `.` for the root.
    pub folder: &'a str,
    /// The files.
    pub files: &'a [SourceFile],
}

impl SourceFile {
    /// The folder it is in, below the root; `.` for the root.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or(".", |(folder, _)| folder)
    }
}

impl Tree {
    /// Reads the text files below `root`. Version control, build output, dependencies, lock files and
    /// whatever is not UTF-8 are left out.
    ///
    /// # Errors
    /// Where the folder itself cannot be read. A file that cannot be read is left out.
    pub fn read(root: &Path) -> Result<Self, Failure> {
        if let Err(source) = fs::read_dir(root) {
            return Err(Failure::Unreadable {
                path: root.to_owned(),
                source,
            });
        }
        let mut files = Vec::new();
        let mut size = 0;
        input::walk(root, DEPTH_LIMIT, &mut |entry| {
            let Ok((path, meta)) = entry else { return };
            if meta.len() > FILE_LIMIT || size > TREE_LIMIT || is_generated(&path) {
                return;
            }
            let Some(file) = read_text(root, &path) else {
                return;
            };
            size += meta.len();
            files.push(file);
        });
        // Neighbours first, then what lies deeper: the order in which people look at a tree.
        files.sort_by(|a, b| (a.folder(), &a.path).cmp(&(b.folder(), &b.path)));
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    /// The tree in portions for one request each.
    pub fn areas(&self) -> impl Iterator<Item = Area<'_>> {
        self.files
            .chunk_by(|a, b| a.folder() == b.folder())
            .flat_map(|neighbours| neighbours.chunks(AREA_FILES))
            .filter_map(|files| {
                let folder = files.first()?.folder();
                Some(Area { folder, files })
            })
    }

    /// The failure that says how little there is.
    #[must_use]
    pub fn too_little(&self) -> Failure {
        Failure::TooLittleText {
            path: self.root.clone(),
            found_files: self.files.len(),
            found_bytes: self.files.iter().map(|file| file.text.len() as u64).sum(),
        }
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
