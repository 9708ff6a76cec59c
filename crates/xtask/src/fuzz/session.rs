//! Runs one fuzz target and checks that it found no failure and reported coverage.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use super::Target;
use crate::command::{self, say};

/// The length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Seconds, with a new random seed each time, to find new failures.
    Seconds(u32),
    /// Inputs, with the same random seed each time, to detect regressions.
    Runs(u32),
}

/// Runs a built target on its corpus. Libfuzzer saves a failing input in `artifacts/TARGET/`. A run
/// without coverage fails too, since its target is not instrumented.
pub fn run(folder: &Path, target: &Target, program: &Path, length: Length) -> anyhow::Result<()> {
    let name = &target.name;
    let artifacts = folder.join("artifacts").join(name);
    fs::create_dir_all(&artifacts)
        .with_context(|| format!("cannot create {}", artifacts.display()))?;
    let log = artifacts.join("log");
    let mut arguments = vec![
        format!("corpus/{name}"),
        format!("-artifact_prefix=artifacts/{name}/"),
        "-timeout=20".to_owned(),
        "-rss_limit_mb=4096".to_owned(),
        "-print_final_stats=1".to_owned(),
    ];
    match length {
        Length::Seconds(seconds) => arguments.push(format!("-max_total_time={seconds}")),
        Length::Runs(runs) => arguments.extend([format!("-runs={runs}"), "-seed=1".to_owned()]),
    }
    let words = format!("dictionaries/{name}.dict");
    if folder.join(&words).is_file() {
        arguments.push(format!("-dict={words}"));
    }
    let mut command = Command::new(program);
    command.args(&arguments).current_dir(folder);
    command.stderr(fs::File::create(&log).context("cannot write the log of the run")?);
    let outcome = command::run(command);
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    if let Err(error) = outcome {
        return Err(error.context(format!(
            "{name} found a failing input\n{}",
            last_lines(&text, 30)
        )));
    }
    match Report::read(&text) {
        Some(report) => {
            say(&format!("{name}: {report}"));
            Ok(())
        }
        None => bail!("{name} reports no coverage\n{}", last_lines(&text, 10)),
    }
}

/// The statistics of a run, from libFuzzer's log.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    inputs: u64,
    covered_before: u64,
    covered_after: u64,
}

impl Report {
    /// Parses libFuzzer's log: event lines with `cov: N`, of which the first follows the seeds, and the
    /// number of runs at the end. Returns `None` if the coverage is not above 1.
    fn read(log: &str) -> Option<Self> {
        let covered = |line: &str| {
            let mut words = line.split_whitespace();
            words.find(|&word| word == "cov:")?;
            words.next()?.parse::<u64>().ok()
        };
        let before = log
            .lines()
            .find(|line| line.contains("INITED"))
            .and_then(covered)?;
        let after = log.lines().rev().find_map(covered)?;
        let inputs = log
            .lines()
            .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
            .and_then(|number| number.trim().parse().ok())?;
        (after > 1).then_some(Self {
            inputs,
            covered_before: before,
            covered_after: after,
        })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} inputs, {} edges covered ({} by the seeds), no failure",
            self.inputs, self.covered_after, self.covered_before
        )
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(count);
    lines.get(from..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Report, last_lines};

    const LOG: &str = "\
INFO: Loaded 1 modules   (4 inline 8-bit counters)
#3	INITED cov: 12 ft: 13 corp: 1/1b exec/s: 0 rss: 30Mb
#9	NEW    cov: 15 ft: 18 corp: 2/2b lim: 4 exec/s: 0 rss: 30Mb
#100	DONE   cov: 15 ft: 18 corp: 2/2b lim: 4 exec/s: 50 rss: 30Mb
stat::number_of_executed_units: 100
";

    #[test]
    fn a_log_is_read() {
        let report = Report::read(LOG).unwrap();
        assert_eq!(
            report.to_string(),
            "100 inputs, 15 edges covered (12 by the seeds), no failure"
        );
    }

    #[test]
    fn a_target_without_instrumentation_is_noticed() {
        assert_eq!(Report::read(&LOG.replace("cov: 1", "ft: 1")), None);
        let blind = LOG
            .replace("cov: 12", "cov: 1")
            .replace("cov: 15", "cov: 1");
        assert_eq!(Report::read(&blind), None);
        assert_eq!(Report::read(""), None);
    }

    #[test]
    fn the_end_of_a_text() {
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
    }
}
