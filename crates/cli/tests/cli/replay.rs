//! `ebbtide replay`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Ran, data, ebbtide};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn a_folder_of_all_sorts_is_replayed_in_part() {
    let ran = ebbtide(&["replay", "mixed", "--window", "2k"]);
    insta::assert_snapshot!(ran.shown());
    let report = json(&ebbtide(&["replay", "mixed", "--json"]));
    assert_eq!(report["comparisons"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["skipped"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["totals"][0]["sessions"], 2);
}

#[test]
fn a_folder_without_a_usable_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::copy(
        data().join("mixed/package.json"),
        folder.path().join("a.json"),
    )
    .expect("a copy");
    fs::copy(
        data().join("mixed/empty.jsonl"),
        folder.path().join("b.jsonl"),
    )
    .expect("a copy");
    let ran = ebbtide(&["replay", &folder.path().display().to_string()]);
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("a.json") && ran.stderr.contains("error[E0006]"));
}

#[test]
fn recall_at_equal_size_is_in_the_report_and_in_the_table() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let filler = "the parser reads the next line and looks at it. ".repeat(40);
    let mut said = vec![serde_json::json!({ "role": "user",
        "content": "Look at src/parser/lexer_state.rs, it fails on port 48213." })];
    for number in 0..160 {
        let role = if number % 2 == 0 { "assistant" } else { "user" };
        said.push(serde_json::json!({ "role": role, "content": filler }));
    }
    said.push(serde_json::json!({ "role": "assistant",
        "content": "So src/parser/lexer_state.rs binds 48213 twice." }));
    let path = folder.path().join("long.json");
    fs::write(&path, serde_json::to_vec(&said).expect("JSON")).expect("written");
    let path = path.display().to_string();
    let report = json(&ebbtide(&["replay", &path, "--json"]));
    let recall = &report["comparisons"][0]["recall"];
    assert_eq!(recall["absent"], serde_json::Value::Null);
    assert_eq!(recall["rows"].as_array().map(Vec::len), Some(6));
    let pooled = &report["recall_totals"][0];
    assert_eq!(
        (&pooled["place"], &pooled["way"]),
        (&"fixed".into(), &"extractive".into())
    );
    assert_eq!(
        (&pooled["needed"], &pooled["named_share"]),
        (&2.into(), &1.0.into())
    );
    let text = ebbtide(&["replay", &path]);
    assert!(
        text.stdout.contains("extractive        100 %"),
        "{}",
        text.stdout
    );
}

const DROPS: &str = "use mem
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(pressure >= 0.3) ; map({ drop_to: 0.3 }) ; commands
  answers ; discard
}";

#[test]
fn a_strategy_of_ones_own_stands_beside_those_that_are_shipped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = folder.path().join("drops_early.plumb");
    fs::write(&own, DROPS).expect("written");
    let strategies = format!("{},truncate", own.display());
    let arguments = [
        "replay",
        "claude.jsonl",
        "--strategy",
        &strategies,
        "--json",
        "--window",
    ];
    let report = json(&ebbtide(&[&arguments[..], &["1k"]].concat()));
    let own = &report["comparisons"][0]["strategies"][0];
    assert_eq!(own["strategy"], "drops_early.plumb");
    assert_eq!(own["thresholds"]["soft"], 0.3);
    let names = report["totals"].as_array().map(|totals| {
        let names = totals.iter().map(|total| total["strategy"].as_str());
        names.map(Option::unwrap_or_default).collect::<Vec<_>>()
    });
    assert_eq!(names.unwrap_or_default(), ["drops_early.plumb", "truncate"]);
}

