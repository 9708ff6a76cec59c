//! Programs as the parser reads them, and the diagnostics of wrong ones.

use crate::span::SourceId;
use crate::syntax::ast::{Body, DeclarationKind, StatementKind};
use crate::syntax::parse;

/// Checks that a text reads without a mistake.
#[track_caller]
fn reads(text: &str) -> crate::syntax::ast::Program {
    let (program, told) = parse(SourceId(0), text);
    assert_eq!(told, [], "in {text}");
    program
}

/// The text at which a mistake is told.
fn at<'a>(text: &'a str, told: &crate::diagnostic::Diagnostic) -> &'a str {
    text.get(told.span.range()).unwrap()
}

/// Checks which codes are told, and at which text each stands.
#[track_caller]
fn tells(text: &str, expected: &[(&str, &str)]) {
    let (_, told) = parse(SourceId(0), text);
    let found: Vec<(&str, &str)> = told.iter().map(|one| (one.code.0, at(text, one))).collect();
    assert_eq!(found, expected, "in {text}\n{told:#?}");
}

/// The listings of the calculus as they were published.
const SEED: &str = r#"
protocol Compaction =
send Pause . recv PauseAck .
send GetMemory . recv MemoryDump .
send SetMemory . recv SetMemoryAck .
send Resume . recv ResumeAck . end
let compact : (!CtrlResp, !json) -> !CtrlCmd =
plumb(ctrl_out, telemetry, ctrl_in) {
(ctrl_out, ctrl_in) <-> Compaction as session
telemetry ; filter(kind = "usage" && input_tokens > 150000) ;
map(null) ; session@trigger
session@trigger ; map({pause: true}) ; session@send(Pause)
session@done(PauseAck) ; map({get_memory: true}) ; session@send(GetMemory)
session@recv(MemoryDump) ; compressor ; session@send(SetMemory)
session@done(SetMemoryAck) ; map({resume: true}) ; session@send(Resume)
}
let main : !string -> !string = plumb(input, output) {
let ctrl : !CtrlCmd = channel
let ctrl_out : !CtrlResp = channel
let telem : !json = channel
spawn bot(input=input, ctrl_in=ctrl,
output=output, ctrl_out=ctrl_out,
telemetry=telem)
spawn compact(ctrl_out=ctrl_out,
telemetry=telem, ctrl_in=ctrl)
}
"#;

#[test]
fn the_published_listings_read_as_they_are_printed() {
    let program = reads(SEED);
    let counts: Vec<usize> = program
        .declarations
        .iter()
        .map(|declaration| match &declaration.kind {
            DeclarationKind::Let(read) => match &read.body {
                Body::Plumb(plumb) => plumb.statements.len(),
                other => panic!("{other:?}"),
            },
            _ => 0,
        })
        .collect();
    assert_eq!(counts, [0, 6, 5]);
    let DeclarationKind::Let(compact) = &program.declarations[1].kind else {
        panic!();
    };
    let Body::Plumb(plumb) = &compact.body else {
        panic!();
    };
    assert!(matches!(plumb.statements[0].kind, StatementKind::Bind(_)));
    assert_eq!(plumb.ports.len(), 3);
}

#[test]
fn every_form_reads() {
    for text in [
        "",
        "(* nothing (* nested *) *)",
        "use mem",
        "type T = { a: string, b?: [int], type: \"x\" | \"y\" }",
        "type T = A | (B | C) | Mem.Memory",
        "type T = (string, (int, bool))",
        "let f : () -> !string = empty",
        "let f : !string -> () = discard",
        "let f : (!A, !B) -> (!A, !B) = (id * (copy ; merge))",
        "let f : !(A | B) -> !(A, B) = plumb(a, b) {}",
        "let f : Query -> Results | Error = tool { process: searcher }",
        "let f : (A, B) -> C = tool { process: g, }",
        "let f : !A -> !B = filter(a = 1).b.c ; tag(ok) ; project(0) ; Mem.compressor",
        "let f : !A -> !B = map(if not a.b = 1 && c then -x + 2 * y else { a, type, b: [1, 2.5e3] })",
        "let f : !A -> !B = map({ n: len(a), c: contains(a, \"b\"), d: defined(value.if) })",
        "let f : !A -> !B = plumb(a, b) { (a, b) <-> dual M.P as s within 500ms\n a ; s@trigger }",
        "let f : !A -> !B = plumb(a, b) { a ; s@done (a, b) <-> P as s s@send(T, 2) ; b }",
        "let f : !A -> !B = plumb(a, b) { s@select(ok, 2) ; (a * b) ; s@offer(end) ; bot@ctrl_in }",
        "let f : !A -> !B = plumb(a, b) { spawn Mem.g(a, b) spawn h() let c : !(A, B) = channel }",
        "protocol P = rec X . send A . select { go: X, stop: recv M.T . end, other: Q }",
        "protocol P = send A . X protocol Q = { a: loop, b: M.P }",
        "protocol P = send A . (M.P) protocol Q = recv A | B . (M.P) protocol R = rec X . M.P",
        "protocol P = send A | M.B . recv [M.C] . offer { ok: end }",
        "let f : !A -> !B = map(type = \"error\" && end > 1)",
    ] {
        reads(text);
    }
}

