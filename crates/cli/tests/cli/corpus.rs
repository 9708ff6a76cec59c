//! Runs the program on real sessions. Without a corpus, the tests print a line and are skipped.

use std::path::PathBuf;

use serde_json::Value;

use crate::{ebbtide, locate, program, run};

const PI: &str = "pi-mono/packages/coding-agent/test/fixtures/before-compaction.jsonl";

/// One file of each format that the corpus holds, small ones.
const EACH_FORMAT: [&str; 5] = [
    PI,
    "entire-cli/2026-01-06-d88bceb6-bb3a-4ae8-9405-d67d19950a46.jsonl",
    "tau-bench/historical_trajectories/gpt-4o-airline.json",
    "swe-agent/trajectories/demonstrations/replay__marshmallow-code__marshmallow-1867__function_calling__install-1",
    "longmemeval-s-subset/longmemeval_s.json",
];

/// The file, or the first session file in the folder.
fn file(path: PathBuf) -> PathBuf {
    if !path.is_dir() {
        return path;
    }
    let mut below: Vec<PathBuf> = std::fs::read_dir(&path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    below.sort();
    let sessions = below
        .into_iter()
        .filter(|path| path.is_dir() || path.extension().is_some_and(|e| e == "traj"));
    file(sessions.into_iter().next().expect("a session"))
}

#[test]
fn at_128k_prepared_never_waits_and_loses_no_pin() {
    let Some(corpus) = locate::corpus() else {
        return;
    };
    let path = corpus.join(PI).display().to_string();
    let arguments = [
        "replay",
        &path,
        "--window",
        "128k",
        "--json",
        "--pin",
        "never rewrite the changelog",
    ];
    let ran = ebbtide(&arguments);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let outcomes = report["comparisons"][0]["strategies"]
        .as_array()
        .expect("outcomes");
    assert_eq!(outcomes.len(), 8);
    for outcome in outcomes {
        let stalls = outcome["simulated"]["stalls"]["count"].as_u64();
        match outcome["strategy"].as_str() {
            Some("prepared") => {
                assert!(outcome["boundaries"].as_u64() >= Some(2), "{outcome}");
                assert_eq!(stalls, Some(0));
                assert_eq!(outcome["overflows"]["requests"], 0);
                assert!(outcome["pins"]["requests"].as_u64() > Some(400));
                assert_eq!(outcome["pins"]["intact"], outcome["pins"]["requests"]);
            }
            Some("stop_the_world") => assert!(stalls > Some(0)),
            _ => {}
        }
    }
}

/// The manual's page of measures holds what the commands print.
#[test]
fn the_manual_has_the_tables_of_receipts_and_regret() {
    let Some(corpus) = locate::corpus() else {
        return;
    };
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/replay.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let folders = ["entire-cli", "pi-mono"].map(|it| corpus.join(it).display().to_string());
    for measure in ["receipt", "regret"] {
        let ran = ebbtide(&["bench", measure, &folders[0], &folders[1]]);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        assert!(
            page.contains(ran.stdout.trim_end()),
            "docs/replay.md says otherwise:\n{}",
            ran.stdout
        );
    }
}

/// The first table of the README holds what a replay of its sessions counts.
#[test]
fn the_readme_has_the_figures_of_the_replay() {
    let Some(corpus) = locate::corpus() else {
        return;
    };
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let folder = corpus.join("entire-cli").display().to_string();
    let ran = ebbtide(&["replay", &folder, "--json"]);
    // The list of their sources lies beside the sessions, and is skipped.
    assert_eq!(ran.exit, 3, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let one = |list: &str, matches: &dyn Fn(&Value) -> bool| -> Value {
        let all = report[list].as_array().expect("a list");
        all.iter().find(|it| matches(it)).expect("an entry").clone()
    };
    // The replay rounds as it prints: rules that are kept down, so that "all" means all.
    let share = |part: &Value, of: &Value| {
        100.0 * part.as_f64().expect("a count") / of.as_f64().expect("a count")
    };
    let of_both = |figure: &dyn Fn(&Value) -> String| -> [String; 2] {
        ["stop_the_world", "prepared"].map(|name| {
            let found = one("totals", &|it| it["strategy"] == name);
            figure(&found)
        })
    };
    let waits = of_both(&|it| it["simulated"]["stalls"]["count"].to_string());
    let minutes = of_both(&|it| {
        let seconds = it["simulated"]["stalls"]["total_seconds"].as_f64();
        match seconds.expect("seconds") {
            0.0 => "0".to_owned(),
            seconds => format!("{:.0} min", seconds / 60.0),
        }
    });
    let rules = of_both(&|it| {
        let kept = share(&it["constraints"]["kept"], &it["constraints"]["said"]);
        format!("{} %", kept.floor())
    });
    let names = ["product", "extractive"].map(|way| {
        let found = one("recall_totals", &|it| {
            it["place"] == "product" && it["way"] == way
        });
        format!("{:.0} %", share(&found["named"], &found["needed"]))
    });
    for (begins, want) in [
        ("times that the user waited", waits),
        ("time spent waiting", minutes),
        ("the user's rules", rules),
        ("names (files", names),
    ] {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| {begins}")));
        let row = row.expect("a row of the README");
        let ends = format!("| {} | {} |", want[0], want[1]);
        assert!(row.ends_with(&ends), "README.md: {row}\nreplay: {ends}");
    }
}

#[test]
fn every_format_is_compacted_into_itself() {
    let Some(corpus) = locate::corpus() else {
        return;
    };
    for name in EACH_FORMAT {
        let path = file(corpus.join(name)).display().to_string();
        let arguments = ["--session", "1", "--keep-recent", "2k", "--budget", "500"];
        let ran = ebbtide(&[&["compact", &path], &arguments[..]].concat());
        assert_eq!(ran.exit, 0, "{name}: {}", ran.stderr);
        let before = inspected(&ebbtide(&["inspect", &path, "--session", "1", "--json"]).stdout);
        let again = run(program(&["inspect", "-", "--json"]), ran.stdout.as_bytes());
        assert_eq!(again.exit, 0, "{name}: {}", again.stderr);
        let after = inspected(&again.stdout);
        assert_eq!(after["format"], before["format"], "{name}");
        let turns = |seen: &Value| seen["turns"]["all"].as_u64();
        assert!(turns(&after) < turns(&before), "{name}");
    }
}

fn inspected(json: &str) -> Value {
    let report: Value = serde_json::from_str(json).expect("JSON");
    report["sessions"][0].clone()
}
