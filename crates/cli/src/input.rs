//! Reading what the user names: files, folders and standard input.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// No session comes near this; it keeps a mistyped name from filling the memory.
const SIZE_LIMIT: u64 = 512 * 1024 * 1024;

/// How deep folders are searched. Codex keeps sessions four folders down.
const DEPTH_LIMIT: usize = 12;

/// Endings of session files.
const ENDINGS: [&str; 3] = ["jsonl", "json", "traj"];

/// The bytes of a file, or of standard input where the path is `-`.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = if path == Path::new("-") {
        limited(io::stdin().lock(), path)?
    } else {
        let unreadable = |source| Failure::Unreadable {
            path: path.to_owned(),
            source,
        };
        let meta = fs::metadata(path).map_err(unreadable)?;
        if meta.is_dir() {
            return Err(Failure::IsFolder {
                path: path.to_owned(),
            });
        }
        if meta.len() > SIZE_LIMIT {
            return Err(too_large(path, meta.len()));
        }
        limited(fs::File::open(path).map_err(unreadable)?, path)?
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::Empty {
            path: path.to_owned(),
        });
    }
    Ok(bytes)
}

/// Reads up to the limit: a pipe does not tell its size beforehand, and a log may grow meanwhile.
fn limited(source: impl Read, path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    source
        .take(SIZE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| Failure::Unreadable {
            path: path.to_owned(),
            source,
        })?;
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(too_large(path, bytes.len() as u64));
    }
    Ok(bytes)
}

fn too_large(path: &Path, size: u64) -> Failure {
    Failure::TooLarge {
        path: path.to_owned(),
        size,
        limit: SIZE_LIMIT,
    }
}

/// A session file that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last written to, where the system knows.
    pub changed: Option<jiff::Timestamp>,
}

/// The files that a command is to read: each named file, and the session files in each named folder
/// and the folders in it, in the order of their names. What cannot be read is in the second list.
pub fn gather(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<Failure>), Failure> {
    let mut files = Vec::new();
    let mut failures = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let (found, unreadable) = search(path);
        if found.is_empty() && unreadable.is_empty() {
            return Err(Failure::NothingInFolder { path: path.clone() });
        }
        files.extend(found.into_iter().map(|found| found.path));
        failures.extend(unreadable);
    }
    Ok((files, failures))
}

/// The session files in a folder and the folders in it, in the order of their names. Symbolic links
/// to folders are not followed, so that a ring of them ends.
pub fn search(folder: &Path) -> (Vec<Found>, Vec<Failure>) {
    let mut found = Vec::new();
    let mut failures = Vec::new();
    walk(folder, DEPTH_LIMIT, &mut |entry| match entry {
        Ok((path, meta)) if is_session(&path) => found.push(Found {
            path,
            bytes: meta.len(),
            changed: meta
                .modified()
                .ok()
                .and_then(|time| jiff::Timestamp::try_from(time).ok()),
        }),
        Ok(_) => {}
        Err(failure) => failures.push(failure),
    });
    (found, failures)
}

/// Calls `visit` with every file below `folder`, in the order of names, folders included in that
/// order; with a failure for each folder or file that cannot be looked at.
pub fn walk(
    folder: &Path,
    depth: usize,
    visit: &mut dyn FnMut(Result<(PathBuf, fs::Metadata), Failure>),
) {
    let unreadable = |path: &Path, source| Failure::Unreadable {
        path: path.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) => return visit(Err(unreadable(folder, source))),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                if depth > 0 && !is_hidden_or_built(&path) {
                    walk(&path, depth - 1, visit);
                }
            }
            Ok(meta) if meta.is_symlink() => match fs::metadata(&path) {
                Ok(target) if target.is_file() => visit(Ok((path, target))),
                _ => {}
            },
            Ok(meta) => visit(Ok((path, meta))),
            Err(source) => visit(Err(unreadable(&path, source))),
        }
    }
}

/// Folders in which nobody keeps sessions or sources: version control, build output, dependencies.
fn is_hidden_or_built(folder: &Path) -> bool {
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    name.starts_with('.') || matches!(&*name, "target" | "node_modules" | "__pycache__" | "venv")
}

fn is_session(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ENDINGS.contains(&ending))
}