#[test]
fn a_step_leads_on_to_a_name() {
    let program = reads("protocol P = rec X . recv M.T . send B . X");
    let text = format!("{:?}", program.declarations[0].kind);
    assert!(text.contains("module: Some(Name { text: \"M\""), "{text}");
    assert!(!text.contains("Some(Name { text: \"B\""), "{text}");
}

#[test]
fn several_mistakes_are_told_each_once() {
    tells(
        "type a = string\nlet B : !string = map(1 +)\nprotocol P = send A\nuse mem",
        &[
            ("P0110", "a"),
            ("P0110", "B"),
            ("P0101", "="),
            ("P0101", ")"),
            ("P0114", "A"),
        ],
    );
    tells(
        "let f : !A -> !B = plumb(a, b) {\n  a ; map( ; b\n  spawn f()\n spwan g(a)\n  a ; ; b\n  b ; a ;\n}\ntyp T = int",
        &[
            ("P0101", ";"),
            ("P0109", "spwan"),
            ("P0115", ";"),
            ("P0115", ";"),
            ("P0109", "typ"),
        ],
    );
}

#[test]
fn a_signature_that_is_missing_is_told() {
    tells("let f = id", &[("P0101", "=")]);
    tells("let f := id", &[("P0101", "=")]);
    tells("let f : !A = id", &[("P0101", "=")]);
}

#[test]
fn what_is_not_closed_is_named_with_where_it_was_opened() {
    #[track_caller]
    fn check(text: &str, (code, found): (&str, &str), opened: u32) {
        let (_, told) = parse(SourceId(0), text);
        assert_eq!(told.len(), 1, "{told:#?}");
        assert_eq!(told[0].code.0, code);
        assert_eq!(at(text, &told[0]), found);
        assert_eq!(told[0].labels[0].span.start, opened);
    }
    check("let f : !A -> !B = map({ a: 1", ("P0102", ""), 23);
    check("let f : !A -> !B = map((a + 1)", ("P0102", ""), 22);
    check(
        "let f : !A -> !B = plumb(a, b) {\n a ; b\nlet g : !A -> !B = id",
        ("P0102", "let"),
        31,
    );
    check(
        "let f : !A -> !B = agent { model: \"m\"\ntype T = int",
        ("P0102", "type"),
        25,
    );
    check("let f : !(A | B -> !B = id", ("P0101", "->"), 9);
    check("type T = [string\ntype U = int", ("P0102", "type"), 9);
}

