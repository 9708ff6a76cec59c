//! Types of streams and of expressions.

use super::check_all;

/// Checks morphisms, each with its signature.
#[track_caller]
fn morphisms(cases: &[(&str, &[&str])]) {
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(text, codes)| (format!("let f : {text}"), *codes))
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    check_all(&cases);
}

#[test]
fn types_as_they_are_written() {
    check_all(&[
        ("type A = int | number", &["P0302"]),
        ("type A = [int] | [string]", &["P0302"]),
        ("type A = { a: int } | { b: int }", &[]),
        ("type A = { a: int } | { a: int, b?: int }", &["P0302"]),
        ("type A = { kind: \"x\" } | { kind: \"y\" }", &[]),
        ("type A = int | int", &["P0302"]),
        ("type A = { a: int, a: int }", &["P0305"]),
        ("let f : int -> !int = id", &["P0304"]),
        ("let f : !!int -> !int = id", &["P0113"]),
    ]);
}

#[test]
fn what_meets_at_a_semicolon() {
    morphisms(&[
        ("!int -> !number = id", &[]),
        ("!number -> !int = id", &["P0301"]),
        ("!int -> !(int | string) = id", &[]),
        ("!(int | string) -> !int = id", &["P0301"]),
        ("!int -> !json = id", &[]),
        ("!json -> !int = id", &[]),
        ("!{ a: json } -> !{ a: int } = id", &[]),
        ("!{ a: int } -> !{ a: int, b?: int } = id", &[]),
        ("!{ a: int, b: int } -> !{ a: int } = id", &["P0301"]),
        ("(!int, !string) -> !(int | string) = merge", &[]),
        ("(!int, !int) -> !int = merge", &[]),
        ("(!int, !number) -> !number = merge", &[]),
        ("(!int, !json) -> !json = merge", &[]),
        ("(![int], ![string]) -> !json = merge", &["P0302"]),
        ("(!int, !string) -> !(int, string) = barrier", &[]),
        (
            "(!int, !string, !bool) -> !(int, string, bool) = barrier",
            &[],
        ),
        ("(!int, !int) -> ![int] = barrier", &[]),
        ("!int -> (!int, !int) = copy", &[]),
        ("!int -> (!int, !int, !int) = copy", &[]),
        ("!int -> () = discard", &[]),
        ("() -> !int = empty", &[]),
        ("!int -> !int = (id ; id) ; id", &[]),
        (
            "(!int, !string) -> (!string, !int) = (map(\"x\") * map(1))",
            &[],
        ),
        ("!(int, string) -> !string = project(1)", &[]),
        ("!int -> !{ tag: \"l\", value: int } = tag(l)", &[]),
        ("!int -> !{ tag: \"m\", value: int } = tag(l)", &["P0301"]),
        ("!int -> !{ tag: string, value: json } = tag(l)", &[]),
    ]);
}

#[test]
fn expressions() {
    morphisms(&[
        ("!{ a: int } -> !int = map(a)", &[]),
        ("!{ a: int } -> !int = map(b)", &["P0401"]),
        ("!string -> !int = map(a)", &["P0401"]),
        ("!{ a: { b: int } } -> !int = map(a.b)", &[]),
        ("!{ a: { b: int } } -> !int = map(a.c)", &["P0401"]),
        ("!{ a: int } -> !{ a: int } = map(value)", &[]),
        ("!{ value: int } -> !int = map(value.value)", &[]),
        (
            "!{ a: int } -> !{ a: int, b: string } = map({ a, b: \"x\" })",
            &[],
        ),
        ("!{ a: int } -> !json = map({ a: 1, a: 2 })", &["P0305"]),
        ("!int -> !int = map(value + 1)", &[]),
        ("!int -> !int = map(value / 2)", &["P0301"]),
        ("!int -> !number = map(value / 2)", &[]),
        ("!int -> !number = map(value * 0.5)", &[]),
        ("!int -> !int = map(-value)", &[]),
        ("!string -> !int = map(value + 1)", &["P0402"]),
        (
            "!int -> !bool = map(value < 3 && value > 1 || not (value = 2))",
            &[],
        ),
        ("!string -> !bool = map(value < \"m\")", &[]),
        ("!string -> !bool = map(value < 3)", &["P0402"]),
        ("!string -> !bool = map(value = 3)", &["P0408"]),
        ("!int -> !bool = map(value && true)", &["P0402"]),
        (
            "!int -> !string = map(if value > 1 then \"many\" else \"one\")",
            &[],
        ),
        (
            "!int -> !(string | int) = map(if value > 1 then \"many\" else 1)",
            &[],
        ),
        (
            "!int -> !json = map(if value > 1 then [1] else [\"a\"])",
            &[],
        ),
        (
            "![int] -> !json = map(if len(value) > 1 then value else [\"a\"])",
            &[],
        ),
        (
            "!{ a: [int], b: [string] } -> !json = map(if len(a) > 1 then a else b)",
            &["P0405"],
        ),
        ("!string -> !int = map(len(value))", &[]),
        ("!int -> !int = map(len(value))", &["P0402"]),
        ("!string -> !bool = map(contains(value, \"a\"))", &[]),
        ("![int] -> !bool = map(contains(value, 1))", &[]),
        ("![int] -> !bool = map(contains(value, \"a\"))", &["P0408"]),
        ("![int] -> !int = map([1, 2, 3])", &["P0301"]),
        ("!int -> ![int] = map([1, value, 3])", &[]),
        ("!int -> !(int, string) = map([1, \"a\"])", &[]),
        ("!(int, string) -> !string = map(value.1)", &[]),
        ("!(int, string) -> !string = map(value.2)", &["P0401"]),
        ("!int -> !int = map(99999999999999999999)", &["P0301"]),
    ]);
}

