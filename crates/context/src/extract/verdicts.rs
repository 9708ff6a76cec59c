//! What the output of a test runner says of single tests and packages.
//!
//! A test that failed and passes in a later run is no failure any more, whatever command ran it.

use std::collections::HashSet;

/// The words of a verdict, by whether the test passed. Runners write them in front of the name or behind it.
const WORDS: [(&str, bool); 10] = [
    ("FAIL", false),
    ("FAIL:", false),
    ("FAILED", false),
    ("✕", false),
    ("✗", false),
    ("×", false),
    ("PASS", true),
    ("PASS:", true),
    ("PASSED", true),
    ("✓", true),
];
/// The most names that are kept of one output.
const MOST: usize = 2_000;
/// Options that choose some of the tests: the verdict on a package is then one on these.
const CHOOSING: [&str; 7] = ["-run", "--run", "-k", "-t", "-g", "--filter", "-E"];

/// The tests and packages in an output, by their verdicts.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdicts {
    failed: Names,
    passed: Names,
}

/// Tests, and the packages or files that hold them.
#[derive(Clone, Debug, Default)]
struct Names {
    tests: HashSet<String>,
    packages: HashSet<String>,
}

impl Verdicts {
    /// Reads the output of a script.
    pub fn of(script: &str, output: &str) -> Self {
        let mut out = Self::default();
        let chooses = script
            .split_whitespace()
            .any(|it| CHOOSING.contains(&it.split('=').next().unwrap_or(it)));
        for (name, passed) in output.lines().filter_map(verdict).take(MOST) {
            let names = if passed {
                &mut out.passed
            } else {
                &mut out.failed
            };
            if name.contains('/') && !name.contains("::") && !name.contains(' ') {
                names.packages.insert(name.to_owned());
            } else {
                names.tests.insert(name.to_owned());
            }
        }
        if chooses {
            out.passed.packages.clear();
        }
        out
    }

    /// The part that failed.
    pub fn into_failed(self) -> Failed {
        Failed(self.failed)
    }
}

/// The tests and packages that failed in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Failed(Names);

impl Failed {
    /// Returns true if all that failed passed in a later run: the tests, or the packages that hold them.
    pub fn passed_in(&self, later: &Verdicts) -> bool {
        let all = |some: &HashSet<String>, passed: &HashSet<String>, failed: &HashSet<String>| {
            !some.is_empty() && some.is_subset(passed) && some.is_disjoint(failed)
        };
        let (passed, failed) = (&later.passed, &later.failed);
        all(&self.0.tests, &passed.tests, &failed.tests)
            || all(&self.0.packages, &passed.packages, &failed.packages)
    }
}

/// The test that passed, of a line that says so.
pub(super) fn passed(line: &str) -> Option<&str> {
    verdict(line)
        .filter(|(_, passed)| *passed)
        .map(|(name, _)| name)
}

/// The name in a line of verdict, and whether it passed.
fn verdict(line: &str) -> Option<(&str, bool)> {
    let line = line.trim().trim_start_matches("--- ");
    let (first, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim();
    if let Some((_, passed)) = WORDS.iter().find(|(word, _)| *word == first) {
        return Some((named(rest, *passed)?, *passed));
    }
    // Go's verdict on a package, behind a tab; TAP writes a number there.
    if first == "ok" && line.contains('\t') {
        return Some((named(rest, true)?, true));
    }
    let (before, last) = line.rsplit_once(char::is_whitespace)?;
    // Rust: `test rows::load ... ok`.
    if let Some(name) = before
        .strip_prefix("test ")
        .and_then(|it| it.strip_suffix(" ..."))
    {
        return matches!(last, "ok" | "FAILED").then_some((name, last == "ok"));
    }
    // pytest: `tests/a.py::test_b PASSED [ 50%]`.
    let mut words = line.split_whitespace();
    let name = words.next().filter(|it| it.contains("::"))?;
    match words.next()? {
        "PASSED" => Some((name, true)),
        "FAILED" => Some((name, false)),
        _ => None,
    }
}

/// The name behind a time and a count in brackets, in front of a duration and of a message; none where no tests ran.
fn named(mut rest: &str, passed: bool) -> Option<&str> {
    if passed && rest.contains("[no test") {
        return None;
    }
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((_, behind)) = rest.strip_prefix(open).and_then(|it| it.split_once(close)) {
            rest = behind.trim_start();
        }
    }
    let name = rest.split(['\t', '(']).next().unwrap_or(rest);
    let name = name.split(" - ").next().unwrap_or(name).trim();
    name.contains(char::is_alphabetic).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Verdicts, verdict};

    #[test]
    fn runners_write_verdicts_in_many_ways() {
        for (line, told) in [
            (
                "    --- FAIL: TestLoad/empty (0.01s)",
                Some(("TestLoad/empty", false)),
            ),
            ("ok  \tapp.io/rows\t0.2s", Some(("app.io/rows", true))),
            ("ok  \tapp.io/rows\t0.2s [no tests to run]", None),
            ("FAIL\tapp.io/rows\t0.2s", Some(("app.io/rows", false))),
            ("FAIL", None),
            ("test rows::load ... ok", Some(("rows::load", true))),
            ("test rows::load ... FAILED", Some(("rows::load", false))),
            (
                "PASS [   0.008s] ( 23/461) app rows::load",
                Some(("app rows::load", true)),
            ),
            (
                "tests/a.py::test_b PASSED   [ 50%]",
                Some(("tests/a.py::test_b", true)),
            ),
            (
                "FAILED tests/a.py::test_b - assert 1",
                Some(("tests/a.py::test_b", false)),
            ),
            (
                "  ✓ keeps the order (12 ms)",
                Some(("keeps the order", true)),
            ),
            ("FAIL src/rows.test.ts", Some(("src/rows.test.ts", false))),
            ("ok 12 rows were read", None),
            ("It works with PASSED tests", None),
        ] {
            assert_eq!(verdict(line), told, "{line}");
        }
    }

    #[track_caller]
    fn check(failed: &str, later: (&str, &str), passed: bool) {
        let failed = Verdicts::of("go test ./...", failed).into_failed();
        let (script, output) = later;
        assert_eq!(
            failed.passed_in(&Verdicts::of(script, output)),
            passed,
            "{later:?}"
        );
    }

    #[test]
    fn a_failure_is_over_where_all_that_failed_passes() {
        let failed = "--- FAIL: TestA (0.1s)\n--- PASS: TestB (0.1s)\nFAIL\nFAIL\tapp/rows\t0.3s";
        check(
            failed,
            ("go test -v -run TestA", "--- PASS: TestA (0.1s)"),
            true,
        );
        check(failed, ("make test", "ok  \tapp/rows\t0.3s"), true);
        check(
            failed,
            (
                "go test -run TestB",
                "--- PASS: TestB\nok  \tapp/rows\t0.3s",
            ),
            false,
        );
        check(failed, ("make test", "ok  \tapp/other\t0.3s"), false);
        let again = "--- FAIL: TestA (0.1s)\n--- PASS: TestA (0.1s)";
        check(failed, ("make test", again), false);
        check("", ("make test", "ok  \tapp/rows\t0.3s"), false);
    }
}
