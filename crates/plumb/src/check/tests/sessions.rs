//! Sessions that are not held to their protocol.

use super::check_all;

/// A body with these statements, from two inputs to two outputs.
fn body(protocols: &str, statements: &str) -> String {
    format!(
        "{protocols}
         let main : (!int, !int) -> (!int, !string) = plumb(go, more, out, text) {{
           let a : !json = channel
           let b : !json = channel
           {statements}
         }}"
    )
}

#[track_caller]
fn check(cases: &[(&str, &str, &[&str])]) {
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(protocols, statements, codes)| (body(protocols, statements), *codes))
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    check_all(&cases);
}

/// One end sends a number and gets a text; the statements that wire it.
const ASKS: &str = "(a, b) <-> P as s  go ; s@trigger  more ; s@send(int)  s@recv(string) ; text";

#[test]
fn the_ends_of_a_conversation_are_dual() {
    let answers = |bind: &str, kinds: (&str, &str)| {
        let (got, gives) = kinds;
        format!(
            "{ASKS}  (b, a) <-> {bind} as t  go ; t@trigger
             t@recv({got}) ; map({gives}) ; t@send({})  once(1) ; out",
            if gives == "1" { "int" } else { "string" }
        )
    };
    let ask = "protocol P = send int . recv string . end";
    let cases: [(&str, String, &[&str]); 4] = [
        (ask, answers("dual P", ("int", "\"yes\"")), &[]),
        (
            "protocol P = send int . recv string . end  protocol Q = send string . recv string . end",
            answers("dual Q", ("string", "\"yes\"")),
            &["P0622"],
        ),
        (
            "protocol P = send int . recv string . end  protocol Q = recv int . send int . end",
            answers("Q", ("int", "1")),
            &["P0622"],
        ),
        // What is sent may be narrower.
        (
            "protocol P = send int . recv string . end  protocol Q = recv number . send string . end",
            answers("Q", ("number", "\"yes\"")),
            &[],
        ),
    ];
    let cases: Vec<(&str, &str, &[&str])> = cases
        .iter()
        .map(|(one, two, codes)| (*one, two.as_str(), *codes))
        .collect();
    check(&cases);
    check(&[(
        ask,
        "(a, b) <-> P as s  go ; s@trigger  more ; s@send(int)  s@recv(string) ; text
         (b, a) <-> P as t  go ; t@trigger  more ; t@send(int)  t@recv(string) ; text  once(1) ; out",
        &["P0622"],
    )]);
}