#[test]
fn what_a_strategy_of_ones_own_ordered_is_told() {
    let often = DROPS.replace("pressure >= 0.3", "pressure > 0");
    let swaps = often.replace("drop_to: 0.3", "swap: true");
    let nothing = DROPS.replace("pressure >= 0.3", "pressure > 9");
    let files = [
        ("drops.plumb", &*often),
        ("swaps.plumb", &*swaps),
        ("nothing.plumb", &*nothing),
    ];
    let report = json(&replay_files(&files, &["--json"]));
    let commands =
        |strategy: usize| report["comparisons"][0]["strategies"][strategy]["commands"].clone();
    let of_each_request = |command: &str, refused: Option<&str>| -> serde_json::Value {
        let requests = report["comparisons"][0]["session"]["requests"].as_u64();
        let given = |before_request| {
            serde_json::json!({
                "before_request": before_request, "command": command, "refused": refused,
            })
        };
        (0..requests.expect("a number")).map(given).collect()
    };
    assert_eq!(commands(1), of_each_request("drop_to", None));
    assert_eq!(commands(2), of_each_request("swap", Some("nothing_ready")));
    assert_eq!(commands(3), serde_json::json!([]));

    let told = replay_files(&files, &[]).stdout.replace('\n', " ");
    let times = commands(1).as_array().map_or(0, Vec::len);
    for said in [
        format!("drops.plumb gave the commands drop_to {times}."),
        format!("swaps.plumb gave the commands swap {times} ({times} refused: nothing_ready)."),
        "nothing.plumb gave no commands.".to_owned(),
    ] {
        assert!(told.contains(&said), "{said}: {told}");
    }
    assert!(!told.contains("prepared gave"), "{told}");
}

/// The replay of a session of the fixtures under these strategies, each of them a file in one folder, with
/// other arguments behind.
fn replay_files(files: &[(&str, &str)], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut names = Vec::new();
    for (name, text) in files {
        let path = folder.path().join(name);
        let parent = path.parent().expect("it is in a folder");
        fs::create_dir_all(parent).expect("a folder");
        fs::write(&path, text).expect("written");
        names.push(path.display().to_string());
    }
    let strategies = format!("prepared,{}", names.join(","));
    let arguments = ["replay", "claude.jsonl", "--window", "1k", "--strategy"];
    ebbtide(&[&arguments[..], &[&strategies], more].concat())
}

#[test]
fn files_are_told_apart_from_what_is_shipped_and_from_each_other() {
    let files = [
        ("prepared.plumb", DROPS),
        ("a/x.plumb", DROPS),
        ("b/x.plumb", DROPS),
    ];
    let report = json(&replay_files(&files, &["--json"]));
    let totals = report["totals"].as_array().expect("a list");
    let names: Vec<&str> = totals
        .iter()
        .filter_map(|it| it["strategy"].as_str())
        .collect();
    assert_eq!(names.get(..2), Some(&["prepared", "prepared.plumb"][..]));
    assert!(
        names[2].ends_with("a/x.plumb") && names[3].ends_with("b/x.plumb"),
        "{names:?}"
    );
}

#[test]
fn a_strategy_that_fails_is_not_shown_as_if_it_had_run() {
    let divides = DROPS.replace("pressure >= 0.3", "1 / (compactions * 0) > 1");
    let files = [("div.plumb", divides.as_str()), ("whole.plumb", DROPS)];
    let why = "division by zero. `prepared` replaced it from there on";
    let table = replay_files(&files, &[]);
    let joined = table.stdout.replace('\n', " ");
    assert!(joined.contains(why), "{}", table.stdout);
    assert!(
        joined.contains("div.plumb:3:13: filter: "),
        "{}",
        table.stdout
    );
    let ran = replay_files(&files, &["--json"]);
    let said = "div.plumb failed in 1 of 1 session; `prepared` replaced it there.";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let report = json(&ran);
    let strategies = &report["comparisons"][0]["strategies"];
    let failed = &strategies[1]["failed"];
    assert_eq!(failed["before_request"], 0);
    let reason = failed["reason"].as_str().expect("a text");
    assert!(
        reason.ends_with("div.plumb:3:13: filter: division by zero"),
        "{reason}"
    );
    assert_eq!(strategies[2]["failed"], serde_json::Value::Null);
    let counts = [0, 1, 2].map(|total| report["totals"][total]["failed_sessions"].clone());
    assert_eq!(counts, [0, 1, 0].map(serde_json::Value::from));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("page.html").display().to_string();
    replay_files(&files, &["--html", &page]);
    let page = fs::read_to_string(page).expect("written");
    assert!(page.contains("div.plumb failed at request 1"), "{page}");
}

