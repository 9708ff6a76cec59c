//! What the output of a test runner says of single tests.
//!
//! A test that failed and passes in a later run is no failure any more, whatever command ran it. A wrong end would hide
//! work, so an output proves one only where it names the test together with its package or file.

use std::collections::HashSet;

use super::command_line::{Core, ShellState};
use super::purposes::only_looks;

/// The most verdicts of one output. Where there are more, it proves nothing.
const MOST: usize = 5_000;
/// The beginnings of options that choose tests, or say how much is printed.
const CHOOSING: [&str; 11] = [
    "-E", "-count", "-k", "-q", "-run", "-s", "-t", "-timeout", "-v", "-x", "--run",
];

/// A verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict<'t> {
    name: &'t str,
    passed: bool,
    of: Of,
}

/// The subject of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// A test with its package or its file: `tests/a.py::test_b`.
    Test,
    /// A test whose package another line names.
    BareTest,
    Package,
}

/// The verdicts in an output.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdicts {
    failed: Names,
    passed: Names,
    /// True if the command only ran tests, and all verdicts were read.
    is_run: bool,
    /// True if something failed that is no test.
    has_more: bool,
    run: Run,
}

#[derive(Clone, Debug, Default)]
struct Names {
    tests: HashSet<String>,
    packages: HashSet<String>,
    /// Packages whose tests could not be built.
    unbuilt: HashSet<String>,
}

impl Names {
    /// Returns true if all packages have a test by name or could not be built: nothing else failed in them.
    fn are_known(&self) -> bool {
        !self.tests.is_empty() || !self.unbuilt.is_empty() && self.packages.is_subset(&self.unbuilt)
    }
}

/// The circumstances of a run.
#[derive(Clone, Debug, Default)]
struct Run {
    place: ShellState,
    /// Options such as `-race`, with which a test may fail.
    options: HashSet<String>,
}

impl Verdicts {
    /// Reads the output of a script.
    pub fn of((script, core): (&str, &Core), output: &str) -> Self {
        if !core.only_tests() || only_looks(script) {
            return Self::default();
        }
        let words = core.text();
        let options = words.split_whitespace().filter(|it| it.starts_with('-'));
        let options = options.filter(|it| !CHOOSING.iter().any(|begin| it.starts_with(begin)));
        let mut out = Self {
            run: Run {
                place: core.place().clone(),
                options: options.map(str::to_owned).collect(),
            },
            is_run: true,
            ..Self::default()
        };
        let (mut count, mut failures, mut are_bare) = (0, 0, false);
        for line in output.lines() {
            out.has_more |= line.starts_with("ERROR ") || line.starts_with("panic: ");
            failures = failures.max(number_of_failures(line));
            let Some(verdict) = verdict(line) else {
                continue;
            };
            count += 1;
            are_bare |= verdict.of == Of::BareTest && !verdict.passed;
            let names = match verdict.passed {
                true => &mut out.passed,
                false => &mut out.failed,
            };
            let names = match verdict.of {
                Of::Package => &mut names.packages,
                Of::Test | Of::BareTest => &mut names.tests,
            };
            names.insert(verdict.name.to_owned());
            if is_unbuilt(line) {
                out.failed.unbuilt.insert(verdict.name.to_owned());
            }
        }
        out.is_run = count <= MOST;
        out.has_more |= failures > out.failed.tests.len();
        out.has_more |= are_bare && out.failed.packages.is_empty();
        out
    }

    /// The tests that failed, where nothing else did.
    pub fn into_failed(self) -> Failed {
        match self.is_run && !self.has_more {
            true => Failed(self.failed, self.run),
            false => Failed::default(),
        }
    }
}

/// The tests that failed in a run, with their packages.
#[derive(Clone, Debug, Default)]
pub(super) struct Failed(Names, Run);

impl Failed {
    /// Returns true if all that failed passed in a later run in the same place, with the same options.
    pub fn passed_in(&self, later: &Verdicts) -> bool {
        let Self(names, run) = self;
        let all = |some: &HashSet<String>, passed: &HashSet<String>, failed: &HashSet<String>| {
            some.is_subset(passed) && some.is_disjoint(failed)
        };
        let (passed, failed) = (&later.passed, &later.failed);
        later.is_run
            && names.are_known()
            && !run.place.is_apart(&later.run.place)
            && run.options.is_subset(&later.run.options)
            && all(&names.tests, &passed.tests, &failed.tests)
            && all(&names.packages, &passed.packages, &failed.packages)
    }
}

