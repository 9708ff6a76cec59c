//! The cost of failures, and its limits: nothing is paired with what came later, and nothing is dropped
//! without a word.

use plumb::literate;
use plumb::modules::BuiltIn;

/// Plays a transcript of a program.
#[track_caller]
fn check(program: &str, transcript: &str) {
    check_pages(&format!(
        "```plumb\n{program}\n```\n\n```run\n{transcript}\n```\n"
    ));
}

#[track_caller]
fn check_pages(page: &str) {
    let tested = literate::test(page, &BuiltIn);
    let wrong: Vec<String> = tested.mismatches.iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), tested.text);
    assert_eq!(tested.programs, 1);
}

const PAIRS: &str = r#"
let small : !string -> !int = agent { provider: "sim" }
let main : !string -> !(string, int) = plumb(input, output) {
  input ; small
  (input * small) ; barrier ; output
}"#;

#[test]
fn a_failed_answer_takes_its_question_with_it() {
    check(
        PAIRS,
        r#"
> "q1"
? small "q1"
> "q2"
? small "q2"
> "q3"
? small "q3"
= small 1
< ["q1",1]
= small ! output_type_mismatch
! P0815 {"error":"unanswered","category":"unavailable","detail":"small: output_type_mismatch","message":"q2"}
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":"q2"}
= small 3
< ["q3",3]
> end
< end"#,
    );
}

#[test]
fn what_an_expression_or_a_check_loses_takes_its_partner_with_it() {
    check(
        "let main : !int -> !(int, number) = copy ; (id * map(6 / value)) ; barrier",
        r#"
> 1
< [1,6.0]
> 0
! P0806 {"error":"division_by_zero","category":"invalid","detail":"map: division by zero","message":0}
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":0}
> 2
< [2,3.0]"#,
    );
    check(
        "let double : !int -> !int = map(value * 2)
let main : !json -> !(json, int) = copy ; (id * double) ; barrier",
        r#"
> "a"
! P0801 {"error":"type_mismatch","category":"invalid","detail":"double: expected int, found a string","message":"a"}
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":"a"}
> 2
< [2,4]"#,
    );
}

#[test]
fn agents_behind_a_failed_one_are_not_asked_and_answer_in_their_order() {
    check(
        r#"
let one : !string -> !string = agent { provider: "sim" }
let two : !string -> !string = agent { provider: "sim" }
let main : !string -> !(string, string) = copy ; (id * (one ; two)) ; barrier"#,
        r#"
> "a"
? one "a"
> "b"
? one "b"
> "c"
? one "c"
= one "a1"
? two "a1"
= one ! no_answer
! P0815 {"error":"unanswered","category":"unavailable","detail":"one: no_answer","message":"b"}
= one "c1"
? two "c1"
= two "a2"
< ["a","a2"]
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":"b"}
= two "c2"
< ["c","c2"]"#,
    );
}

#[test]
fn the_state_of_a_loop_waits_for_the_next_message() {
    check(
        r#"
let bot : !string -> !string = agent { provider: "sim" }
let main : !string -> (!(int, string), !(string, int)) = plumb(input, numbered, named) {
  let next : !int = channel
  let both : !(int, string) = channel
  input ; bot
  once(1) ; next
  (next * bot) ; barrier ; both
  both ; map(value.0 + 1) ; next
  both ; numbered
  (input * (both ; project(0))) ; barrier ; named
}"#,
        r#"
> "a"
? bot "a"
> "b"
? bot "b"
> "c"
? bot "c"
= bot "A"
< {"numbered":[1,"A"]}
< {"named":["a",1]}
= bot ! no_answer
! P0815 {"error":"unanswered","category":"unavailable","detail":"bot: no_answer","message":"b"}
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":"b"}
= bot "C"
< {"numbered":[2,"C"]}
< {"named":["c",2]}
> end
< end numbered
< end named"#,
    );
}

