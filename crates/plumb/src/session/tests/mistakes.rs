//! Each mistake in a protocol or in its wiring, and where it is told.

use super::super::{Scope, desugar};
use crate::span::SourceId;
use crate::syntax::ast::{DeclarationKind, Path, Program, Protocol, Type, TypeKind};
use crate::{syntax, types};

/// The protocols of a program; types are what they are called, but for `Alias`, which is `Ask`, and `A`,
/// which is `json`.
struct Own<'a>(&'a Program);

impl Scope for Own<'_> {
    fn protocol(&self, path: &Path) -> Option<Protocol> {
        let mut declared = self.0.declarations.iter();
        declared.find_map(|declaration| match &declaration.kind {
            DeclarationKind::Protocol(name, protocol) if name.text == path.name.text => {
                Some(protocol.clone())
            }
            _ => None,
        })
    }

    fn resolve(&self, kind: &Type) -> Option<types::Type> {
        match &kind.kind {
            TypeKind::Named(path) if &*path.name.text == "Alias" => {
                Some(types::Type::Literal("Ask".into()))
            }
            TypeKind::Named(path) if &*path.name.text == "A" => Some(types::Type::Json),
            TypeKind::Named(path) => Some(types::Type::Literal(path.name.text.clone())),
            _ => None,
        }
    }
}

/// Each diagnostic as `code at text: message`.
fn told(text: &str) -> Vec<String> {
    let (program, found) = syntax::parse(SourceId(0), text);
    assert_eq!(found, Vec::new(), "{text}");
    let (_, found, _) = desugar(&program, &Own(&program));
    let line = |d: &crate::diagnostic::Diagnostic| {
        format!(
            "{} at `{}`: {}",
            d.code,
            text.get(d.span.range()).unwrap(),
            d.message
        )
    };
    found.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(told(text), expected, "{text}");
}

/// A body around these statements, with a protocol `P`.
fn wired(protocol: &str, statements: &str) -> String {
    format!(
        "protocol P = {protocol}
         let main : (!A, !A) -> (!A, !A) = plumb(i, go, o, out) {{
           (i, o) <-> P as s
           {statements}
         }}"
    )
}

#[test]
fn protocols() {
    check(
        "protocol P = send A . Q",
        &["P0601 at `Q`: `Q` is neither a variable of a `rec` around it nor a protocol"],
    );
    check(
        "protocol P = rec X . X",
        &["P0602 at `rec X . X`: this jumps back to itself with no step between"],
    );
    check(
        "protocol P = loop",
        &["P0602 at `loop`: this jumps back to itself with no step between"],
    );
    check(
        "protocol P = Q protocol Q = P",
        &[
            "P0602 at `P`: this jumps back to itself with no step between",
            "P0602 at `Q`: this jumps back to itself with no step between",
        ],
    );
    check(
        "protocol P = select { a: end, a: loop }",
        &["P0603 at `a`: the label `a` stands twice in one choice"],
    );
    check(
        "protocol P = send A . rec X . end",
        &["P0605 at `X`: `X` is never jumped to"],
    );
    check(
        "protocol P = rec X . send A . { go: X, more: rec Y . recv B . { y: Y, x: X, t: loop }, stop: end }",
        &[],
    );
    check("protocol P = send A . P", &[]);
}

#[test]
fn a_protocol_that_is_too_large() {
    let part = |n: usize| format!("protocol P{n} = {}P{} ", "send A . ".repeat(100), n + 1);
    let text: String = (0..11).map(part).collect();
    let found = told(&(text + "protocol P11 = end"));
    let large = "P0606 at `A`: the protocol has more than 1024 steps";
    assert!(found.iter().any(|line| line == large), "{found:?}");
}

#[test]
fn a_session_that_is_wired() {
    let all = "go ; s@trigger
               s@trigger ; s@send(Alias)
               s@recv(Answer).text ; out";
    check(&wired("send Ask . recv Answer . end", all), &[]);
    check(&wired("send Ask . recv Answer . loop", all), &[]);
}

#[test]
fn steps_that_are_not_wired_or_twice() {
    check(
        &wired("send Ask . recv Answer . end", "go ; s@trigger"),
        &["P0616 at `s`: nothing feeds `s@send(Ask)`"],
    );
    check(
        &wired("{ a: end, b: end }", "go ; s@select(a)"),
        &[
            "P0616 at `s`: nothing feeds `s@trigger`",
            "P0616 at `s`: nothing feeds `s@select(b)`",
        ],
    );
    check(
        &wired(
            "send Ask . end",
            "go ; s@trigger s@trigger ; s@send(Ask) go ; s@send(Alias)",
        ),
        &["P0617 at `s@send(Alias)`: this step is fed twice"],
    );
    check(
        &wired(
            "recv Ask . end",
            "go ; s@trigger s@recv(Ask) ; o s@recv(Ask) ; out",
        ),
        &["P0618 at `s@recv(Ask)`: the message of this step is read twice"],
    );
}

