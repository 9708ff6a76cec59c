//! Examples of the canonical form.

use super::check_canonical;
use crate::syntax::{expression_text, format, parse};

/// Checks the canonical text of a text.
#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(check_canonical(text), expected);
}

#[test]
fn keep_holds_a_wire_and_is_a_name_elsewhere() {
    check(
        "let f:!A->!B=keep( g ;map( a ) );keep( (g*h) ).b;keep",
        "let f : !A -> !B = keep(g ; map(a)) ; keep((g * h)).b ; keep\n",
    );
}

#[test]
fn what_fits_stands_on_a_line_and_the_rest_is_broken_from_the_outside_in() {
    check(
        "let f:!A->!B=map({a:1,\n b:[ 1,2 ]});filter(a=1&&(b>2||not c)).x",
        "let f : !A -> !B = map({ a: 1, b: [1, 2] }) ; filter(a = 1 && (b > 2 || not c)).x\n",
    );
    check(
        "let f : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {
(ctrl_out, ctrl_in) <-> Compaction as session within 90000ms
telemetry ; filter(kind = \"usage\" && input_tokens > 150000 && cache_read_tokens > 10000) ;
map(null) ; session@trigger }",
        "let f : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {
  (ctrl_out, ctrl_in) <-> Compaction as session within 90s
  telemetry ;
    filter(kind = \"usage\" && input_tokens > 150000 && cache_read_tokens > 10000) ;
    map(null) ;
    session@trigger
}
",
    );
    check(
        "let bot : !string -> !string = agent { provider: \"anthropic\", model: \"a-model-with-a-long-name\", prompt: \"You say what was asked.\" }",
        "let bot : !string -> !string = agent {
  provider: \"anthropic\",
  model: \"a-model-with-a-long-name\",
  prompt: \"You say what was asked.\",
}
",
    );
    check(
        "type CtrlCmd = { pause: bool } | { resume: bool } | { get_memory: bool } | { set_memory: Memory } | { mark: bool }",
        "type CtrlCmd =
    { pause: bool }
  | { resume: bool }
  | { get_memory: bool }
  | { set_memory: Memory }
  | { mark: bool }
",
    );
    check(
        "type T = Pause | Resume | GetMemory | SetMemory | Mark | Prepare | Swap | Pin | Unpin | SetTemp | Refused | Others",
        "type T =
    Pause | Resume | GetMemory | SetMemory | Mark | Prepare | Swap | Pin | Unpin | SetTemp | Refused
  | Others
",
    );
    check(
        "protocol Compaction = send Pause . recv PauseAck . send GetMemory . recv MemoryDump . { again: loop, stop: end }",
        "protocol Compaction =
  send Pause .
  recv PauseAck .
  send GetMemory .
  recv MemoryDump .
  select { again: loop, stop: end }
",
    );
}

#[test]
fn declarations_of_several_lines_stand_apart() {
    check(
        "use mem\nuse other\ntype A = int\n\n\ntype B = int\nlet f : !A -> !B = plumb(a, b) { a ; b }\nlet g : !A -> !B = id\nlet h : !A -> !B = id",
        "use mem\nuse other\ntype A = int\n\ntype B = int\n\nlet f : !A -> !B = plumb(a, b) {\n  a ; b\n}\n\nlet g : !A -> !B = id\nlet h : !A -> !B = id\n",
    );
}

#[test]
fn comments_stay_where_they_belong() {
    check(
        "(* head *)

(* of f *)
let f : !A -> !B = plumb(a, b) { (* inside *)
  (* of the statement *)
  a ; b (* behind *)

  c ; (* first *)
  d
  (* last *)
}
(* end *)",
        "(* head *)

(* of f *)
let f : !A -> !B = plumb(a, b) {
  (* inside *)
  (* of the statement *)
  a ; b (* behind *)

  c ; (* first *)
    d
  (* last *)
}

(* end *)
",
    );
    check(
        "type T = { a: int, (* first *)\n b: int (* second *)\n}",
        "type T = {\n  a: int, (* first *)\n  b: int, (* second *)\n}\n",
    );
    check(
        "type T = A (* one *)\n | B (* two *)\n | C (* three *)",
        "type T =\n    A (* one *)\n  | B (* two *)\n  | C (* three *)\n",
    );
}

