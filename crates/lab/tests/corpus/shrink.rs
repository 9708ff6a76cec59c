//! Real test logs, pages in 19 languages and real tool results through shrinking.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use context::shrink::{ContentClass, Limits, Recovery, Shrunk, is_shrunk, shrink};
use context::turn::{CallId, Outcome, ToolResult};
use context::{Heuristic, TokenCounter, Tokens};
use wire::session::load;

use crate::locate::corpus;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

fn result(text: &str) -> ToolResult {
    ToolResult {
        call: CallId::from("call_1"),
        text: text.into(),
        outcome: Outcome::Succeeded,
    }
}

/// Shortens a text and checks the laws; `None` where it fits.
fn check(text: &str, max: u64) -> Option<Shrunk> {
    let limits = Limits::new(Tokens::new(max));
    let result_of = result(text);
    let whole = Recovery::Expand("call_1");
    let shrunk = shrink(&result_of, None, &limits, &Heuristic, whole);
    let Some(shrunk) = &shrunk else {
        assert!(Heuristic.count(text) <= limits.max());
        return None;
    };
    assert!(shrunk.after <= limits.max() && shrunk.after < shrunk.before);
    assert_eq!(shrunk.after, Heuristic.count(&shrunk.text));
    assert!(is_shrunk(&result(&shrunk.text)));
    Some(shrunk.clone())
}

/// Takes colours off, by another way than the code under test.
fn plain(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |mut out, piece| {
        out.push_str(piece.split_once('m').map_or(piece, |(_, rest)| rest));
        out
    })
}

/// The names of the tests that a log calls failed, as its runner writes them.
fn failing(log: &str) -> Vec<String> {
    let mut names: Vec<String> = plain(log)
        .lines()
        .filter_map(|line| {
            let unittest = line
                .strip_prefix("FAIL: ")
                .or_else(|| line.strip_prefix("ERROR: "));
            let pytest = line
                .strip_prefix("FAILED ")
                .or_else(|| line.strip_prefix("ERROR "))
                .filter(|rest| rest.contains("::") || rest.contains(".py"));
            let sympy = line
                .strip_suffix(" F")
                .filter(|name| name.starts_with("test_"));
            let name = unittest.or(pytest).or(sympy)?;
            name.split([' ', '[']).next().map(str::to_owned)
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn failing_tests_survive_in_real_logs() {
    let Some(corpus) = corpus() else { return };
    let mut paths = Vec::new();
    files(&corpus.join("corpora/test-logs/python"), &mut paths);
    assert_eq!(paths.len(), 24);
    let (mut all, mut kept, mut shortened, mut logs) = (0, 0, 0, 0);
    for path in paths {
        let log = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(shrunk) = check(&log, 2_000) else {
            continue;
        };
        shortened += 1;
        logs += usize::from(shrunk.class == ContentClass::Log);
        let failing = failing(&log);
        all += failing.len();
        for test in &failing {
            if shrunk.text.contains(test.as_str()) {
                kept += 1;
            } else {
                println!("{name}: {test} is gone ({} failing)", failing.len());
            }
        }
        // The line that says how it ended is among the last ones.
        let plain_log = plain(&log);
        let end = plain_log
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap();
        let start: String = end.chars().take(60).collect();
        assert!(shrunk.text.contains(&start), "{name}: {start}");
    }
    println!(
        "{kept} of {all} failing tests are named in {shortened} shortened logs, {logs} known as logs"
    );
    assert_eq!(logs, shortened);
    assert!(kept * 100 >= all * 95, "{kept} of {all}");
}

#[test]
fn every_language_is_cut_cleanly() {
    let Some(corpus) = corpus() else { return };
    let mut paths = Vec::new();
    files(&corpus.join("corpora/tldr"), &mut paths);
    let mut languages: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut pages = 0;
    for path in paths.iter().filter(|path| {
        path.parent()
            .is_some_and(|folder| folder.ends_with("common"))
    }) {
        let page = std::fs::read_to_string(path).unwrap();
        check(&page, 0);
        pages += 1;
        let language = path.ancestors().nth(2).unwrap().to_path_buf();
        languages.entry(language).or_default().push_str(&page);
    }
    assert!(pages >= 342 && languages.len() >= 19);
    for (language, text) in languages {
        let Some(shrunk) = check(&text, 200) else {
            panic!("{} is long", language.display())
        };
        // Whole lines of the original, but for the marks and the cut ones.
        let foreign = shrunk
            .text
            .lines()
            .skip(1)
            .filter(|line| !line.contains('…') && !text.contains(line))
            .count();
        assert_eq!(foreign, 0, "{}", language.display());
        check(&text.replace('\n', " "), 200).expect("one long line is shortened");
    }
}

#[test]
fn real_tool_results_keep_the_laws() {
    let Some(corpus) = corpus() else { return };
    let mut paths = Vec::new();
    for folder in ["entire-cli", "pi-mono", "swe-agent", "tau-bench"] {
        files(&corpus.join(folder), &mut paths);
    }
    let mut classes: BTreeMap<ContentClass, (usize, u64, u64)> = BTreeMap::new();
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(document) = load(&bytes, "session", &Heuristic) else {
            continue;
        };
        let turns = document.sessions.iter().flat_map(|session| &session.turns);
        for tool_result in turns.flat_map(|turn| turn.results()) {
            if let Some(shrunk) = check(&tool_result.text, 1_000) {
                let sum = classes.entry(shrunk.class).or_default();
                *sum = (
                    sum.0 + 1,
                    sum.1 + shrunk.before.get(),
                    sum.2 + shrunk.after.get(),
                );
            }
        }
    }
    for (class, (number, before, after)) in &classes {
        println!("{class:6} {number:4} results, {before} tokens, {after} shown");
    }
    assert!(classes.values().map(|sum| sum.0).sum::<usize>() > 100);
    assert!(classes.contains_key(&ContentClass::Code) && classes.contains_key(&ContentClass::Json));
}
