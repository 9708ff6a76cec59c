//! Processes and programs as tools.

use crate::{Shown, check_run};

#[test]
fn each_call_of_a_process_is_a_network_of_its_own() {
    let program = r#"
type Query = { query: string }
let pairs : !Query -> !string = plumb(input, output) {
  input.query ; output
}
let search : Query -> string = tool { process: pairs }
let main : !Query -> !string = plumb(input, output) { input ; search ; output }
"#;
    check_run(
        program,
        &[],
        r#"{"query":"a"} {"query":"b"}"#,
        Shown::All,
        &[
            "search <", "search >", "\"a\"", "search <", "search >", "\"b\"",
        ],
    );
}

#[test]
fn a_process_that_gives_no_answer_is_a_problem() {
    let program = r#"
let picky : !int -> !int = plumb(input, output) { input ; filter(value > 1) ; output }
let pick : int -> int = tool { process: picky }
let main : !int -> !int = plumb(input, output) { input ; pick ; output }
"#;
    check_run(
        program,
        &[],
        "1 2",
        Shown::Results,
        &["problem tool_failed: pick: `picky` gave no answer", "2"],
    );
}

#[test]
fn tools_that_call_each_other_too_deep_are_stopped() {
    let mut program = "let p0 : !int -> !int = id\n".to_owned();
    for (number, below) in (1..20).zip(0..) {
        program += &format!(
            "let t{number} : int -> int = tool {{ process: p{below} }}
             let p{number} : !int -> !int = plumb(input, output) {{ input ; t{number} ; output }}\n"
        );
    }
    program += "let main : !int -> !int = p19";
    let folder = crate::folder(&[]);
    let driver = crate::driver(&program, folder.path());
    let mut network = driver.network("main").unwrap();
    let reports = crate::block_on(crate::ran(&mut network, vec![plumb::value::Value::Int(1)]));
    let shown = crate::lines(&reports, Shown::Results);
    assert!(shown[0].contains("is called 16 tools deep"), "{shown:?}");
}

#[test]
fn a_tool_that_is_listed_twice_is_offered_once() {
    let program = r#"
type Query = { query: string }
let count : !Query -> !int = plumb(input, output) { input ; map(len(query)) ; output }
let search : Query -> int = tool { process: count, description: "Counts." }
let main : !string -> !string = agent { provider: "sim", tools: [search, search] }
"#;
    crate::check_sim(
        program,
        r#""@sim call search {\"query\": \"four\"}""#,
        Shown::Results,
        &["\"I read the result: 4\""],
    );
}