#[test]
fn a_failure_in_a_feedback_loop_ends_its_round() {
    check(
        r#"
let left : !string -> !string = agent { provider: "sim" }
let right : !string -> !string = agent { provider: "sim" }
let main : !string -> !(string, string) = plumb(input, output) {
  let topic : !string = channel
  let both : !(string, string) = channel
  input ; topic
  topic ; left
  topic ; right
  (left * right) ; barrier ; both
  both ; filter(value.0 = value.1) ; output
  both ; filter(value.0 != value.1) ; map(value.0) ; topic
}"#,
        r#"
> "a"
? left "a"
? right "a"
= left ! no_answer
! P0815 {"error":"unanswered","category":"unavailable","detail":"left: no_answer","message":"a"}
= right "x"
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":"x"}
> "b"
? left "b"
? right "b"
= left "y"
= right "y"
< ["y","y"]
> end
< end"#,
    );
}

#[test]
fn a_failure_is_the_answer_where_the_type_says_so() {
    check(
        r#"
let small : !string -> !(int | Failed) = agent { provider: "sim" }
let main : !string -> !(string, int | Failed) = copy ; (id * small) ; barrier"#,
        r#"
> "q1"
? small "q1"
> "q2"
? small "q2"
= small ! {"error": "no number", "code": "output_type_mismatch", "attempts": 4}
< ["q1",{"error":"no number","code":"output_type_mismatch","attempts":4}]
= small 2
< ["q2",2]"#,
    );
}

#[test]
fn every_process_has_a_port_for_its_failures() {
    check(
        r#"
let half : int -> number = tool { process: halved }
let halved : !int -> !number = map(100 / (value - 50))
let small : !int -> !int = agent { provider: "sim" }
let inner : !int -> !number = plumb(input, output) { input ; map(10 / value) ; output }
let main : !int -> (!number, !Failed, !string) = plumb(input, output, failed, words) {
  input ; half ; output
  input ; inner ; output
  input ; small ; discard
  half@error ; failed
  inner@error ; copy ; (failed * (filter(attempts = 1).code ; words))
  small@error ; failed
}"#,
        r#"
> 5
< {"output":2.0}
< {"output":-2.2222222222222223}
? small 5
= small ! timed_out
< {"failed":{"error":"timed_out","code":"timed_out","attempts":1}}
> 0
< {"failed":{"error":"inner.map: division by zero","code":"division_by_zero","attempts":1}}
< {"words":"division_by_zero"}
< {"output":-2.0}
? small 0
> 50
< {"output":0.2}
! P0806 {"error":"division_by_zero","category":"invalid","detail":"map: division by zero","message":50}
< {"failed":{"error":"`halved` gave no answer","code":"tool_failed","attempts":1}}
? small 50"#,
    );
}

#[test]
fn a_failure_may_lead_back_as_a_new_question() {
    check(
        r#"
let small : !string -> !string = agent { provider: "sim" }
let main : !string -> !string = plumb(input, output) {
  input ; small ; output
  small@error ; filter(code = "timed_out").error ; small
}"#,
        r#"
> "a"
? small "a"
= small ! {"error": "again", "code": "timed_out", "attempts": 1}
? small "again"
= small "b"
< "b"
> end
< end"#,
    );
}

#[test]
fn keep_carries_each_message_along() {
    check(
        r#"
let small : !string -> !int = agent { provider: "sim" }
let asked : !{ id: int, text: string } -> !int = plumb(input, output) { input ; map(text) ; small ; output }
let main : !{ id: int, text: string } -> !{ id: int, n: int } =
  keep(asked ; map(value + 1)) ; map({ id: value.0.id, n: value.1 })"#,
        r#"
> {"id": 1, "text": "a"}
? small "a"
> {"id": 2, "text": "b"}
? small "b"
> {"id": 3, "text": "c"}
? small "c"
= small ! no_answer
! P0815 {"error":"unanswered","category":"unavailable","detail":"asked.small: no_answer","message":"a"}
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"keep: dropped, since what it belongs to has failed","message":{"id":1,"text":"a"}}
= small 2
< {"id":2,"n":3}
= small 3
< {"id":3,"n":4}"#,
    );
}

