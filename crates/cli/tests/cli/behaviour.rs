//! `ebbtide bench behaviour` before a simulated model whose answers are scripted.

use std::sync::Arc;

use context::Turn;
use lab::behaviour::{Case, cases};
use serde_json::Value;
use sim::{Prompt, Say, Script};
use tokio::net::TcpListener;

use crate::{Ran, program, run};

/// Answers like a model that uses what it is shown: what the case's user said, or the note.
fn reads(case: &Case, shown: &str) -> String {
    let behind = |mark: &str| {
        let (_, rest) = shown.rsplit_once(mark)?;
        let end = rest.find(|it: char| !it.is_ascii_digit() && !".-".contains(it));
        rest.get(..end.unwrap_or(rest.len()))
    };
    let noted = match case.wants {
        "@date" => behind("current time: ").and_then(|it| it.get(..10)),
        "@hours" => behind("Z ("),
        "@percent" => behind(" tokens ("),
        "@compactions" => behind("compactions in this session: "),
        "@yes" => behind("compactions in this session: ").map(|_| "Yes."),
        wants if shown.contains(case.said) => {
            let parts = wants.split(" & ").filter_map(|part| part.split('|').next());
            return parts.collect::<Vec<_>>().join(" ");
        }
        _ => None,
    };
    noted.unwrap_or("I do not know.").to_owned()
}

/// Runs the bench. `answers` gets the case and the right answer, as far as the model can know it.
fn bench(more: &[&str], answers: fn(&Case, String) -> String) -> (Ran, u64) {
    let script = move |prompt: &Prompt<'_>| {
        let texts: Vec<String> = prompt.turns.iter().map(Turn::readable).collect();
        let asked = prompt.last_user();
        let cases = cases();
        let case = cases.iter().find(|case| asked.contains(case.asks));
        let case = case.expect("a question of the bench");
        let answer = answers(case, reads(case, &texts.join("\n")));
        vec![Say::Text(answer)]
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sim = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let config = sim::Config {
            script: Script::Function(Arc::new(script)),
            ..sim::Config::default()
        };
        let clock = Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
        sim::serve(listener, config, clock, None).expect("a provider")
    });
    let (url, model) = (sim.url(), "gpt-5.5");
    let arguments = ["bench", "behaviour", "--endpoint", &url, "--model", model];
    let mut command = program(&[&arguments, more].concat());
    command.env("OPENAI_API_KEY", "sk-of-the-bench");
    let ran = run(command, b"");
    let total = sim.provider().total();
    let (requests, input) = (total.requests, total.used.input());
    assert!(input.get() <= requests * 10_000, "{input} tokens");
    runtime.block_on(sim.shutdown());
    (ran, requests)
}

/// Right and all answers of a row of the report.
fn share(report: &Value, kind: &str, memory: &str) -> (u64, u64) {
    let rows = report["rows"].as_array().expect("rows");
    let mut rows = rows.iter();
    let row = rows.find(|row| row["kind"] == kind && row["memory"] == memory);
    let row = row.expect("a row");
    let count = |key: &str| row[key].as_u64().expect("a number");
    (count("right"), count("asked"))
}

#[test]
fn a_model_that_uses_what_it_is_shown_is_right_wherever_it_can_be() {
    let (ran, requests) = bench(&["--json"], |_, right| right);
    assert_eq!((ran.exit, requests), (0, 54), "{}", ran.shown());
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    for (kind, memory, expected) in [
        ("rule", "whole", (8, 8)),
        ("rule", "compacted", (8, 8)),
        ("fact", "whole", (8, 8)),
        ("fact", "compacted", (8, 8)),
        ("closed", "whole", (6, 6)),
        ("closed", "compacted", (6, 6)),
        ("interview", "compacted", (5, 5)),
        ("interview", "compacted_without_note", (0, 5)),
    ] {
        assert_eq!(share(&report, kind, memory), expected, "{}", ran.shown());
    }
    assert_eq!(report["complete"], true);
    assert_eq!(report["wrong"].as_array().expect("a list").len(), 5);
}

#[test]
fn wrong_answers_are_counted_as_wrong() {
    let (ran, _) = bench(&["--json", "--repeat", "2"], |case, right| {
        match case.asks {
            asks if asks.contains("Which port") => "7342.".to_owned(),
            asks if asks.contains("first program") => "PERSON, that is Ada Lovelace.".to_owned(),
            asks if asks.contains("ticket") => "WEB-12, then WEB-15.".to_owned(),
            asks if asks.contains("many compactions") => "There was none, so 0.".to_owned(),
            _ => right,
        }
    });
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    for (kind, expected) in [
        ("rule", (14, 16)),
        ("fact", (14, 16)),
        ("closed", (10, 12)),
        ("interview", (8, 10)),
    ] {
        assert_eq!(
            share(&report, kind, "compacted"),
            expected,
            "{}",
            ran.shown()
        );
    }
    let wrong = report["wrong"].as_array().expect("a list");
    assert!(wrong.iter().any(|it| it["answer"] == "7342."));
}

#[test]
fn the_report_shows_shares_and_intervals() {
    let (ran, _) = bench(&[], |_, right| right);
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn a_run_ends_in_time_and_failures_have_codes() {
    let (ran, requests) = bench(&["--minutes", "0", "--json"], |_, right| right);
    assert_eq!((ran.exit, requests), (3, 0), "{}", ran.shown());
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["complete"], false);
    let arguments = [
        "bench",
        "behaviour",
        "--model",
        "m",
        "--endpoint",
        "nowhere",
    ];
    let ran = run(program(&arguments), b"");
    assert_eq!(ran.exit, 2, "{}", ran.shown());
    assert!(ran.stderr.contains("error[E0701]"), "{}", ran.shown());
}
