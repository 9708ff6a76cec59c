//! Reads the files, folders and standard input that a command is given.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Bytes. Sessions are far smaller; the limit keeps a mistyped path from filling the memory.
const SIZE_LIMIT: u64 = 512 * 1024 * 1024;

/// The depth of a folder search. Codex keeps sessions four folders down.
const DEPTH_LIMIT: usize = 12;

const EXTENSIONS: [&str; 3] = ["jsonl", "json", "traj"];

/// Reads a file, or standard input if the path is `-`. Empty input is a failure.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = if path == Path::new("-") {
        limited(io::stdin().lock(), path)?
    } else {
        let unreadable = Failure::unreadable(path);
        let meta = fs::metadata(path).map_err(&unreadable)?;
        if meta.is_dir() {
            return Err(Failure::IsFolder(path.to_owned()));
        }
        if meta.len() > SIZE_LIMIT {
            return Err(too_large(path, meta.len()));
        }
        limited(fs::File::open(path).map_err(unreadable)?, path)?
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::Empty(path.to_owned()));
    }
    Ok(bytes)
}

/// Reads up to the limit. The size of a pipe is unknown beforehand, and a file may grow meanwhile.
fn limited(source: impl Read, path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    source
        .take(SIZE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(Failure::unreadable(path))?;
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

/// A session file, found by a search.
#[derive(Clone, Debug)]
pub struct SessionFile {
    pub path: PathBuf,
    pub bytes: u64,
    /// The time of the last write; `None` if the file system records none.
    pub changed: Option<jiff::Timestamp>,
}

/// Expands the given paths: a file stays, a folder becomes the session files below it, in the order
/// of their names. The second list says which folders and files cannot be read.
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
            return Err(Failure::NothingInFolder(path.clone()));
        }
        files.extend(found.into_iter().map(|found| found.path));
        failures.extend(unreadable);
    }
    Ok((files, failures))
}

/// Finds the session files below a folder, in the order of their names.
pub fn search(folder: &Path) -> (Vec<SessionFile>, Vec<Failure>) {
    let mut found = Vec::new();
    let mut failures = Vec::new();
    walk(folder, DEPTH_LIMIT, &mut |entry| match entry {
        Ok((path, meta)) if is_session(&path) => found.push(SessionFile {
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

/// Calls `visit` with every file below `folder`, in the order of names, and with a failure for each
/// folder or file that cannot be read. Symbolic links to folders are skipped, since they may form a
/// cycle.
pub fn walk(
    folder: &Path,
    depth: usize,
    visit: &mut dyn FnMut(Result<(PathBuf, fs::Metadata), Failure>),
) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) => return visit(Err(Failure::unreadable(folder)(source))),
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
            Err(source) => visit(Err(Failure::unreadable(&path)(source))),
        }
    }
}

/// Says if a folder holds no sessions or sources: version control, build output, dependencies.
fn is_hidden_or_built(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || matches!(&*name, "target" | "node_modules" | "__pycache__" | "venv")
}

fn is_session(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| EXTENSIONS.contains(&extension))
}