#[test]
fn what_may_be_missing_is_asked_for_first() {
    let given = "!{ a?: int, b: int } -> ";
    let cases: &[(&str, &[&str])] = &[
        ("!int = map(a)", &["P0403"]),
        ("!int = map(if defined(a) then a else b)", &[]),
        ("!int = map(if defined(a) then b else a)", &["P0403"]),
        ("!int = map(if not defined(a) then b else a)", &[]),
        ("!bool = map(defined(a) && a > 1)", &[]),
        ("!bool = map(a > 1 && defined(a))", &["P0403"]),
        ("!bool = map(not defined(a) || a > 1)", &[]),
        ("!bool = map(defined(a) || a > 1)", &["P0403"]),
        (
            "!int = map(if defined(value.a) && b > 1 then a else b)",
            &[],
        ),
        ("!bool = map(defined(b + 1))", &["P0407"]),
        ("!bool = map(defined(value))", &["P0407"]),
        ("!bool = map(defined(c))", &["P0401"]),
        ("!{ a?: int, b: int } = filter(a > 1)", &["P0403"]),
        ("!{ a: int, b: int } = filter(defined(a))", &[]),
        ("!int = filter(defined(a) && b > 1).a", &[]),
        ("!int = id.a", &["P0403"]),
    ];
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(text, codes)| (format!("{given}{text}"), *codes))
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    morphisms(&cases);
}

#[test]
fn a_field_that_is_missing_says_nothing_of_what_leads_to_it() {
    let given = "!{ x?: { kind: \"a\", p: int } | { q: int } } -> ";
    let cases: &[(&str, &[&str])] = &[
        (
            "!{ x: { q: int } } = filter(not defined(x.kind))",
            &["P0301"],
        ),
        (
            "!{ x?: { kind: \"a\", p: int } | { q: int } } = filter(not defined(x.kind))",
            &[],
        ),
        (
            "!{ x: { q: int } } = filter(defined(x) && not defined(x.kind))",
            &[],
        ),
        (
            "!{ x: { q: int } } = filter(not defined(x.kind) && defined(x.q))",
            &[],
        ),
        (
            "!{ x: { kind: \"a\", p: int } } = filter(defined(x.kind))",
            &[],
        ),
        ("!int = map(if defined(x.kind) then 0 else x.q)", &["P0403"]),
        ("!int = map(if not defined(x.kind) then 0 else x.p)", &[]),
        // What is there has all that leads to it.
        ("!int = map(if defined(x.q) then x.q else 0)", &[]),
        (
            "!int = map(if defined(x.p) || defined(x.q) then 1 else 0)",
            &[],
        ),
        ("!bool = map(defined(x.q) && x.q > 1)", &[]),
    ];
    let deep = "!{ x?: { y?: { z?: int } } } -> ";
    let more: &[(&str, &[&str])] = &[
        ("!int = map(if defined(x.y.z) then x.y.z else 0)", &[]),
        ("!{ x: { y: { z: int } } } = filter(defined(x.y.z))", &[]),
        ("!{ y?: { z?: int } } = filter(defined(x.y)).x", &[]),
        (
            "!{ y?: { z?: int } } = filter(not defined(x.y)).x",
            &["P0403"],
        ),
        ("!int = map(if defined(x.y) then x.y.z else 0)", &["P0403"]),
    ];
    let all = [(given, cases), (deep, more)];
    let texts: Vec<(String, &[&str])> = all
        .iter()
        .flat_map(|(given, cases)| {
            cases
                .iter()
                .map(move |(text, codes)| (format!("{given}{text}"), *codes))
        })
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    morphisms(&cases);
}

#[test]
fn fields_have_any_name_in_quotes() {
    let given = "!{ \"content-type\": string, \"Accept\"?: int, a: int } -> ";
    let cases: &[(&str, &[&str])] = &[
        ("!string = id.\"content-type\"", &[]),
        ("!string = map(value.\"content-type\")", &[]),
        ("!int = map(value.\"Accept\")", &["P0403"]),
        (
            "!int = map(if defined(value.\"Accept\") then value.\"Accept\" else \"a\" )",
            &["P0301"],
        ),
        (
            "!int = map(if defined(value.\"Accept\") then value.\"Accept\" else a)",
            &[],
        ),
        ("!{ \"x y\": int } = map({ \"x y\": a })", &[]),
        ("!{ b: int } = map({ \"b\": a })", &[]),
        ("!json = map({ \"x y\" })", &["P0101"]),
        ("!int = id.\"content\"", &["P0401"]),
    ];
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(text, codes)| (format!("{given}{text}"), *codes))
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    morphisms(&cases);
}