#[test]
fn steps_that_are_not_there() {
    check(
        &wired("recv Ask . end", "go ; s@trigger s@recv(Answer) ; out"),
        &["P0613 at `s@recv(Answer)`: the protocol has no step for `Answer`"],
    );
    check(
        &wired("offer { a: end }", "go ; s@trigger s@offer(b) ; out"),
        &["P0613 at `s@offer(b)`: the protocol has no choice with the label `b`"],
    );
    check(
        &wired("recv Ask . end", "go ; s@trigger t@recv(Ask) ; out"),
        &["P0610 at `t`: no session is called `t` here"],
    );
    check(
        &wired("recv Ask . end", "go ; s@trigger s@nothing ; out"),
        &["P0612 at `nothing`: a session has no endpoint `nothing`"],
    );
    check(
        &wired(
            "recv Ask . recv Ask . end",
            "go ; s@trigger s@recv(Ask) ; out s@recv(Ask, 3) ; out",
        ),
        &[
            "P0615 at `s@recv(Ask)`: `Ask` stands at 2 steps",
            "P0613 at `s@recv(Ask, 3)`: `Ask` stands at 2 of the steps, counted from 1",
        ],
    );
}

#[test]
fn directions() {
    check(
        &wired("recv Ask . end", "go ; s@trigger go ; s@send(Ask)"),
        &["P0614 at `s@send(Ask)`: the protocol receives `Ask` here"],
    );
    check(
        &wired("recv Ask . end", "go ; s@trigger go ; s@recv(Ask) ; out"),
        &["P0614 at `s@recv(Ask)`: this gives messages and takes none"],
    );
    check(
        &wired("send Ask . end", "go ; s@trigger go ; s@send(Ask) ; out"),
        &["P0614 at `s@send(Ask)`: this takes messages and gives none"],
    );
    check(
        &wired("offer { a: end }", "go ; s@trigger go ; s@select(a)"),
        &["P0614 at `s@select(a)`: the other side chooses `a` here"],
    );
}

#[test]
fn streams_that_do_not_fit() {
    let bound = |streams: &str| {
        format!(
            "protocol P = send Ask . recv Answer . {{ more: end }}
             let main : (!Answer, !A) -> (!Ask, !A) = plumb(i, go, o, out) {{
               {streams} <-> P as s
               go ; s@trigger
               s@trigger ; s@send(Ask)
               s@done(Answer) ; s@select(more)
             }}"
        )
    };
    check(
        &bound("(i, o)"),
        &[
            "P0620 at `o`: the protocol sends `{ tag: \"more\", value: … }`, which `o` does not carry",
        ],
    );
    check(&bound("(i, out)"), &[]);
    let wrong = [
        "P0620 at `i`: the protocol sends `Ask`, which `i` does not carry",
        "P0621 at `o`: the protocol receives `Answer`, which never comes from `o`",
        "P0620 at `i`: the protocol sends `{ tag: \"more\", value: … }`, which `i` does not carry",
    ];
    check(&bound("(o, i)"), &wrong);
}

#[test]
fn streams_and_sessions() {
    check(
        &wired("recv Ask . end", "go ; s@trigger i ; out"),
        &["P0619 at `i`: `i` is read by the session `s`"],
    );
    check(
        &wired("recv Ask . end", "go ; s@trigger (go, o) <-> P as s"),
        &["P0611 at `s`: two sessions are called `s`"],
    );
    check(
        "let main : (!A, !A) -> !A = plumb(i, go, o) { (i, o) <-> Q as s  go ; s@trigger }",
        &["P0601 at `Q`: no protocol is called `Q`"],
    );
}

#[test]
fn streams_that_are_not_there_are_underlined() {
    let text = "type A = { a: int } protocol P = send A .  end
        let main : (!A, !A) -> !A = plumb(i, go, o) {
          (nope, none) <-> P as s  i ; discard  go ; s@trigger  go ; s@send(A)  i ; o }";
    let found = crate::check::check("main", text, &crate::modules::BuiltIn).diagnostics;
    let at: Vec<&str> = found
        .iter()
        .map(|it| {
            text.get(it.span.start as usize..it.span.end as usize)
                .unwrap()
        })
        .collect();
    assert_eq!(at, ["nope", "none"]);
}
