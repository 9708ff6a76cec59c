//! Statements of a `plumb`: what they connect, and what is missing.

use super::{check_all, check_bodies, drawn};
use crate::modules::BuiltIn;

#[test]
fn statements_of_a_body() {
    check_bodies(&[
        ("input ; output", &[]),
        ("input ; id ; output", &[]),
        ("input ; map(len(value)) ; output", &["P0301"]),
        ("input ; output  input ; map(\"x\") ; output", &[]),
        ("input ; copy ; (id * map(\"x\")) ; merge ; output", &[]),
        ("input ; copy ; (output * discard)", &[]),
        (
            "input ; copy ; (id * id * id) ; barrier ; map(value.2) ; output",
            &[],
        ),
        (
            "input ; copy ; (id * id) ; barrier ; project(1) ; output",
            &[],
        ),
        (
            "input ; copy ; (id * id) ; barrier ; project(2) ; output",
            &["P0401"],
        ),
        ("input ; project(0) ; output", &["P0401"]),
        ("(input * input) ; barrier ; project(0) ; output", &[]),
        ("input ; tag(l) ; filter(tag = \"l\").value ; output", &[]),
        ("input ; discard  empty ; output", &[]),
        ("input ; discard  once(\"hello\") ; output", &[]),
        ("input ; discard  once(value) ; output", &["P0411"]),
        ("input ; discard  once(1) ; output", &["P0301"]),
    ]);
}

#[test]
fn ports_and_sizes() {
    let mut doubled = "let p0 : !int -> !int = id ; id\n".to_owned();
    for number in 1..20 {
        let before = number - 1;
        doubled += &format!("let p{number} : !int -> !int = p{before} ; p{before}\n");
    }
    check_all(&[
        ("let f : !int -> !int = plumb(a) { a ; a }", &["P0506"]),
        ("let f : !int -> !int = plumb(a, a) { a ; a }", &["P0205"]),
        ("let f : () -> !int = plumb(o) { once(1) ; o }", &[]),
        ("let f : !int -> () = plumb(i) { i ; discard }", &[]),
        (&doubled, &["P0512"]),
    ]);
}

#[test]
fn what_does_not_connect() {
    check_bodies(&[
        ("input ; merge ; output", &["P0503"]),
        ("input ; barrier ; output", &["P0503"]),
        ("input ; (id * id) ; output", &["P0503"]),
        ("(input * input) ; output", &["P0503"]),
        ("input ; copy ; output", &["P0503"]),
        ("output ; id ; output  input ; output", &["P0505"]),
        ("input ; input ; output", &["P0505"]),
        ("input ; discard ; output", &["P0505"]),
        ("input ; nowhere ; output", &["P0201"]),
        ("inptu ; output", &["P0201"]),
    ]);
}

#[test]
fn what_is_missing() {
    check_bodies(&[
        ("input ; discard", &["P0501"]),
        ("map(1) ; discard  input ; output", &["P0501"]),
        ("input ; output  input ; map(1)", &["P0510"]),
        ("once(\"x\") ; output", &["P0510"]),
        (
            "let c : !string = channel  c ; output  input ; discard",
            &["P0501"],
        ),
        (
            "let c : !string = channel  input ; c  input ; output",
            &["P0510"],
        ),
        ("let c : !string = channel  input ; output", &["P0510"]),
        ("let c : !string = channel  input ; c ; output", &[]),
        (
            "let c : !string = channel let c : !string = channel  input ; c ; output",
            &["P0205"],
        ),
        ("let input : !string = channel  input ; output", &["P0205"]),
        ("let c : string = channel  input ; c ; output", &["P0113"]),
    ]);
}

#[test]
fn barriers_that_never_fill() {
    check_bodies(&[
        (
            "(input * empty) ; barrier ; project(0) ; output",
            &["P0502"],
        ),
        (
            "let c : !string = channel  (input * c) ; barrier ; project(0) ; c  c ; output",
            &["P0502"],
        ),
        (
            "let c : !string = channel  once(\"\") ; c  (input * c) ; barrier ; project(0) ; c  c ; output",
            &[],
        ),
    ]);
}

#[test]
fn what_nothing_reaches() {
    check_bodies(&[
        (
            "let c : !string = channel  c ; map(value) ; filter(value = \"\") ; c  c ; output  input ; discard",
            &["P0509", "P0509"],
        ),
        ("empty ; output  input ; discard", &[]),
    ]);
}

#[test]
fn cycles_that_never_stop() {
    check_bodies(&[
        (
            "let c : !string = channel  input ; c ; output  c ; map(value) ; c",
            &["P0508"],
        ),
        (
            "let c : !string = channel  input ; c ; output  c ; filter(value = \"again\") ; c",
            &[],
        ),
    ]);
    let agent = "let a : !string -> !string = agent { provider: \"eliza\" }\n";
    let around = "let main : !string -> !string = plumb(input, output) { input ; a  a ; id ; a  a ; output }";
    let inner = "let b : !string -> !string = plumb(i, o) { i ; a ; o }\n";
    let through = "let main : !string -> !string = plumb(input, output) { input ; b  b ; id ; b  b ; output }";
    check_all(&[
        (&format!("{agent}{around}"), &["P0508"]),
        (&format!("{agent}{inner}{through}"), &["P0508"]),
    ]);
}