#[test]
fn filters_select() {
    let sum = "!({ done: bool, text: string } | { score: int, text: string }) -> ";
    let tags = "!({ tag: \"a\", value: int } | { tag: \"b\", value: string }) -> ";
    let cases: Vec<(String, &[&str])> = vec![
        (
            format!("{sum}!{{ score: int, text: string }} = filter(score > 3)"),
            &[],
        ),
        (format!("{sum}!int = filter(score > 3).score"), &[]),
        (format!("{sum}!string = id.text"), &[]),
        (format!("{sum}!int = id.score"), &["P0403"]),
        (format!("{sum}!int = map(score)"), &["P0403"]),
        (format!("{sum}!bool = filter(not done).done"), &[]),
        (
            format!("{sum}!int = map(if defined(score) then score else 0)"),
            &[],
        ),
        (
            format!("{sum}!string = map(if defined(score) then text else value.text)"),
            &[],
        ),
        (format!("{sum}!json = filter(missing = 1)"), &["P0401"]),
        (
            format!("{sum}!int = filter(score > 3 || done).score"),
            &["P0401"],
        ),
        (
            format!("{sum}!string = filter(text = \"x\" && (score > 3 || text = \"y\")).text"),
            &[],
        ),
        (format!("{tags}!int = filter(tag = \"a\").value"), &[]),
        (format!("{tags}!string = filter(tag != \"a\").value"), &[]),
        (
            format!("{tags}!string = filter(tag = \"c\").value"),
            &["P0408"],
        ),
        (format!("{tags}!(int | string) = map(value.value)"), &[]),
        (
            format!("{tags}!int = map(if tag = \"a\" then value.value else 0)"),
            &[],
        ),
        (
            "!(int | string) -> !int = filter(is(value, int))".to_owned(),
            &[],
        ),
        (
            "!(int | string) -> !int = map(if is(value, int) then value else len(value))"
                .to_owned(),
            &[],
        ),
        (
            "!(int | string) -> !int = filter(is(value, bool))".to_owned(),
            &["P0409"],
        ),
        (
            "!json -> !{ a: int } = filter(is(value, { a: int }))".to_owned(),
            &[],
        ),
        (
            "!json -> !int = filter(is(value, Nothing))".to_owned(),
            &["P0202"],
        ),
        (
            "!json -> !json = filter(kind = \"usage\" && tokens > 100)".to_owned(),
            &[],
        ),
        (
            "!json -> !json = map({ a: b.c.d, e: f + 1 })".to_owned(),
            &[],
        ),
        (
            "!json -> !int = filter(kind = \"usage\").tokens".to_owned(),
            &[],
        ),
        ("!int -> !int = filter(value + 1)".to_owned(), &["P0404"]),
        ("!{ a: json } -> !{ a: json } = filter(a)".to_owned(), &[]),
    ];
    let cases: Vec<(&str, &[&str])> = cases
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    morphisms(&cases);
}

#[test]
fn what_is_too_large() {
    let mut doubled = "type T0 = int\n".to_owned();
    for number in 1..20 {
        let before = number - 1;
        doubled += &format!("type T{number} = (T{before}, T{before})\n");
    }
    let pairs = "let f : !int -> !json = ".to_owned() + &["map([value, value])"; 20].join(" ; ");
    let wide: Vec<String> = (0..600).map(|number| format!("\"l{number}\"")).collect();
    let wide = format!("type A = {}", wide.join(" | "));
    check_all(&[
        (&doubled, &["P0306"]),
        (&pairs, &["P0306"]),
        (&wide, &["P0306"]),
    ]);
}

#[test]
fn a_long_test_is_no_work() {
    let test = ["a = 1", "b = \"x\"", "defined(c)"].join(" || ");
    let tests = [test.as_str(); 30].join(" || ");
    let given = "!({ a: int, b: string, c?: int } | { a: int, b: string, d: int })";
    morphisms(&[(&format!("{given} -> !json = filter({tests})"), &[])]);
}

#[test]
fn loops_have_a_type() {
    check_all(&[
        (
            "let main : !int -> !int = plumb(i, o) {
               (i * again) ; merge ; filter(value < 9) ; copy ; ((map(value + 1) ; again) * o)
             } let again : !int -> !int = id",
            &[],
        ),
        (
            "let main : !int -> !int = plumb(i, o) {
               (i * again) ; merge ; filter(value < 9) ; copy ; (again * o)
             } let again : !int -> !int = map(value + 1)",
            &[],
        ),
        (
            "let main : !int -> !int = plumb(i, o) {
               let c : !json = channel
               i ; c  c ; map([value]) ; filter(len(value) < 3) ; c  c ; o
             }",
            &[],
        ),
    ]);
}