#[test]
fn a_choice_has_the_labels_that_may_be_chosen() {
    let two = "protocol P = select { yes: end, no: end }  protocol Q = offer { yes: end }
               protocol R = offer { yes: end, no: end, maybe: end }";
    let bound = |protocol: &str, arms: &str| {
        format!(
            "(a, b) <-> P as s  go ; s@trigger  go ; s@select(yes)  more ; s@select(no)
             (b, a) <-> {protocol} as t  go ; t@trigger  {arms}  once(1) ; out  once(\"\") ; text"
        )
    };
    let yes = "t@offer(yes) ; discard";
    let all = "t@offer(yes) ; discard  t@offer(no) ; discard  t@offer(maybe) ; discard";
    check(&[
        (two, &bound("Q", yes), &["P0622"]),
        (two, &bound("R", all), &[]),
    ]);
}

#[test]
fn the_ends_may_be_in_processes() {
    let processes = |protocol: &str| {
        format!(
            "protocol P = send int . recv string . end
             {protocol}
             let asker : (!int, !json) -> (!json, !string) = plumb(go, heard, said, text) {{
               (heard, said) <-> P as s
               go ; s@trigger  go ; s@send(int)  s@recv(string) ; text
             }}
             let answerer : !json -> !json = plumb(heard, said) {{
               (heard, said) <-> Q as s
               once(null) ; s@trigger  s@recv(int) ; map(\"yes\") ; s@send(string)
             }}"
        )
    };
    let right = processes("protocol Q = recv int . send string . end");
    let wrong = processes("protocol Q = recv int . recv int . send string . end");
    let spawned = "spawn asker(go, a, b, text)  spawn answerer(b, a)  more ; out";
    let named = "go ; asker@go  a ; asker@heard  asker@said ; b  asker@text ; text
                 b ; answerer ; a  more ; out";
    let wrong = wrong.replace(
        "s@recv(int) ;",
        "s@recv(int, 1) ; discard  s@recv(int, 2) ;",
    );
    check(&[
        (&right, spawned, &[]),
        (&right, named, &[]),
        (&wrong, spawned, &["P0622"]),
        (&wrong, named, &["P0622"]),
    ]);
}

#[test]
fn every_arm_is_handled() {
    let rest = "go ; s@trigger  more ; out  once(\"\") ; text  go ; a  b ; discard";
    let bound = |arms: &str| format!("(a, b) <-> P as s  {rest}  {arms}");
    let ends = "protocol P = offer { yes: end, no: end }";
    let steps = "protocol P = offer { read: recv int . loop, quit: end }";
    let hidden = "protocol P = offer { read: recv int . loop, drop: recv bool . loop, quit: end }";
    check(&[
        (
            ends,
            &bound("s@offer(yes) ; discard  s@offer(no) ; discard"),
            &[],
        ),
        (ends, &bound("s@offer(yes) ; discard"), &["P0623"]),
        (ends, &bound(""), &["P0623", "P0623"]),
        // The steps of the arms handle the choice.
        (steps, &bound("s@recv(int) ; discard"), &[]),
        (steps, &bound("s@offer(read) ; discard"), &["P0623"]),
        (hidden, &bound("s@recv(int) ; discard"), &["P0623"]),
    ]);
}

#[test]
fn what_is_received_is_not_copied() {
    let rest = "go ; s@trigger  more ; out  go ; a  b ; discard";
    let bound = |statement: &str| format!("(a, b) <-> P as s  {rest}  {statement}");
    let one = "protocol P = recv string . end";
    check(&[
        (one, &bound("s@recv(string) ; text"), &[]),
        (
            one,
            &bound("s@recv(string) ; copy ; (text * discard)"),
            &["P0618"],
        ),
        (
            one,
            &bound("s@recv(string) ; filter(value != \"\") ; copy ; (text * discard)"),
            &["P0618"],
        ),
    ]);
    // Channels that are not named would be told, too.
    let channels = |statements: &str| {
        let mut words = statements.split([' ', '(', ')', '\n']);
        let declared = match words.any(|word| word == "d") {
            true => "let c : !string = channel  let d : !string = channel",
            false => "let c : !string = channel",
        };
        bound(&format!("{declared}  {statements}"))
    };
    let copied = [
        "s@recv(string) ; c  c ; text  c ; map(len(value)) ; out",
        "s@recv(string) ; c  c ; d  c ; text  d ; text",
        "s@recv(string) ; c  c ; d  d ; text  d ; id ; text",
        "s@recv(string) ; c  c ; copy ; (text * d)  d ; discard",
        "s@recv(string) ; c  c ; filter(value != \"\") ; d  d ; text  d ; map(1) ; out",
        "(s@recv(string) * more) ; (copy * id) ; (text * c * out)  c ; discard",
        "((s@recv(string) ; copy) * more) ; (text * c * out)  c ; discard",
        "(s@recv(string) * once(\"\")) ; merge ; c  c ; text  c ; d  d ; text",
    ];
    for statements in copied {
        check(&[(one, &channels(statements), &["P0618"])]);
    }
    let used_once = [
        "s@recv(string) ; c  c ; d  d ; text",
        "s@recv(string) ; c  c ; text  c ; discard  d ; discard  once(\"\") ; d",
        "s@recv(string) ; c  c ; filter(value = \"a\") ; text  c ; filter(value != \"a\") ; d
         d ; text",
        "s@recv(string) ; c  c ; map(value) ; d  d ; text  d ; map(len(value)) ; out",
        "s@recv(string) ; keep(map(len(value))) ; map(value.1) ; out  once(\"\") ; text
         once(\"\") ; c  c ; discard",
    ];
    for statements in used_once {
        check(&[(one, &channels(statements), &[])]);
    }
    let triggers = "(a, b) <-> P as s  more ; out  go ; a  b ; discard
        let begin : !json = channel  go ; begin  begin ; s@trigger
        let c : !string = channel  s@recv(string) ; c  c ; text  c ; begin";
    check(&[(one, triggers, &[])]);
}

#[test]
fn sessions_that_wait_for_each_other_are_told() {
    let two = "protocol P = send int . end  protocol Q = send int . end";
    let bound = "let c : !json = channel  let d : !json = channel
         (a, b) <-> P as p  (b, a) <-> dual P as pp
         (c, d) <-> Q as q  (d, c) <-> dual Q as qq
         go ; p@trigger  go ; pp@trigger  go ; q@trigger  go ; qq@trigger
         more ; out  once(\"\") ; text";
    let circle = format!("{bound}  pp@recv(int) ; q@send(int)  qq@recv(int) ; p@send(int)");
    let line =
        format!("{bound}  pp@recv(int) ; q@send(int)  qq@recv(int) ; out  more ; p@send(int)");
    // A start makes the circle turn.
    let begun = format!("{circle}  more ; c0  let c0 : !int = channel  c0 ; discard");
    check(&[
        (two, &circle, &["P0624"]),
        (two, &line, &[]),
        (two, &begun, &["P0624"]),
    ]);
}

#[test]
fn a_step_does_not_wait_for_a_later_one() {
    let rest = "go ; s@trigger  more ; out";
    check(&[
        // The payload comes from the answer to it.
        (
            "protocol P = send int . recv string . end",
            &format!(
                "(a, b) <-> P as s  {rest}  b ; map(\"x\") ; a
                      s@recv(string) ; map(1) ; s@send(int)  once(\"\") ; text"
            ),
            &["P0624"],
        ),
        // It receives before anything was sent that is answered.
        (
            "protocol P = recv string . send int . end",
            &format!(
                "(a, b) <-> P as s  {rest}  b ; map(\"x\") ; a
                      more ; s@send(int)  s@recv(string) ; text"
            ),
            &["P0624"],
        ),
        (
            "protocol P = send int . recv string . end",
            &format!(
                "(a, b) <-> P as s  {rest}  b ; map(\"x\") ; a
                      more ; s@send(int)  s@recv(string) ; text"
            ),
            &[],
        ),
        // Nothing but the session triggers it.
        (
            "protocol P = recv string . end",
            "(a, b) <-> P as s  s@recv(string) ; map(1) ; s@trigger  go ; a  b ; discard
             more ; out  once(\"\") ; text",
            &["P0624"],
        ),
    ]);
}

#[test]
fn a_wrong_label_is_told_once() {
    let rest = "go ; s@trigger  more ; out  once(\"\") ; text  go ; a  b ; discard";
    check(&[
        (
            "protocol P = select { read: end, write: end }",
            &format!("(a, b) <-> P as s  {rest}  go ; s@select(raed)  go ; s@select(write)"),
            &["P0613"],
        ),
        (
            "protocol P = offer { read: end, write: end }",
            &format!(
                "(a, b) <-> P as s  {rest}  s@offer(raed) ; discard  s@offer(write) ; discard"
            ),
            &["P0613"],
        ),
    ]);
    let text = body(
        "protocol P = select { read: end, write: end }",
        &format!("(a, b) <-> P as s  {rest}  go ; s@select(raed)  go ; s@select(write)"),
    );
    let checked = super::super::check("test.plumb", &text, &crate::modules::BuiltIn);
    let hint = checked
        .diagnostics
        .first()
        .and_then(|one| one.hint.as_deref());
    assert_eq!(hint, Some("Did you mean `read`?"));
}
