//! `ebbtide compact`.

use serde_json::Value;

use crate::{data, ebbtide, program, run};

const SMALL: [&str; 4] = ["--keep-recent", "60", "--budget", "110"];

fn compact(arguments: &[&str]) -> String {
    let ran = ebbtide(&[&["compact"], arguments].concat());
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    ran.stdout
}

/// A conversation long enough that its summary is smaller.
fn conversation() -> String {
    let said = (0..40).map(|number| {
        let (role, text) = if number % 2 == 0 {
            ("user", format!("Please look at src/module_{number}.rs and say whether it uses port {number}443."))
        } else {
            ("assistant", format!("It does: module_{number} binds port {number}443 in its function open_{number}."))
        };
        serde_json::json!({ "role": role, "content": text })
    });
    Value::Array(said.collect()).to_string()
}

#[test]
fn the_newest_messages_come_out_as_they_went_in() {
    let input = conversation();
    let arguments = ["compact", "-", "--keep-recent", "200", "--budget", "300"];
    let ran = run(program(&arguments), input.as_bytes());
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let before: Vec<Value> = serde_json::from_str(&input).expect("JSON");
    let after: Vec<Value> = serde_json::from_str(&ran.stdout).expect("the same format");
    assert!(after.len() < before.len() / 2, "{} messages", after.len());
    let (summary, kept) = after.split_first().expect("a summary");
    assert_eq!(kept, &before[before.len() - kept.len()..]);
    assert_eq!(
        summary["role"], "user",
        "a summary is not the assistant's speech"
    );
    let again = run(program(&["inspect", "-", "--json"]), ran.stdout.as_bytes());
    let seen: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(seen["sessions"][0]["turns"]["all"], after.len());
    assert!(ran.stderr.contains("40 → "), "{}", ran.stderr);
}

#[test]
fn the_summary_alone_as_text_and_as_json() {
    let input = conversation();
    let arguments = ["--keep-recent", "200", "--budget", "300"];
    let text = run(
        program(&[&["compact", "-", "--summary-only"], &arguments[..]].concat()),
        input.as_bytes(),
    );
    let json = run(
        program(&[&["compact", "-", "--json"], &arguments[..]].concat()),
        input.as_bytes(),
    );
    let report: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(
        report["summary"].as_str().map(str::trim_end),
        Some(text.stdout.trim_end())
    );
    assert!(report["summary_tokens"].as_u64() <= Some(300), "{report}");
    assert!(report["tokens_after"].as_u64() < report["tokens_before"].as_u64());
}

#[test]
fn what_is_short_enough_comes_out_byte_for_byte() {
    let file = std::fs::read_to_string(data().join("claude.jsonl")).expect("the file");
    assert_eq!(compact(&["claude.jsonl"]), file);
    assert_eq!(compact(&["claude.jsonl", "--summary-only"]), "");
}

#[test]
fn of_several_sessions_one_must_be_named() {
    let two = format!("[{{\"traj\":{0}}},{{\"traj\":{0}}}]", conversation());
    let ran = run(program(&["compact", "-"]), two.as_bytes());
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.contains("error[E0011]: - holds 2 sessions"),
        "{}",
        ran.stderr
    );
    let one = [&["compact", "-", "--session", "2"], &SMALL[..]].concat();
    assert_eq!(run(program(&one), two.as_bytes()).exit, 0);
}