/// The test that passed, of a line that says so.
pub(super) fn passed(line: &str) -> Option<&str> {
    let line = line.trim();
    let rust = line
        .strip_prefix("test ")
        .and_then(|it| it.strip_suffix(" ... ok"));
    let found = verdict(line).filter(|it| it.passed && it.of != Of::Package);
    rust.or(found.map(|it| it.name))
}

/// The verdict in a line.
fn verdict(line: &str) -> Option<Verdict<'_>> {
    let line = line.trim();
    let told = |name, passed, of| Some(Verdict { name, passed, of });
    // Go: `--- FAIL: TestRows/empty (0.01s)`, and `ok`, a tab and the package.
    if let Some(rest) = line.strip_prefix("--- ") {
        let (word, name) = rest.split_once(": ")?;
        let passed = matches!(word, "PASS").then_some(true);
        let passed = passed.or(matches!(word, "FAIL").then_some(false))?;
        return told(without_duration(name), passed, Of::BareTest);
    }
    if let Some((word, rest)) = line.split_once('\t') {
        let package = rest.split(['\t', ' ']).next().filter(|it| !it.is_empty())?;
        return match word.trim_end() {
            "ok" if !line.contains("[no test") => told(package, true, Of::Package),
            "FAIL" => told(package, false, Of::Package),
            _ => None,
        };
    }
    // cargo nextest: `PASS [   0.008s] (3/9) app rows::load`.
    if let Some((word @ ("PASS" | "FAIL"), rest)) = line.split_once(" [") {
        let (_, behind) = rest.split_once(']')?;
        let counted = behind
            .trim_start()
            .strip_prefix('(')
            .and_then(|it| it.split_once(')'));
        let name = counted.map_or(behind, |(_, name)| name).trim();
        let is_test = name.contains(' ') && name.contains("::");
        return told(name, word == "PASS", Of::Test).filter(|_| is_test);
    }
    // pytest: `tests/a.py::test_b[1] PASSED  [ 50%]`, and `FAILED tests/a.py::test_b[1] - assert`.
    if let Some(rest) = line.strip_prefix("FAILED ") {
        let name = rest.split(" - ").next().unwrap_or(rest);
        return told(name, false, Of::Test).filter(|it| it.name.contains("::"));
    }
    let (name, passed) = [(" PASSED", true), (" FAILED", false)]
        .iter()
        .find_map(|(word, passed)| Some((line.split_once(word)?.0, *passed)))?;
    let is_test = name.contains("::") && name.split("::").next()?.contains('.');
    told(name, passed, Of::Test).filter(|_| is_test)
}

/// Returns true if a line of Go says that the tests of a package could not be built.
fn is_unbuilt(line: &str) -> bool {
    let line = line.trim_end();
    line.starts_with("FAIL\t")
        && (line.ends_with("[build failed]") || line.ends_with("[setup failed]"))
}

/// A name without `(0.01s)` behind it.
fn without_duration(name: &str) -> &str {
    let cut = name.strip_suffix("s)").and_then(|it| it.rsplit_once(" ("));
    let is_time = |it: &str| it.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    cut.filter(|(_, time)| is_time(time))
        .map_or(name, |(name, _)| name)
}

