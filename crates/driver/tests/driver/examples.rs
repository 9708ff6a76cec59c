//! Every program of `examples/`, with what is recorded beside it.

use std::fs;
use std::path::{Path, PathBuf};

use plumb::value::Value;

use crate::{Shown, block_on_sockets, driver, lines, ran};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[track_caller]
fn check_example(name: &str) {
    let read = |ending: &str| {
        let path = examples().join(format!("{name}.{ending}"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let driver = driver(&read("plumb"), &examples());
    let mut network = driver.network("main").unwrap();
    let input = read("input.jsonl");
    let messages = Value::parse_all(&input).map(Result::unwrap).collect();
    let reports = block_on_sockets(async {
        let reports = ran(&mut network, messages).await;
        driver.shutdown().await;
        reports
    });
    let output = read("output.jsonl");
    let expected: Vec<String> = Value::parse_all(&output)
        .map(|value| value.unwrap().to_string())
        .collect();
    assert_eq!(lines(&reports, Shown::Results), expected);
    assert!(network.ended());
}

#[test]
fn one_agent() {
    check_example("one");
}

#[test]
fn debate_with_feedback() {
    check_example("debate");
}

#[test]
fn composer_checker_and_critic() {
    check_example("review");
}

#[test]
fn operations_on_documents() {
    check_example("documents");
}

#[test]
fn a_process_as_a_tool() {
    check_example("tool");
}

#[test]
fn a_homunculus_compacts_an_agent() {
    check_example("compaction");
}

#[test]
fn failures_are_tried_again() {
    check_example("retry");
}

#[test]
fn failures_go_to_another_agent() {
    check_example("escalate");
}

#[test]
fn a_judge_sees_questions_beside_their_answers() {
    check_example("judge");
}

#[test]
fn the_best_of_three_of_which_one_fails() {
    check_example("best");
}

#[test]
fn no_program_is_left_out() {
    let files = fs::read_dir(examples()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut programs: Vec<String> = names.filter(|name| name.ends_with(".plumb")).collect();
    programs.sort();
    let known = [
        "best",
        "compaction",
        "debate",
        "documents",
        "escalate",
        "judge",
        "one",
        "retry",
        "review",
        "tool",
    ];
    assert_eq!(programs, known.map(|name| format!("{name}.plumb")));
}
