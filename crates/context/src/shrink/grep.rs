//! Matches of a search: one sample per file, and how many more there are.

use std::collections::HashMap;

use crate::note::grouped;

use super::budget::{Budget, Gap, Taken};
use super::clip;

/// The path of a line `path:12:text`, `path-12-text` or `path:text`. `None` for other lines.
pub(super) fn path_of(line: &str) -> Option<&str> {
    let colon = line.find(':')?;
    // `C:\path:12:` begins with a drive.
    let drive = colon == 1
        && line
            .as_bytes()
            .get(2)
            .is_some_and(|next| matches!(next, b'\\' | b'/'));
    let end = if drive {
        line.split_at_checked(2)?.1.find(':')? + 2
    } else {
        colon
    };
    let (path, rest) = line.split_at_checked(end)?;
    let numbered = rest
        .strip_prefix(':')
        .and_then(|rest| rest.split_once(':'))
        .is_some_and(|(number, _)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
    let looks_like_path = !path.is_empty()
        && !path.contains([' ', '\t', '"', '{', '('])
        && (path.contains('/') || path.contains('\\') || path.contains('.'));
    (looks_like_path && (numbered || path.contains(['/', '.'])) && !rest.starts_with("://"))
        .then_some(path)
}

/// The matches of one file.
struct File<'a> {
    first: &'a str,
    lines: Vec<&'a str>,
}

/// One line per file with the number of its other matches, in the order in which the files come;
/// then, as far as there is room, the other matches, one more per file and round.
pub(super) fn samples(text: &str, mut budget: Budget<'_>) -> String {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut files: Vec<File<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        // A line without a path (a count, a separator) stands for itself.
        let path = path_of(line).unwrap_or(line);
        let place = *places.entry(path).or_insert(files.len());
        match files.get_mut(place) {
            Some(file) => file.lines.push(line),
            None => files.push(File {
                first: path,
                lines: vec![line],
            }),
        }
    }
    let longest = budget.longest_line().min(300);
    let shown = choose(&files, longest, &mut budget);
    render(&files, &shown, longest)
}

/// Chooses the number of lines shown of each file.
fn choose(files: &[File<'_>], longest: usize, budget: &mut Budget<'_>) -> Vec<usize> {
    let mut shown = vec![0; files.len()];
    let rounds = files.iter().map(|file| file.lines.len()).max().unwrap_or(0);
    for round in 0..rounds {
        let mut took = false;
        for (file, count) in files.iter().zip(shown.iter_mut()) {
            let Some(line) = file.lines.get(round) else {
                continue;
            };
            // The note on the other matches costs about as much as a gap.
            let gap = if round == 0 { Gap::Opens } else { Gap::None };
            if *count < round || budget.take(&clip::line(line, longest), gap) == Taken::No {
                continue;
            }
            *count += 1;
            took = true;
        }
        if !took {
            break;
        }
    }
    shown
}

fn render(files: &[File<'_>], shown: &[usize], longest: usize) -> String {
    let mut out = String::new();
    let mut hidden_files = 0_u64;
    let mut hidden_lines = 0_u64;
    for (file, count) in files.iter().zip(shown) {
        if *count == 0 {
            hidden_files += 1;
            hidden_lines += file.lines.len() as u64;
            continue;
        }
        for line in file.lines.iter().take(*count) {
            out.push_str(&clip::line(line, longest));
            out.push('\n');
        }
        let more = file.lines.len() - count;
        if more > 0 {
            out.push_str(&format!(
                "[… {} more in {} …]\n",
                grouped(more as u64),
                clip::line(file.first, 200)
            ));
        }
    }
    if hidden_files > 0 {
        out.push_str(&format!(
            "[… {} more lines in {} more files …]\n",
            grouped(hidden_lines),
            grouped(hidden_files)
        ));
    }
    out
}
