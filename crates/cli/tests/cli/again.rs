//! `ebbtide compact` on its own output, in every format of a log.

use serde_json::{Value, json};

use crate::{program, run};

const DEMAND: &str = "Never delete the folder data/keep_me, and always listen on port 7443.";

/// A format of a log: its first line, if it has one, and the line of each message.
struct Log {
    header: Option<Value>,
    /// The record of a message: its number, whose it is, its text.
    message: fn(usize, &str, &str) -> Value,
    /// The text of a record that holds a summary.
    summary: fn(&Value) -> Option<&str>,
}

fn at(number: usize) -> String {
    format!("2026-01-02T03:{:02}:{:02}Z", number / 60, number % 60)
}

fn parent(number: usize) -> Value {
    match number.checked_sub(1) {
        Some(before) => Value::from(format!("m{before}")),
        None => Value::Null,
    }
}

const LOGS: [fn() -> Log; 4] = [
    || Log {
        header: None,
        message: |number, role, text| {
            json!({
                "parentUuid": parent(number), "isSidechain": false, "sessionId": "s", "type": role,
                "uuid": format!("m{number}"), "timestamp": at(number),
                "message": {"role": role, "content": [{"type": "text", "text": text}]},
            })
        },
        summary: |record| {
            let is_summary = record["isCompactSummary"] == true;
            record["message"]["content"].as_str().filter(|_| is_summary)
        },
    },
    || Log {
        header: Some(json!({
            "type": "session", "version": 3, "id": "s", "timestamp": at(0), "cwd": "/w",
        })),
        message: |number, role, text| {
            json!({
                "type": "message", "id": format!("m{number}"), "parentId": parent(number),
                "timestamp": at(number),
                "message": {"role": role, "content": [{"type": "text", "text": text}]},
            })
        },
        summary: |record| {
            let is_summary = record["type"] == "compaction";
            record["summary"].as_str().filter(|_| is_summary)
        },
    },
    || Log {
        header: Some(json!({
            "timestamp": at(0), "type": "session_meta", "payload": {"id": "s", "cwd": "/w"},
        })),
        message: |number, role, text| {
            json!({
                "timestamp": at(number), "type": "response_item",
                "payload": {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]},
            })
        },
        summary: |record| {
            let is_summary = record["type"] == "compacted";
            record["payload"]["message"].as_str().filter(|_| is_summary)
        },
    },
    || Log {
        header: Some(json!({
            "type": "session.start", "id": "s", "parentId": null, "timestamp": at(0), "data": {},
        })),
        message: |number, role, text| {
            json!({
                "type": format!("{role}.message"), "id": format!("m{number}"), "parentId": parent(number),
                "timestamp": at(number), "data": {"content": text},
            })
        },
        summary: |record| {
            let is_summary = record["type"] == "session.compaction_complete";
            record["data"]["summaryContent"]
                .as_str()
                .filter(|_| is_summary)
        },
    },
];

impl Log {
    fn messages(&self, numbers: std::ops::Range<usize>) -> Vec<String> {
        let message = |number: usize| {
            let (role, text) = match number {
                0 => (
                    "user",
                    format!("{DEMAND} Please port the first module to Rust."),
                ),
                _ if number.is_multiple_of(2) => (
                    "user",
                    format!("Look at src/module_{number}.rs and say what it binds."),
                ),
                _ => (
                    "assistant",
                    format!(
                        "The module module_{number} binds port {number}443 in its function open_{number}. {}",
                        "It checks its arguments, opens the socket and serves. ".repeat(8)
                    ),
                ),
            };
            (self.message)(number, role, &text).to_string()
        };
        numbers.map(message).collect()
    }
}

fn compact(input: &str, keep: &str) -> String {
    let arguments = ["compact", "-", "--keep-recent", keep, "--budget", "600"];
    let ran = run(program(&arguments), input.as_bytes());
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    ran.stdout
}

/// The number of turns that a summary says it replaces.
fn replaced(summary: &str) -> usize {
    let (_, said) = summary.split_once("It replaces ").expect("a marker");
    let digits = said.split(' ').next().expect("a number");
    digits.replace(',', "").parse().expect("a number")
}

/// The summary of a written file, and the number of messages that it keeps in their own bytes.
fn read(log: &Log, written: &str, messages: &[String]) -> (String, usize) {
    let records: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for record in &records {
        assert!(record["timestamp"].is_string(), "no time in {record}");
    }
    let summaries: Vec<&str> = records.iter().filter_map(log.summary).collect();
    assert_eq!(summaries.len(), 1);
    let kept = written
        .lines()
        .filter(|line| messages.iter().any(|it| it == line));
    (summaries[0].to_owned(), kept.count())
}

#[test]
fn a_summary_stands_for_all_that_earlier_ones_stood_for() {
    for log in LOGS.map(|log| log()) {
        let header = log.header.iter().map(|it| format!("{it}\n"));
        let mut file: String = header.collect();
        let mut messages = Vec::new();
        for round in 1..=10 {
            let new = log.messages(messages.len()..messages.len() + 30);
            file.extend(new.iter().map(|line| format!("{line}\n")));
            messages.extend(new);
            file = compact(&file, "400");
            let (summary, kept) = read(&log, &file, &messages);
            assert!(summary.contains(DEMAND), "round {round}: {summary}");
            assert!((2..20).contains(&kept), "round {round}: {kept} kept");
            assert_eq!(
                replaced(&summary) + kept,
                messages.len(),
                "round {round}: {summary}"
            );
        }
        let inspected = run(program(&["inspect", "-", "--at", "1"]), file.as_bytes());
        assert!(
            inspected.stdout.contains(" summary "),
            "{}",
            inspected.stdout
        );
        let counted = run(program(&["inspect", "-"]), file.as_bytes());
        assert!(
            counted.stdout.contains("\nsummaries "),
            "{}",
            counted.stdout
        );
        assert!(
            !counted.stdout.contains("by the client"),
            "{}",
            counted.stdout
        );
        let whole = run(program(&["compact", "-"]), file.as_bytes());
        assert_eq!(whole.stdout, file, "nothing to do gives back the file");
        let all = compact(&file, "0");
        let (summary, kept) = read(&log, &all, &messages);
        assert_eq!((replaced(&summary), kept), (messages.len(), 0));
    }
}
