//! Provides the seed inputs of a fuzz target: small hand-made ones, and pieces of real sessions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Target;
use crate::command::{say, variable};

/// Bytes per piece of a real file. Many small inputs run faster and cover more than a few large ones.
const PIECE: usize = 4 * 1024;
/// The limit per file; the pieces are spread over it evenly.
const PIECES_A_FILE: usize = 6;
const PIECES_A_TARGET: usize = 600;

/// Adds to `corpus/TARGET` the target's hand-made inputs and, if `EBBTIDE_CORPUS` is set, pieces of real
/// sessions. Inputs that earlier runs found stay.
pub fn lay_out(folder: &Path, target: &Target) -> anyhow::Result<()> {
    let corpus = folder.join("corpus").join(&target.name);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot create {}", corpus.display()))?;
    let by_hand = folder.join("seeds").join(&target.name);
    for file in files(&by_hand) {
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, corpus.join(name))
            .with_context(|| format!("cannot copy {}", file.display()))?;
    }
    let Some(real) = variable("EBBTIDE_CORPUS").map(PathBuf::from) else {
        return Ok(());
    };
    let mut written = 0;
    for source in &target.corpus {
        for file in files(&real.join(source)) {
            let Ok(bytes) = fs::read(&file) else { continue };
            for piece in pieces(&bytes) {
                if written == PIECES_A_TARGET {
                    return Ok(());
                }
                fs::write(corpus.join(format!("real-{written:04}")), piece)
                    .context("cannot write a seed")?;
                written += 1;
            }
        }
    }
    if !target.corpus.is_empty() && written == 0 {
        say(&format!(
            "{}: the corpus has no matching files; using only hand-made seeds",
            target.name
        ));
    }
    Ok(())
}

/// Cuts a file into whole lines of at most [`PIECE`] bytes together. A longer line is cut.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let window = rest.get(..PIECE).unwrap_or(rest);
        let end = if window.len() == rest.len() {
            window.len()
        } else {
            window
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(window.len(), |line_end| line_end + 1)
        };
        let (piece, after) = rest.split_at(end);
        all.push(piece);
        rest = after;
    }
    let step = all.len().div_ceil(PIECES_A_FILE).max(1);
    all.into_iter().step_by(step).collect()
}

/// All files below a folder, sorted; empty if the folder does not exist.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{PIECE, PIECES_A_FILE, pieces};

    #[test]
    fn pieces_end_at_lines_and_are_small_and_few() {
        assert!(pieces(b"").is_empty());
        assert_eq!(pieces(b"one line"), [b"one line"]);
        let lines = "0123456789\n".repeat(100_000);
        let cut = pieces(lines.as_bytes());
        assert!(cut.len() <= PIECES_A_FILE && cut.len() > 1);
        assert!(
            cut.iter()
                .all(|piece| piece.len() <= PIECE && piece.ends_with(b"\n"))
        );
        let one_line = "x".repeat(PIECE + 1);
        assert_eq!(pieces(one_line.as_bytes()).len(), 2);
    }
}