/// With nothing kept, all that is finished is summarised; a call in flight stays.
#[test]
fn nothing_is_kept_but_what_is_unfinished() {
    let whole: Vec<Value> = serde_json::from_str(&conversation()).expect("JSON");
    let arguments = ["compact", "-", "--keep-recent", "0", "--budget", "300"];
    let after = |said: &[Value]| -> Vec<Value> {
        let input = Value::Array(said.to_vec()).to_string();
        let ran = run(program(&arguments), input.as_bytes());
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        let text = run(
            program(&[&arguments[..], &["--summary-only"]].concat()),
            input.as_bytes(),
        );
        assert_eq!(text.exit, 0, "{}", text.stderr);
        assert!(text.stdout.contains("module_3"), "{}", text.stdout);
        serde_json::from_str(&ran.stdout).expect("the same format")
    };
    assert_eq!(after(&whole).len(), 1, "the assistant has answered");
    let (_, asked) = whole.split_last().expect("messages");
    let shown = after(asked);
    assert_eq!(shown.last(), asked.last(), "a question stays");
    let call = serde_json::json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{}" } }
    ] });
    let in_flight = [&whole[..], &[whole[0].clone(), call.clone()]].concat();
    assert_eq!(after(&in_flight).last(), Some(&call), "a call stays");
    let result =
        serde_json::json!({ "role": "tool", "tool_call_id": "c1", "content": "3 rows found" });
    let mid_step = [&in_flight[..], std::slice::from_ref(&result)].concat();
    assert_eq!(after(&mid_step)[1..], mid_step[mid_step.len() - 2..]);
    // Printed alone, the summary tells that step too.
    let alone = run(
        program(&[&arguments[..], &["--summary-only"]].concat()),
        Value::Array(mid_step).to_string().as_bytes(),
    );
    assert!(
        alone.stdout.contains("- ls -> 3 rows found"),
        "{}",
        alone.stdout
    );
}

#[test]
fn what_the_summary_leaves_out_is_listed_with_its_turn() {
    let listed = |arguments: &[&str]| {
        let sizes = ["compact", "-", "--keep-recent", "200", "--budget", "300"];
        let arguments = [&sizes[..], arguments].concat();
        let ran = run(program(&arguments), conversation().as_bytes());
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        ran.stdout
    };
    let lines = listed(&["--lost", "5"]);
    assert_eq!(lines.lines().count(), 5, "{lines}");
    for line in lines.lines() {
        // Message N of the conversation speaks of module N.
        let (turn, text) = line.split_once("): ").expect("a turn");
        let turn: usize = turn
            .split_once("turn:")
            .expect("a handle")
            .1
            .parse()
            .expect("a number");
        assert!(text.contains(&format!("module_{}", turn - 1)), "{line}");
        let summary = listed(&["--summary-only"]);
        let said = text.split_once(": ").map_or(text, |(_, said)| said);
        assert!(!summary.contains(said), "{line}");
    }
    let json = listed(&["--lost", "2", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["lost"].as_array().map(Vec::len), Some(2), "{json}");
}

#[test]
fn lines_that_could_not_be_read_are_counted() {
    let file = std::fs::read(data().join("claude.jsonl")).expect("the file");
    let broken = [&file[..], b"{\"type\":\n{\"type\":\"user\xff\"}\n"].concat();
    let before = run(program(&["compact", "-", "--json"]), &file);
    let ran = run(program(&["compact", "-", "--json"]), &broken);
    let warned = |stderr: &str| -> Option<usize> {
        let line = stderr
            .lines()
            .find(|line| line.contains("could not be read"))?;
        assert!(line.ends_with("ebbtide inspect - --problems"), "{line}");
        line.split(' ').nth(1)?.parse().ok()
    };
    let already = warned(&before.stderr).unwrap_or_default();
    assert_eq!(warned(&ran.stderr), Some(already + 2), "{}", ran.stderr);
}

#[test]
fn a_large_ratio_is_not_given_as_a_number() {
    let long = "All work and no play makes Jack a dull boy. ".repeat(2_000);
    let said = serde_json::json!([
        { "role": "user", "content": "Type." },
        { "role": "assistant", "content": long },
        { "role": "user", "content": "Go on." },
        { "role": "assistant", "content": "Done." },
    ]);
    let arguments = [
        "compact",
        "-",
        "--keep-recent",
        "0",
        "--budget",
        "200",
        "--summary-only",
    ];
    let ran = run(program(&arguments), said.to_string().as_bytes());
    assert!(
        ran.stderr.contains(": more than 100 times shorter"),
        "{}",
        ran.stderr
    );
}