#[test]
fn a_strategy_that_does_not_check_is_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = folder.path().join("mine.plumb");
    let own = own.display().to_string();
    for (text, expected) in [
        (
            DROPS.replace("drop_to", "drop_two"),
            ["error[P0301]", "drop_two", "error[E0613]"],
        ),
        (
            "let main : !int -> !int = id".to_owned(),
            ["mine.plumb", "main", "error[E0614]"],
        ),
        (
            DROPS.replace("drop_to", "drop_two"),
            [format!("--> {own}:3:").as_str(), "drop_two", "error[E0613]"],
        ),
    ] {
        fs::write(&own, text).expect("written");
        for command in [
            &["replay", "claude.jsonl"][..],
            &["serve", "--store", "memory"],
        ] {
            let ran = ebbtide(&[command, &["--strategy", &own]].concat());
            assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
            for part in expected {
                assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
            }
        }
    }
}

#[test]
fn a_compressor_that_the_host_would_ignore_is_refused_wherever_a_strategy_is_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = folder.path().join("mine.plumb");
    let own = own.display().to_string();
    let mine = r#"
let compressor : !MemoryDump -> !SetMemory = agent {
  provider: "anthropic", model: "claude-opus-5-5", prompt: "Keep every date."
}
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {
  telemetry ; filter(pressure > 0.8) ; map({ get_memory: true }) ; ctrl_in
  ctrl_out ; filter(defined(memory)) ; compressor ; ctrl_in
}
"#;
    fs::write(&own, mine).expect("written");
    for command in [
        &["plumb", "check"][..],
        &["replay", "claude.jsonl"],
        &["serve", "--store", "memory"],
    ] {
        let ran = ebbtide(&[command, &["--strategy", &own]].concat());
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        for part in ["error[E0617]", "`compressor`", "hint: Use `Mem.compressor`"] {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
    let checked = ebbtide(&["plumb", "check", "--strategy", "--json", &own]);
    let checked: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    assert_eq!(checked["files"][0]["error"]["code"], "E0617");
    assert_eq!(
        ebbtide(&["plumb", "check", &own]).exit,
        0,
        "a sound program"
    );
}

#[test]
fn the_shipped_strategies_are_strategies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../strategies");
    let files = fs::read_dir(folder).expect("the strategies");
    let files: Vec<String> = files
        .map(|file| file.expect("a file").path().display().to_string())
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = ebbtide(&[&["plumb", "check", "--strategy"], &files[..]].concat());
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(files.len() >= 8, "{files:?}");
}

/// A session in which pins are said, tools are used, and the window of 32k tokens fills three times.
fn long_session() -> Value {
    let filler = "the parser reads the next line and looks at it. ".repeat(60);
    let mut said = vec![serde_json::json!({ "role": "user",
        "content": "#pin never write below /srv/ledger\nLook at src/parser/lexer_state.rs." })];
    for number in 0..60 {
        let call = serde_json::json!({ "id": format!("c{number}"), "type": "function",
            "function": { "name": "read", "arguments": format!("{{\"line\":{number}}}") } });
        said.extend([
            serde_json::json!({ "role": "assistant", "content": filler, "tool_calls": [call] }),
            serde_json::json!({ "role": "tool", "tool_call_id": format!("c{number}"),
                "content": filler }),
            serde_json::json!({ "role": "assistant", "content": filler }),
            serde_json::json!({ "role": "user", "content": "Go on." }),
        ]);
    }
    Value::Array(said)
}

#[test]
fn the_users_rules_that_survive_are_counted_for_each_strategy() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let session = folder.path().join("long.json");
    let mut said = long_session();
    said[0]["content"] = "I have a gambling problem. Never give me betting tips.".into();
    fs::write(&session, said.to_string()).expect("written");
    let session = session.display().to_string();
    let strategies = "truncate,pinning,vulnerable";
    let arguments = [
        "replay",
        &session,
        "--window",
        "32k",
        "--strategy",
        strategies,
    ];
    let found = json(&ebbtide(&[&arguments[..], &["--json"]].concat()));
    let outcomes = &found["comparisons"][0]["strategies"];
    let kept = |index: usize| outcomes[index]["constraints"].clone();
    assert_eq!(kept(0), serde_json::json!({ "said": 1, "kept": 0 }));
    assert_eq!(kept(1), serde_json::json!({ "said": 1, "kept": 1 }));
    assert_eq!(kept(2), serde_json::json!({ "said": 1, "kept": 1 }));
    let pinned = |index: usize| {
        let commands = outcomes[index]["commands"].as_array().expect("commands");
        let pins = commands.iter().filter(|it| it["command"] == "pin");
        pins.count()
    };
    assert_eq!((pinned(1), pinned(2)), (0, 1));
    let table = ebbtide(&arguments).stdout;
    assert!(
        table.contains("rules") && table.contains("vulnerable"),
        "{table}"
    );
}

