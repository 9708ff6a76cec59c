//! The names of files in front of what is quoted from them.

use std::collections::HashMap;

use super::steps::{Step, ends_in, file_name, passes_for_another};

/// The most files of one name that are compared.
const MOST: usize = 64;

/// The files that calls are about. Of several files with one name, each is called by as much of its path as tells it
/// from the others: `read/mod.rs` and `write/mod.rs`.
#[derive(Debug, Default)]
pub(super) struct Namesakes(HashMap<String, Vec<String>>);

impl Namesakes {
    pub fn of(steps: &[Step<'_>]) -> Self {
        let mut out = Self::default();
        for path in steps.iter().filter_map(Step::file) {
            let paths = out.0.entry(file_name(&path).to_owned()).or_default();
            // A relative path can be the end of an absolute one; the longer one tells more.
            let has_room = paths.len() < MOST;
            match paths.iter_mut().find(|it| is_same(it, &path)) {
                Some(known) if known.len() < path.len() => *known = path,
                None if has_room => paths.push(path),
                _ => {}
            }
        }
        out.0.retain(|_, paths| paths.len() > 1);
        out
    }

    /// The name of the file that a call is about, or the beginning of its command; empty where it has neither.
    pub fn about(&self, step: &Step<'_>) -> String {
        let name = match step.file() {
            Some(path) => self.name(&path).to_owned(),
            None => step.program(),
        };
        match passes_for_another(&name) {
            true => format!("`{name}`"),
            false => name,
        }
    }

    /// The shortest end of a path that no other file's path ends in.
    fn name<'p>(&self, path: &'p str) -> &'p str {
        let path = path.trim_end_matches('/');
        let name = file_name(path);
        let paths = self.0.get(name).into_iter().flatten();
        let others: Vec<&String> = paths.filter(|it| !is_same(it, path)).collect();
        let slashes = path.rmatch_indices('/').map(|(at, _)| at + 1);
        let mut ends = slashes.filter_map(|at| path.get(at..));
        let tells = |end: &&str| !others.iter().any(|other| ends_in(other, end));
        ends.find(tells).unwrap_or(match others.is_empty() {
            true => name,
            false => path,
        })
    }
}

/// Returns true if two paths can name one file: they are equal, or one is relative and the end of the other.
fn is_same(one: &str, other: &str) -> bool {
    ends_in(one, other) || ends_in(other, one)
}

#[cfg(test)]
mod tests {
    use super::Namesakes;
    use crate::extract::steps::steps;
    use crate::extract::tests::{call, placed};

    #[track_caller]
    fn check(paths: &[&str], names: &[&str]) {
        let reads = paths.iter().map(|path| {
            let input = serde_json::json!({ "file_path": path });
            call("Read", &input.to_string())
        });
        let turns = placed(reads);
        let steps = steps(&turns);
        let namesakes = Namesakes::of(&steps);
        let told: Vec<String> = steps.iter().map(|step| namesakes.about(step)).collect();
        assert_eq!(told, names, "{paths:?}");
    }

    #[test]
    fn files_with_one_name_are_told_apart() {
        check(
            &["/app/src/rows.rs", "/app/src/load.rs"],
            &["rows.rs", "load.rs"],
        );
        check(
            &["/app/read/mod.rs", "/app/write/mod.rs", "/app/rows.rs"],
            &["read/mod.rs", "write/mod.rs", "rows.rs"],
        );
        check(
            &["/app/a/src/lib.rs", "/app/b/src/lib.rs", "lib.rs"],
            &["a/src/lib.rs", "b/src/lib.rs", "lib.rs"],
        );
        // A file by its relative and by its absolute path.
        check(
            &["src/rows.rs", "/app/src/rows.rs"],
            &["rows.rs", "rows.rs"],
        );
        check(&["/app/user", "/app/old/user"], &["app/user", "old/user"]);
        check(&["/mod.rs", "/app/mod.rs"], &["/mod.rs", "app/mod.rs"]);
    }
}
