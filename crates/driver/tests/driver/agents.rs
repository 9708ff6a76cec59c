//! Tests of agents and their messages.

use crate::{Shown, check_run};

const TYPED: &str = r#"
type Verdict = { resolved: bool }
let judge : !string -> !Verdict = agent { provider: "script", model: "judge.jsonl", max_retries: 2 }
let main : !string -> !Verdict = judge
"#;

#[test]
fn an_answer_of_the_wrong_type_is_asked_for_again() {
    let answers = "\"I think so\"\n{\"resolved\": 1}\n{\"resolved\": true}\n";
    let files = [("judge.jsonl", answers)];
    check_run(
        TYPED,
        &files,
        "\"a\"",
        Shown::All,
        &[
            "judge <",
            "judge again",
            "judge again",
            "judge >",
            "judge tells usage",
            "judge tells pulse",
            "judge tells error",
            "judge tells usage",
            "judge tells pulse",
            "judge tells error",
            "judge tells usage",
            "judge tells pulse",
            "{\"resolved\":true}",
        ],
    );
}

#[test]
fn a_message_without_an_answer_is_reported_and_the_next_one_taken() {
    let answers = "\"1\"\n\"2\"\n\"3\"\n{\"resolved\": false}\n";
    let files = [("judge.jsonl", answers)];
    let problem = "problem output_type_mismatch: judge: none of 3 answers has the requested type: \
                   expected { resolved: bool }, found a whole number";
    check_run(
        TYPED,
        &files,
        "\"a\" \"b\" \"c\"",
        Shown::Results,
        &[
            problem,
            "{\"resolved\":false}",
            "problem script_ended: judge: the script has no more answers",
        ],
    );
}

#[test]
fn eliza_answers_without_a_model() {
    let program = r#"
let main : !string -> !string = agent { provider: "eliza" }
"#;
    check_run(
        program,
        &[],
        "\"I need a rest.\"",
        Shown::Results,
        &["\"What would change if you had a rest?\""],
    );
}