#[test]
fn a_statement_composes_a_process_with_itself() {
    let inc = "let inc : !int -> !int = map(value + 1)\n";
    let bot = "let bot : !int -> !int = agent { provider: \"sim\" }\n";
    let within = |statements: &str| {
        format!("{inc}{bot}let main : !int -> !int = plumb(input, output) {{ {statements} }}")
    };
    let cases: &[(&str, &[&str])] = &[
        ("input ; inc ; inc ; output", &[]),
        ("input ; bot ; inc ; bot ; output", &[]),
        ("input ; copy ; (inc * inc) ; merge ; output", &[]),
        // Feedback leads from a name back to it.
        (
            "input ; bot  bot ; filter(value < 3) ; bot  bot ; output",
            &[],
        ),
        ("input ; inc  inc ; output", &[]),
        ("input ; bot@input  bot ; output", &[]),
        // Which of the two is meant elsewhere?
        ("input ; inc ; inc ; output  inc ; output", &["P0511"]),
        ("input ; keep(inc) ; project(1) ; output", &[]),
        (
            "input ; inc ; keep(inc) ; project(1) ; output  inc ; output",
            &["P0511"],
        ),
        ("input ; bot  bot ; bot  bot ; output", &["P0511"]),
        (
            "spawn bot(input, output)  input ; bot ; bot ; output",
            &["P0511"],
        ),
        (
            "input ; inc ; inc ; output  input ; inc ; inc ; output",
            &[],
        ),
    ];
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(text, codes)| (within(text), *codes))
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    check_all(&cases);
    let told = super::super::check("test.plumb", &within("input ; bot  bot ; bot"), &BuiltIn);
    let hint = told.diagnostics.first().and_then(|one| one.hint.as_deref());
    assert!(
        hint.is_some_and(|hint| hint.contains("`spawn`")),
        "{hint:?}"
    );
}

#[test]
fn an_output_does_not_feed_an_input() {
    check_bodies(&[
        ("input ; output  output ; input", &["P0505"]),
        ("input ; output  discard ; input", &["P0505"]),
        ("input ; output  output ; once(\"x\") ; output", &["P0505"]),
        ("input ; discard ; once(\"x\") ; output", &[]),
    ]);
}

#[test]
fn once_at_the_end_of_a_line() {
    check_bodies(&[
        ("input ; discard  once\n(\"x\") ; output", &[]),
        ("input ; discard  once\n  (null) ; map(\"x\") ; output", &[]),
        ("input ; once\n(input * input) ; merge ; output", &["P0201"]),
    ]);
}

#[test]
fn spawned_processes() {
    let pair =
        "let pair : (!string, !string) -> !string = plumb(a, b, c) { (a * b) ; merge ; c }\n";
    let with = |statements: &str| {
        format!("{pair}let main : !string -> !string = plumb(input, output) {{ {statements} }}")
    };
    let cases: &[(&str, &[&str])] = &[
        ("spawn pair(a=input, b=input, c=output)", &[]),
        ("spawn pair(input, input, output)", &[]),
        ("spawn pair(input, input)", &["P0507"]),
        ("spawn pair(a=input, a=input, c=output)", &["P0507"]),
        ("spawn pair(a=input, c=output)", &["P0501"]),
        ("spawn pair(a=input, b=input, d=output)", &["P0504"]),
        ("spawn pair(a=output, b=input, c=output)", &["P0505"]),
        ("spawn pair(a=input, b=nowhere, c=output)", &["P0201"]),
        ("spawn piar(a=input, b=input, c=output)", &["P0201"]),
        (
            "spawn pair(input, input, output) spawn pair(input, input, output)",
            &[],
        ),
        (
            "spawn pair(input, input, output) spawn pair(input, input, output) pair@c ; output",
            &["P0511"],
        ),
        ("spawn pair(a=input, c=output) input ; pair@b", &[]),
        ("(input * input) ; pair ; output", &[]),
        ("input ; copy ; pair ; output", &[]),
        ("input ; pair ; output", &["P0503"]),
        ("input ; pair@a  input ; pair@b  pair@c ; output", &[]),
        (
            "input ; pair@a  input ; pair@b  pair@a ; output",
            &["P0505"],
        ),
        ("input ; pair@x", &["P0504"]),
        ("input ; output@x", &["P0504"]),
    ];
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(text, codes)| (with(text), *codes))
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    check_all(&cases);
}

#[test]
fn a_name_is_one_instance_in_a_body_and_a_new_one_in_a_morphism() {
    let f = "let f : !string -> !string = filter(value != \"\")\n";
    let body = drawn(&format!(
        "{f}{}",
        super::body("input ; f ; output  input ; f")
    ));
    insta::assert_snapshot!(body);
    let morphism = drawn(&format!("{f}let main : !string -> !string = f ; f"));
    insta::assert_snapshot!(morphism);
}

#[test]
fn what_fans_out_and_in_gets_its_nodes() {
    let text = "
let pass : !json -> !json = plumb(i, o) { i ; o }
let main : (!json, !string) -> (!string, !json) = plumb(raw, plain, out, rest) {
  let c : !string = channel
  raw ; c
  plain ; c
  c ; out
  c ; pass ; rest
}";
    insta::assert_snapshot!(drawn(text));
}