#[test]
fn a_copy_of_a_shipped_strategy_under_another_name_does_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let session = folder.path().join("long.json");
    fs::write(&session, long_session().to_string()).expect("written");
    let session = session.display().to_string();
    let shipped = data().join("../../../../strategies");
    let (mut names, mut copies) = (Vec::new(), Vec::new());
    for file in fs::read_dir(shipped).expect("the strategies") {
        let file = file.expect("a strategy").path();
        let name = file.file_stem().expect("a name").to_string_lossy();
        let copy = folder.path().join(format!("copy_of_{name}.plumb"));
        fs::copy(&file, &copy).expect("a copy");
        names.push(name.into_owned());
        copies.push(copy.display().to_string());
    }
    assert_eq!(names.len(), 9);
    let outcomes = |strategies: &[String]| {
        let strategies = strategies.join(",");
        let arguments = ["replay", &session, "--window", "32k", "--json"];
        let ran = ebbtide(&[&arguments[..], &["--strategy", &strategies]].concat());
        let mut outcomes = json(&ran)["comparisons"][0]["strategies"].clone();
        for outcome in outcomes.as_array_mut().expect("strategies") {
            let outcome = outcome.as_object_mut().expect("a strategy");
            let name = outcome.remove("strategy");
            let name = name.as_ref().and_then(Value::as_str).expect("a name");
            let name = name
                .trim_start_matches("copy_of_")
                .trim_end_matches(".plumb");
            let name = name.to_owned();
            let compactions = outcome["compactions"].as_array().map(Vec::len);
            // Nobody pauses in this session.
            let acts = compactions > Some(0) || name == "cold_cache";
            assert!(acts, "{name} did nothing");
            outcome.insert("name".to_owned(), Value::from(name));
        }
        outcomes
    };
    assert_eq!(outcomes(&names), outcomes(&copies));
}

/// A strategy that gives an agent another view of things when it goes in circles.
const CIRCLES: &str = "let terms : () -> !Terms = once({ guards: false })
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(kind = \"pulse\" && repeats = 3) ; map({ extract: true, keep: 0.05 }) ; commands
  reports ; filter(kind = \"held\" && swap = \"ok\") ; map({ swap: true }) ; commands
  answers ; discard
}
";

#[test]
fn a_strategy_hears_that_the_agent_goes_in_circles() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let filler = "the parser reads the next line and looks at it. ".repeat(40);
    // Each step is another command, or from the step `circles` on the same one.
    let session = |circles: usize| {
        let mut said = vec![serde_json::json!({ "role": "user", "content": filler })];
        for step in 0..12 {
            let file = if step < circles { step } else { circles };
            said.push(
                serde_json::json!({ "role": "assistant", "content": null, "tool_calls": [{
                "id": format!("call-{step}"), "type": "function", "function": {
                    "name": "read", "arguments": format!("{{\"path\":\"src/module_{file}.rs\"}}"),
                },
            }] }),
            );
            said.push(
                serde_json::json!({ "role": "tool", "tool_call_id": format!("call-{step}"),
                "content": format!("src/module_{file}.rs {filler}") }),
            );
        }
        said.push(serde_json::json!({ "role": "assistant", "content": "It is as it was." }));
        let path = folder.path().join(format!("{circles}.json"));
        fs::write(&path, serde_json::to_vec(&said).expect("JSON")).expect("written");
        path.display().to_string()
    };
    let file = folder.path().join("circles.plumb");
    fs::write(&file, CIRCLES).expect("written");
    let file = file.display().to_string();
    let check = |circles: usize, expected: &[u64]| {
        let path = session(circles);
        let report = json(&ebbtide(&[
            "replay",
            &path,
            "--window",
            "16k",
            "--strategy",
            &file,
            "--json",
        ]));
        let outcome = &report["comparisons"][0]["strategies"][0];
        let compactions = outcome["compactions"].as_array().expect("a list");
        let before: Vec<u64> = compactions
            .iter()
            .filter_map(|it| it["before_request"].as_u64())
            .collect();
        assert_eq!(before, expected, "{outcome}");
    };
    // The third step of a kind has been seen with the request behind it.
    check(4, &[7]);
    check(0, &[3]);
    check(12, &[]);
}
