//! The lengths of files and functions.

use std::fmt;

use super::Violation;

/// The longest a file may be, in production lines.
const FILE_END: usize = 800;
/// The limit for 19 of 20 files.
const FILE_P95: usize = 450;
/// The limit for half of the files; the aim is 150.
const FILE_MEDIAN: usize = 180;
/// The longest a function may be.
const FUNCTION_END: usize = 100;
/// The limit for 19 of 20 functions.
const FUNCTION_P95: usize = 40;

/// The lengths of all production files and functions.
#[derive(Debug, Default)]
pub struct Lengths {
    files: Vec<(usize, String)>,
    functions: Vec<(usize, String)>,
}

impl Lengths {
    /// Takes a file of `lines` production lines.
    pub fn file(&mut self, lines: usize, path: &str) {
        self.files.push((lines, path.to_owned()));
    }

    /// Takes a function of `lines` lines.
    pub fn function(&mut self, lines: usize, at: String) {
        self.functions.push((lines, at));
    }

    /// Checks single lengths and their distribution.
    pub fn check(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut single = |rule, all: &[(usize, String)], end: usize| {
            for (lines, at) in all.iter().filter(|(lines, _)| *lines > end) {
                found.push(Violation {
                    rule,
                    at: at.clone(),
                    message: format!("{lines} lines, at most {end}"),
                });
            }
        };
        single("file-length", &self.files, FILE_END);
        single("function-length", &self.functions, FUNCTION_END);
        let mut whole = |rule, what: &str, lines: usize, budget: usize| {
            if lines > budget {
                found.push(Violation {
                    rule,
                    at: "crates".to_owned(),
                    message: format!("{what} is {lines} lines, at most {budget}"),
                });
            }
        };
        whole(
            "file-length",
            "the median of files",
            quantile(&self.files, 50),
            FILE_MEDIAN,
        );
        whole(
            "file-length",
            "the 95th percentile of files",
            quantile(&self.files, 95),
            FILE_P95,
        );
        whole(
            "function-length",
            "the 95th percentile of functions",
            quantile(&self.functions, 95),
            FUNCTION_P95,
        );
        found
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} files of {} lines (median; 95th percentile {}), {} functions (95th percentile {} lines)",
            self.files.len(),
            quantile(&self.files, 50),
            quantile(&self.files, 95),
            self.functions.len(),
            quantile(&self.functions, 95),
        )
    }
}

/// The length that `percent` of all stay within.
fn quantile(all: &[(usize, String)], percent: usize) -> usize {
    let mut lengths: Vec<usize> = all.iter().map(|(lines, _)| *lines).collect();
    lengths.sort_unstable();
    let at = (lengths.len() * percent).div_ceil(100).saturating_sub(1);
    lengths.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Lengths;

    #[track_caller]
    fn check(files: &[usize], functions: &[usize], expected: &[&str]) {
        let mut lengths = Lengths::default();
        for &lines in files {
            lengths.file(lines, "f.rs");
        }
        for &lines in functions {
            lengths.function(lines, "f.rs g".to_owned());
        }
        let found: Vec<String> = lengths.check().iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn budgets() {
        check(&[], &[], &[]);
        check(&[150; 20], &[40; 20], &[]);
        check(
            &[181; 3],
            &[],
            &["crates: the median of files is 181 lines, at most 180 [file-length]"],
        );
        let mut files = [10; 20];
        files[0] = 801;
        check(&files, &[], &["f.rs: 801 lines, at most 800 [file-length]"]);
        files[1] = 451;
        check(
            &files,
            &[],
            &[
                "f.rs: 801 lines, at most 800 [file-length]",
                "crates: the 95th percentile of files is 451 lines, at most 450 [file-length]",
            ],
        );
        check(
            &[],
            &[101, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
            &["f.rs g: 101 lines, at most 100 [function-length]"],
        );
        check(
            &[],
            &[41],
            &["crates: the 95th percentile of functions is 41 lines, at most 40 [function-length]"],
        );
    }
}