#[test]
fn parentheses_stand_where_they_are_needed() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let text = format!("let f : !A -> !B = map({text})");
        let expected = format!("let f : !A -> !B = map({expected})\n");
        assert_eq!(check_canonical(&text), expected);
    }
    check("((a))", "a");
    check("(a * b) + c", "a * b + c");
    check("a * (b + c)", "a * (b + c)");
    check("a - (b - c)", "a - (b - c)");
    check("(a - b) - c", "a - b - c");
    check("(a = b) = c", "(a = b) = c");
    check("not (a = b) && c", "not a = b && c");
    check("not (a && b)", "not (a && b)");
    check("(not a) = b", "(not a) = b");
    check("- (- a)", "- -a");
    check("(-a).b", "(-a).b");
    check("(if a then b else c) + 1", "(if a then b else c) + 1");
    check("if a then b else (c + 1)", "if a then b else c + 1");
    check("{ a: a, if: value.if }", "{ a, if: value.if }");
}

#[test]
fn what_is_asked_one_after_the_other_stands_below_each_other() {
    let rung =
        |word: &str, n: usize| format!("{word} a_long_name_{n} && {n} < 2 then \"number {n}\"");
    let text = format!(
        "let f : !A -> !B = map({} {} {} else \"none of them\")",
        rung("if", 1),
        rung("else if", 2),
        rung("else if", 3)
    );
    let expected = format!(
        "let f : !A -> !B =\n  map({}\n    {}\n    {}\n    else \"none of them\")\n",
        rung("if", 1),
        rung("else if", 2),
        rung("else if", 3)
    );
    assert_eq!(check_canonical(&text), expected);
}

#[test]
fn a_program_that_was_made_is_printed_without_a_text() {
    let text = "use mem\ntype A = int\nlet f : !A -> !B = id\nlet g : !A -> !B = id";
    let (program, _) = parse(crate::span::SourceId(0), text);
    let printed = "use mem\ntype A = int\n\nlet f : !A -> !B = id\n\nlet g : !A -> !B = id\n";
    assert_eq!(format(&program, ""), printed);
}

#[test]
fn an_expression_alone_is_one_line() {
    let long = "a && ".repeat(60) + "b";
    let text = format!("let f : !A -> !A = filter({long})");
    let (program, _) = parse(crate::span::SourceId(0), &text);
    let crate::syntax::ast::DeclarationKind::Let(read) = &program.declarations[0].kind else {
        panic!();
    };
    let crate::syntax::ast::Body::Wire(crate::syntax::ast::Wire::Filter(_, expression)) =
        &read.body
    else {
        panic!();
    };
    assert_eq!(expression_text(expression), long);
}

#[test]
fn a_name_of_a_module_behind_a_bare_payload_keeps_its_parentheses() {
    check(
        "protocol P = send A . (M . P) protocol Q = recv M.A . (M.P) protocol R = send {a: unit} | B . (M.P)",
        "protocol P = send A . (M.P)
protocol Q = recv M.A . M.P
protocol R = send { a: unit } | B . (M.P)
",
    );
}

#[test]
fn fields_that_are_no_words() {
    check_canonical(
        "type H = { \"content-type\": string, \"Accept\"?: int, a: int }
let f : !H -> !json = filter(value.\"content-type\" = \"x\").\"content-type\" ; map({ \"a b\": value })",
    );
    let text = check_canonical("type H = { \"plain\": int }");
    assert_eq!(text, "type H = { plain: int }\n");
}
