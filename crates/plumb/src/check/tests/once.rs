//! Mistakes that follow from another are not reported beside it; independent ones are.

use super::{check_all, codes_of};
use crate::check::check;
use crate::modules::BuiltIn;

#[test]
fn a_place_that_could_not_be_read_is_told_once() {
    check_all(&[
        (
            "let bot : !string -> !string = agent { provider: \"sim\", mcp: { command: } }",
            &["P0101"],
        ),
        (
            "let bot : !string -> !string = agent { provider: \"sim\", tools: [1, ] ] }",
            &["P0702", "P0102"],
        ),
        (
            "let main : !int -> !{ a: int } = plumb(i, o) { i ; map({ a: }) ; o }",
            &["P0101"],
        ),
        (
            "let main : !int -> !{ a: int } = plumb(i, o) { i ; map({ : value }) ; o }",
            &["P0101"],
        ),
        (
            "let main : !{ a: int } -> !int = plumb(i, o) { i ; map(a)) ; o }",
            &["P0101"],
        ),
        (
            "protocol P = send int . recv int . end
             let main : (!int, !int) -> (!int, !int) = plumb(i, j, o, p) {
               (i, o) <-> P as s
               j ; map(null) ; s@trigger
               j ; s@send()
               s@recv(int) ; p
             }",
            &["P0101"],
        ),
        ("let main : !int -> !int = Double", &["P0110"]),
    ]);
}

#[test]
fn what_a_declaration_lacks_is_not_told_where_a_part_of_it_is_missing() {
    check_all(&[
        (
            "let main : (!int, !) -> !int = plumb(i, j, o) { i ; o j ; discard }",
            &["P0101"],
        ),
        (
            "let main : !int -> !int = plumb(i, o) { let c : !int = channel i ; }",
            &["P0115"],
        ),
    ]);
}

#[test]
fn a_session_that_is_not_bound_is_told_once() {
    let body = |bind: &str| {
        format!(
            "use mem
             protocol P = send int . recv int . end
             let main : (!int, !int) -> (!int, !int) = plumb(i, j, o, p) {{
               {bind}
               j ; map(null) ; s@trigger
               j ; s@send(int)
               s@recv(int) ; p
             }}"
        )
    };
    check_all(&[
        (&body("(i, o) <-> P as s"), &[]),
        (&body("i ; o"), &["P0610"]),
        (&body("(i o) <-> P as s"), &["P0102", "P0101"]),
        (&body("(i, o) <-> Nothing as s"), &["P0601"]),
        (&body("(i, o) <-> Memory.Compaction as s"), &["P0203"]),
    ]);
    let starts = |bind: &str| {
        format!(
            "protocol P = recv int . end
             let main : (!int, !int) -> !int = plumb(i, j, o) {{
               {bind}
               i ; map(null) ; s@trigger
               j ; map(null) ; s@trigger
               s@error ; map(0) ; o
             }}"
        )
    };
    check_all(&[
        (&starts(""), &["P0610"]),
        (&starts("(i o) <-> P as s"), &["P0102", "P0101"]),
    ]);
    let near = check(
        "test.plumb",
        &body("(i, o) <-> Mem.Compactoin as s"),
        &BuiltIn,
    );
    let hints = near.diagnostics.iter().map(|one| one.hint.as_deref());
    assert_eq!(
        hints.collect::<Vec<_>>(),
        [Some("Did you mean `Compaction`?")]
    );
}

#[test]
fn the_inner_mistake_explains_the_outer_one() {
    check_all(&[(
        "let f : !{ r: [string] } -> !{ r: [string] } = filter(len(r > 0))",
        &["P0402"],
    )]);
}

#[test]
fn other_mistakes_are_told_beside_it() {
    check_all(&[
        (
            "let main : !int -> !string = plumb(i, o) {
               i ; map({ a: }) ; discard
               i ; map(value + 1) ; o
             }",
            &["P0101", "P0301"],
        ),
        (
            "let f : !int -> !int = map(value +)
             let g : !int -> !string = map(value)",
            &["P0101", "P0301"],
        ),
    ]);
}

/// A text without one of its tokens, or with one twice, is never sound because its diagnostics were left out.
#[test]
fn something_is_always_told() {
    let text = "protocol P = send int . recv int . end
        let main : (!int, !int) -> (!int, !{ a: int }) = plumb(i, j, o, p) {
          (i, o) <-> P as s
          j ; map(null) ; s@trigger
          j ; map({ a: value }).a ; s@send(int)
          s@recv(int) ; filter(value > 3) ; map({ a: value }) ; p
        }";
    let places: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    for pair in places.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let part = |range: std::ops::Range<usize>| text.get(range).expect("spaces are one byte");
        for changed in [
            format!("{}{}", part(0..from), part(to..text.len())),
            format!("{}{}", part(0..to), part(from..text.len())),
        ] {
            let checked = check("test.plumb", &changed, &BuiltIn);
            let read = crate::syntax::parse(crate::span::SourceId(0), &changed).1;
            if let Some(first) = read.first() {
                assert!(codes_of(&checked).contains(&first.code.0), "{changed}");
                assert!(!checked.is_sound(), "{changed}");
            }
        }
    }
}