#[test]
fn what_other_languages_write_is_told_by_what_plumb_writes() {
    #[track_caller]
    fn check(text: &str, found: &str, code: &str, hint: &str) {
        let (_, told) = parse(SourceId(0), text);
        assert_eq!(told.len(), 1, "{text}: {told:#?}");
        assert_eq!(
            (told[0].code.0, at(text, &told[0])),
            (code, found),
            "{told:?}"
        );
        let told = told[0].hint.as_deref().unwrap_or_default();
        assert!(told.contains(hint), "{told}");
    }
    check("let f : !A -> !B = map(a == 1)", "==", "P0101", "`=`");
    check("let f : !A -> !B = map(a and b)", "and", "P0101", "`&&`");
    check("let f : !A -> !B = map(a or b)", "or", "P0101", "`||`");
    check(
        "protocol P = dual Q",
        "dual",
        "P0101",
        "`(in, out) <-> dual P as s`",
    );
    check("let f : !A -> !B = filter(!a)", "!", "P0101", "`not`");
    check("let f : !A -> !B = filter(a < b < c)", "<", "P0117", "&&");
    check("// text\nuse mem", "// text", "P0107", "(*");
    check("# text\nuse mem", "# text", "P0107", "(*");
    check("let f : !A => !B = id", "=>", "P0101", "");
    check(
        "let f : !A -> !B = map('a')",
        "'a'",
        "P0107",
        "double quotes",
    );
    check(
        "let f : !A -> !B = (a ; b * c)",
        "*",
        "P0112",
        "parentheses",
    );
    check("let f : !A -> !B = maap(1)", "maap", "P0109", "map");
    check(
        "let f : !A -> !B = agnet { model: 1 }",
        "agnet",
        "P0109",
        "agent",
    );
    check(
        "let f : !A -> !B = map(length(a))",
        "length",
        "P0121",
        "len",
    );
    check("let f : !A -> !B = map(len())", "len()", "P0116", "len(e)");
    check("type T = !A", "!", "P0113", "remove");
    check("let f : (!A, B) -> !B = id", "B", "P0113", "(!A, !B)");
    check("let f : !A | !B -> !B = id", "!A", "P0113", "!(A | B)");
    check("let c : !A = channel", "=", "P0101", "body");
    check(
        "let f : !A -> !B = plumb(a, b) { let c : A = channel }",
        "A",
        "P0113",
        "!T",
    );
    check(
        "let f : !A -> !B = plumb(a, b) { spawn g(a: b) }",
        ":",
        "P0101",
        "port=channel",
    );
    check(
        "let f : !A -> !B = plumb(a, b) { (a, b) <-> P as s within 5h }",
        "5h",
        "P0119",
        "30s",
    );
    check("let f : !A -> !B = plumb(a, end) { }", "end", "P0111", "");
    check("type T = { Name: int }", "Name", "P0110", "`\"Name\"`");
    check("type T = int )", ")", "P0120", "");
    check("let f : !A -> !B = map(01)", "01", "P0106", "JSON");
    check("let f : !A -> !B = map(\"\\q\")", "\\q", "P0105", "JSON");
    check(
        "let f : !A -> !B = map(\"x)\n",
        "\"x)",
        "P0104",
        "same line",
    );
    check("use mem (* x (* y *)", "(*", "P0103", "nest");
    check(
        "protocol P = select { a: end } . end",
        ".",
        "P0101",
        "each arm",
    );
    check("protocol P = sned A . end", "sned", "P0109", "send");
}

#[test]
fn depth_is_bounded() {
    for (open, inner, close) in [
        ("let f : !A -> !B = map(", "(", ")"),
        ("let f : !A -> !B = map(", "[", "]"),
        ("let f : !A -> !B = map(", "{ a: ", "}"),
        ("let f : !A -> !B = map(", "- ", ""),
        ("let f : !A -> !B = map(", "not ", ""),
        ("let f : !A -> !B = map(", "len(", ")"),
        ("let f : !A -> !B = map(", "if a then b else ", ""),
        ("let f : !A -> !B = map(", "1 + ", ""),
        ("let f : !A -> !B = map(x", ".x", ""),
        ("let f : !A -> !B = x", ".x", ""),
        ("let f : !A -> !B = ", "(", ")"),
        ("let f : !A -> !B = ", "(a * ", ")"),
        ("type T = ", "[", "]"),
        ("type T = ", "(", ")"),
        ("type T = ", "{ a: ", "}"),
        ("type T = ", "!", ""),
        ("protocol P = ", "send A . ", ""),
        ("protocol P = ", "{ a: ", "}"),
        ("protocol P = ", "(", ")"),
        ("protocol P = ", "rec X . ", ""),
    ] {
        for closed in [true, false] {
            let mut text = format!("{open}{}", inner.repeat(50_000));
            if closed {
                text.push('a');
                text.push_str(&close.repeat(50_000));
            }
            let (_, told) = parse(SourceId(0), &text);
            assert!(
                told.iter().any(|one| one.code.0 == "P0108"),
                "{open}{inner}"
            );
            assert!(told.len() <= 101, "{open}{inner}: {}", told.len());
        }
        let depth = 60;
        let text = format!("{open}{}a{}", inner.repeat(depth), close.repeat(depth));
        let (_, told) = parse(SourceId(0), &text);
        assert!(
            !told.iter().any(|one| one.code.0 == "P0108"),
            "{open}{inner}"
        );
    }
}

#[test]
fn no_more_than_a_hundred_are_told() {
    let (_, told) = parse(SourceId(0), &"type a = int\n".repeat(1000));
    assert_eq!(told.len(), 101);
    assert_eq!(told[100].code.0, "P0122");
}