#[test]
fn keep_is_refused_where_it_could_not_pair() {
    let refused = |kept: &str| {
        let text = format!(
            "let bot : !int -> !int = agent {{ provider: \"sim\" }}
let mixed : !int -> !int = copy ; (id * bot) ; merge
let both : !int -> !(int, int) = copy ; (id * bot) ; barrier
let again : !int -> !int = plumb(input, output) {{
  let c : !int = channel
  input ; c  c ; bot  bot ; filter(value > 9) ; output  bot ; filter(value < 9) ; c
}}
let main : !int -> !json = keep({kept})"
        );
        let checked = plumb::check::check("main", &text, &BuiltIn);
        let codes = checked.diagnostics.iter().map(|it| it.code.0);
        codes.collect::<Vec<_>>()
    };
    assert_eq!(refused("map(value + 1) ; bot"), [""; 0]);
    assert_eq!(refused("both"), [""; 0]);
    assert_eq!(refused("keep(keep(bot))"), [""; 0]);
    assert_eq!(refused("filter(value > 1)"), ["P0520"]);
    assert_eq!(refused("mixed"), ["P0520"]);
    assert_eq!(refused("again"), ["P0520"]);
    assert_eq!(refused("bot ; filter(value > 1)"), ["P0520"]);
}

#[test]
fn a_gap_outlives_a_restart() {
    let program = PAIRS;
    check_pages(&format!(
        r#"```plumb
{program}
```

```run
> "q1"
? small "q1"
> "q2"
? small "q2"
```

```run resumed
? small "q1"
? small "q2"
= small ! no_answer
! P0815 {{"error":"unanswered","category":"unavailable","detail":"small: no_answer","message":"q1"}}
! P0817 {{"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":"q1"}}
```

```run resumed
? small "q2"
= small 2
< ["q2",2]
```
"#
    ));
    check_pages(
        r#"```plumb
let one : !int -> !int = agent { provider: "sim" }
let two : !int -> !int = agent { provider: "sim" }
let main : (!int, !int) -> !(int, int) = plumb(a, b, output) {
  ((a ; one) * (b ; two)) ; barrier ; output
}
```

```run
> {"a": 1}
? one 1
> {"a": 2}
? one 2
= one ! no_answer
! P0815 {"error":"unanswered","category":"unavailable","detail":"one: no_answer","message":1}
= one 20
```

```run resumed
> {"b": 1}
? two 1
> {"b": 2}
? two 2
= two 10
! P0817 {"error":"dropped_with_failed","category":"invalid","detail":"barrier: dropped, since what it belongs to has failed","message":10}
= two 20
< [20,20]
```
"#,
    );
}

#[test]
fn what_a_barrier_leaves_over_is_counted() {
    check(
        "let main : (!int, !int) -> !(int, int) = plumb(a, b, output) { (a * b) ; barrier ; output }",
        r#"
> {"a": 1}
> {"a": 2}
> {"b": 1}
< [1,1]
> end
< end
! P0816 {"error":"left_over","category":"invalid","detail":"barrier: 1 message was left over"}"#,
    );
}

#[test]
fn full_error_ports_hold_up_and_let_go() {
    check_pages(
        r#"```plumb
let half : !int -> !number = map(12 / value)
let main : (!int, !int) -> (!number, !(int, Failed)) = plumb(input, go, output, failed) {
  input ; half ; output
  (go * half@error) ; barrier ; failed
}
```

```run queue=1
> {"input": 0}
> {"input": 0}
> {"input": 0}
! P0812 the queue is full
> {"go": 1}
< {"failed":[1,{"error":"half.map: division by zero","code":"division_by_zero","attempts":1}]}
> {"input": 3}
> {"go": 2}
< {"output":4.0}
< {"failed":[2,{"error":"half.map: division by zero","code":"division_by_zero","attempts":1}]}
> end
< end output
< end failed
```
"#,
    );
}