/// The number in `3 failed`.
fn number_of_failures(line: &str) -> usize {
    let before = line.split_once(" failed").map(|(before, _)| before);
    let word = before.and_then(|it| it.rsplit(|it: char| !it.is_ascii_digit()).next());
    word.and_then(|it| it.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::command_line::Core;
    use super::{Of, Verdict, Verdicts, verdict};

    #[test]
    fn runners_write_verdicts_in_many_ways() {
        for (line, told) in [
            (
                "    --- FAIL: TestLoad/empty_(a) (0.01s)",
                Some(("TestLoad/empty_(a)", false, Of::BareTest)),
            ),
            ("--- SKIP: TestLoad (0.00s)", None),
            (
                "ok  \tapp.io/rows\t0.2s",
                Some(("app.io/rows", true, Of::Package)),
            ),
            ("ok  \tapp.io/rows\t0.2s [no tests to run]", None),
            (
                "FAIL\tapp.io/rows [build failed]",
                Some(("app.io/rows", false, Of::Package)),
            ),
            ("FAIL", None),
            (
                "PASS [   0.008s] ( 23/461) app rows::load",
                Some(("app rows::load", true, Of::Test)),
            ),
            (
                "tests/a.py::test_b[f(1)] PASSED   [ 50%]",
                Some(("tests/a.py::test_b[f(1)]", true, Of::Test)),
            ),
            (
                "FAILED tests/a.py::test_b - assert 1",
                Some(("tests/a.py::test_b", false, Of::Test)),
            ),
            ("ok 12 rows were read", None),
            ("All of it PASSED", None),
            ("PASS src/rows.test.ts", None),
        ] {
            let told = told.map(|(name, passed, of)| Verdict { name, passed, of });
            assert_eq!(verdict(line), told, "{line}");
        }
    }

    fn read(script: &str, output: &str) -> Verdicts {
        Verdicts::of((script, &Core::of(script)), output)
    }

    const FAILED: &str =
        "--- PASS: TestB (0.1s)\n--- FAIL: TestA (0.1s)\nFAIL\nFAIL\tapp/rows\t0.3s";
    const PASSED: &str = "--- PASS: TestA (0.1s)\nPASS\nok  \tapp/rows\t0.3s";

    #[track_caller]
    fn check(failed: (&str, &str), later: (&str, &str), is_over: bool) {
        let failed = read(failed.0, failed.1).into_failed();
        assert_eq!(
            failed.passed_in(&read(later.0, later.1)),
            is_over,
            "{later:?}"
        );
    }

    #[test]
    fn a_failure_is_over_where_all_that_failed_passes() {
        let go = ("go test -v ./...", FAILED);
        check(go, ("go test -v -run TestA ./rows", PASSED), true);
        check(go, ("go test -v -race -run TestA ./rows", PASSED), true);
        let python = (
            "pytest -q",
            "FAILED tests/a.py::test_b - assert 1\n1 failed, 3 passed in 0.1s",
        );
        check(
            python,
            ("pytest tests/a.py -v", "tests/a.py::test_b PASSED [100%]"),
            true,
        );
        check(
            python,
            ("pytest tests/c.py -v", "tests/c.py::test_b PASSED [100%]"),
            false,
        );
    }

    #[test]
    fn a_package_that_is_built_again_ends_a_failed_build() {
        let unbuilt = "# app/rows\nrows.go:3:2: undefined: a\nFAIL\tapp/rows [build failed]\nFAIL";
        let failed = ("go test ./rows -run TestA", unbuilt);
        check(failed, ("go test -v ./...", "ok  \tapp/rows\t0.3s"), true);
        let later = "ok  \tapp/rows\t0.3s [no tests to run]";
        check(failed, ("go test ./rows", later), false);
        check(failed, ("go test ./sort", "ok  \tapp/sort\t0.3s"), false);
        let more = format!("{unbuilt}\npanic: x\nFAIL\tapp/sort\t0.2s");
        let both = "ok  \tapp/rows\t0.3s\nok  \tapp/sort\t0.3s";
        check(("go test ./...", &more), ("go test ./...", both), false);
        let more = more.replace("panic: x\n", "");
        check(("go test ./...", &more), ("go test ./...", both), false);
    }

    #[test]
    fn an_output_that_does_not_prove_it_ends_no_failure() {
        let go = ("go test -v ./...", FAILED);
        for script in [
            "cat /tmp/old-test.log",
            "echo 'go test'",
            "git stash && go test -v ./...",
            "make deploy",
        ] {
            check(go, (script, PASSED), false);
        }
        check(
            ("cd /w/a && go test -v ./...", FAILED),
            ("cd /w/b && go test -v ./...", PASSED),
            false,
        );
        check(
            ("go test -v -race ./...", FAILED),
            ("go test -v ./...", PASSED),
            false,
        );
        let other = PASSED.replace("app/rows", "app/other");
        check(go, ("go test -v ./...", &other), false);
        check(
            go,
            ("go test -v ./...", &PASSED.replace("PASS: ", "SKIP: ")),
            false,
        );
        check(
            go,
            ("go test -v ./...", &format!("{FAILED}\n{PASSED}")),
            false,
        );
        let unbuilt = format!("{FAILED}\nFAIL\tapp/sort [build failed]");
        check(
            ("go test -v ./...", &unbuilt),
            ("go test -v ./...", PASSED),
            false,
        );
        let more = "FAILED tests/a.py::test_b - assert 1\n7 failed in 0.1s";
        check(
            ("pytest", more),
            ("pytest -v", "tests/a.py::test_b PASSED [100%]"),
            false,
        );
        let error = "ERROR tests/c.py\nFAILED tests/a.py::test_b - assert 1";
        check(
            ("pytest", error),
            ("pytest -v", "tests/a.py::test_b PASSED [100%]"),
            false,
        );
        let bare = "--- FAIL: TestA (0.1s)";
        check(
            ("go test -v | grep -- ---", bare),
            ("go test -v ./...", PASSED),
            false,
        );
    }
}
