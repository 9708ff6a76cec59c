//! Names and modules.

use super::{check_all, codes_of};

#[test]
fn names_that_mean_nothing_or_two_things() {
    check_all(&[
        ("type A = B", &["P0202"]),
        ("type A = Mem.Pause", &[]),
        ("use mem type A = Mem.Pause", &[]),
        ("use mem type A = Mem.Paws", &["P0202"]),
        ("type A = Pause", &[]),
        ("use nowhere", &["P0203"]),
        ("type A = Nowhere.Pause", &["P0203"]),
        (
            "use nowhere type A = Nowhere.T let f : !A -> !int = Nowhere.f",
            &["P0203"],
        ),
        ("use Nowhere", &["P0110"]),
        (
            "let f : !int -> !int = plumb(i, o) { i ; o spawn map(i, o) }",
            &["P0111"],
        ),
        ("type A = int type A = string", &["P0205"]),
        (
            "let f : !int -> !int = id let f : !int -> !int = id",
            &["P0205"],
        ),
        ("type A = { x: A }", &["P0303"]),
        ("type A = [B] type B = A | string", &["P0303"]),
        ("type A = B type B = C type C = int", &[]),
        ("let f : !int -> !int = f", &["P0206"]),
        (
            "let f : !int -> !int = g let g : !int -> !int = id ; f",
            &["P0206"],
        ),
        (
            "let f : !int -> !int = plumb(i, o) { i ; f ; o }",
            &["P0206"],
        ),
    ]);
}

#[test]
fn modules_have_members_and_no_circles() {
    let modules = |name: &str| -> Option<String> {
        let text = match name {
            "shapes" => {
                "use sizes  type Point = { x: Size, y: Size }  let flip : !Point -> !Point = map({x: y, y: x})"
            }
            "sizes" => "type Size = int",
            "a" => "use b",
            "b" => "use a",
            "faulty" => "type T = Nothing",
            _ => return None,
        };
        Some(text.to_owned())
    };
    let cases: &[(&str, &[&str])] = &[
        (
            "use shapes let main : !Shapes.Point -> !Point = Shapes.flip",
            &[],
        ),
        ("use shapes let main : !Point -> !Point = flip", &["P0201"]),
        ("use shapes let main : !Size -> !int = id", &["P0202"]),
        ("use a", &["P0204"]),
        ("use faulty", &["P0202"]),
        ("use shapes use shapes type T = Point", &[]),
    ];
    for (text, codes) in cases {
        let checked = crate::check::check("test.plumb", text, &modules);
        assert_eq!(codes_of(&checked), *codes, "{text}");
        if checked.is_sound()
            && let Some(graph) = checked.graph("main")
        {
            super::well_formed(&graph);
        }
    }
}

#[test]
fn processes_of_mem_have_graphs_though_nothing_names_them() {
    let checked = crate::check::check("test.plumb", "", &crate::modules::BuiltIn);
    for name in ["Mem.prepared", "Mem.stop_the_world"] {
        let graph = checked.graph(name).expect("a graph");
        assert_eq!(&*graph.name, name);
        super::well_formed(&graph);
    }
    assert_eq!(checked.graph("Mem.nothing"), None);
}

#[test]
fn what_is_half_written_is_there_nevertheless() {
    check_all(&[
        (
            "let f : !int -> !int = plumb(i, o) { let c : !int = i ; c  c ; o  c ; discard }",
            &["P0101"],
        ),
        (
            "let f : !int -> !int = plumb(i, o) { let c : !int channel  i ; c  c ; o }",
            &["P0101"],
        ),
        (
            "let f : !int -> !int = plumb(i, o) { let c  i ; c  c ; o }",
            &["P0101"],
        ),
        (
            "type V = { a: , b: int } let f : !V -> !V = filter(a && b > 3)",
            &["P0101"],
        ),
        (
            "type V = { b: int, a: } let f : !V -> !V = filter(a && b > 3)",
            &["P0101"],
        ),
    ]);
}

#[test]
fn a_type_says_through_which_others_it_is_a_part_of_itself() {
    let text = "type A = R type R = { y: Y } type Y = [R]";
    let checked = crate::check::check("test.plumb", text, &crate::modules::BuiltIn);
    let told: Vec<&str> = checked
        .diagnostics
        .iter()
        .map(|one| &*one.message)
        .collect();
    assert_eq!(told, ["`R` is a part of itself: R → Y → R"]);
}

#[test]
fn a_slip_of_the_fingers_is_recognised() {
    let cases = [
        (
            "let f : !{ a: { b?: int } } -> !bool = map(a.b > 3)",
            "Ask first: `if defined(a.b) then … else …`, or let a `filter` drop what lacks it.",
        ),
        (
            "let f : !({ b?: int }, int) -> !bool = map(value.0.b > 3)",
            "Ask first: `if defined(value.0.b) then … else …`, or let a `filter` drop what lacks it.",
        ),
        (
            "use nowhere",
            "Put `nowhere.plumb` beside the program, or its folder on the search path.",
        ),
        (
            "type Verdict = int type A = Verdcit",
            "Did you mean `Verdict`?",
        ),
        ("type A = strng", "Did you mean `string`?"),
        (
            "let judge : !int -> !int = id let f : !int -> !int = jugde",
            "Did you mean `judge`?",
        ),
        (
            "let f : !{ topic: string } -> !string = map(topci)",
            "Did you mean `topic`?",
        ),
        (
            "use mem let f : !MemoryDump -> !SetMemory = compressor",
            "Did you mean `Mem.compressor`?",
        ),
        (
            "let a : !string -> !string = agent { provder: \"sim\" }",
            "Did you mean `provider`?",
        ),
        (
            "let a : !string -> !string = agent { provider: \"anthropc\" }",
            "Did you mean \"anthropic\"?",
        ),
    ];
    for (text, hint) in cases {
        let checked = crate::check::check("test.plumb", text, &crate::modules::BuiltIn);
        let hints: Vec<&str> = checked
            .diagnostics
            .iter()
            .filter_map(|one| one.hint.as_deref())
            .collect();
        assert_eq!(hints, [hint], "{text}");
    }
}

#[test]
fn a_name_that_two_modules_define_is_asked_for_by_its_module() {
    let modules = |name: &str| -> Option<String> {
        let text = match name {
            "one" => "type T = { a: int }  type Same = int  protocol P = send int . end",
            "two" => "type T = { b: int }  type Same = int  protocol P = recv int . end",
            _ => return None,
        };
        Some(text.to_owned())
    };
    let bound = |protocol: &str| {
        format!(
            "use one use two let main : (!int, !int) -> !int = plumb(i, go, o) {{
               (i, o) <-> {protocol} as s  go ; s@trigger  go ; s@send(int)
             }}"
        )
    };
    let cases: Vec<(String, &[&str])> = vec![
        ("use one use two type A = T".to_owned(), &["P0207"]),
        ("use one use two type A = One.T".to_owned(), &[]),
        ("use one use two type T = int type A = T".to_owned(), &[]),
        ("use one type A = T".to_owned(), &[]),
        // Both mean the same.
        ("use one use two type A = Same".to_owned(), &[]),
        (bound("One.P"), &[]),
        (bound("P"), &["P0207"]),
    ];
    for (text, codes) in cases {
        let checked = crate::check::check("test.plumb", &text, &modules);
        assert_eq!(codes_of(&checked), codes, "{text}");
    }
}
