//! Subtyping, disjointness and joins, on types written by hand.

use super::*;

fn text(literal: &str) -> Type {
    Type::Literal(literal.into())
}

fn record(fields: &[(&str, Type)]) -> Type {
    let field = |(name, kind): &(&str, Type)| match name.strip_suffix('?') {
        Some(name) => Field {
            presence: Presence::Optional,
            ..Field::required(name, kind.clone())
        },
        None => Field::required(name, kind.clone()),
    };
    Type::record(fields.iter().map(field).collect())
}

fn list(item: Type) -> Type {
    Type::List(Arc::new(item))
}

fn product(parts: &[Type]) -> Type {
    Type::Product(parts.into())
}

fn sum(parts: &[Type]) -> Type {
    Type::Sum(parts.into())
}

#[test]
fn what_fits_where() {
    use Fit::{Always, Checked, Never};
    use Type::{Bool, Int, Json, Number, Text, Unit, Unknown};
    let ab = record(&[("a", Int), ("b", Text)]);
    let a_b = record(&[("a", Int), ("b?", Text)]);
    let cases = [
        (Int, Number, Always),
        (Number, Int, Never),
        (text("x"), Text, Always),
        (Text, text("x"), Never),
        (text("x"), text("y"), Never),
        (Text, Json, Always),
        (Json, Text, Checked),
        (Unit, Bool, Never),
        (Unknown, Bool, Always),
        (Type::never(), Bool, Always),
        (ab.clone(), a_b.clone(), Always),
        (a_b.clone(), ab.clone(), Never),
        (record(&[("a", Int)]), a_b, Always),
        (ab.clone(), record(&[("a", Int)]), Never),
        (record(&[("b", Text), ("a", Int)]), ab.clone(), Always),
        (record(&[("a", Json), ("b", Text)]), ab.clone(), Checked),
        (Int, sum(&[Text, Number]), Always),
        (sum(&[Text, Int]), sum(&[Number, Text]), Always),
        (sum(&[Text, Int]), Text, Never),
        (sum(&[Text, ab]), Json, Always),
        (product(&[Int, Int]), list(Number), Always),
        (product(&[Int, Text]), list(Number), Never),
        (product(&[]), list(Number), Always),
        (list(Int), product(&[Int]), Never),
        (product(&[Json, Int]), product(&[Text, Number]), Checked),
        (product(&[Int]), product(&[Int, Int]), Never),
        (list(Json), list(Int), Checked),
    ];
    for (from, to, fit) in cases {
        assert_eq!(fits(&from, &to), fit, "{from} into {to}");
    }
}

#[test]
fn what_is_disjoint() {
    use Type::{Int, Json, Number, Text, Unit};
    let cases = [
        (Int, Number, Some("0")),
        (Int, Text, None),
        (Unit, Json, Some("null")),
        (text("x"), text("y"), None),
        (text("x"), Text, Some("\"x\"")),
        (list(Int), list(Text), Some("[]")),
        (product(&[Int, Text]), list(Text), None),
        (product(&[Text, Text]), list(Text), Some("[\"\", \"\"]")),
        (record(&[("a", Int)]), record(&[("b", Int)]), None),
        (record(&[("a?", Int)]), record(&[("b?", Int)]), Some("{}")),
        (record(&[("a", Int)]), record(&[("a", Text)]), None),
        (record(&[("a?", Int)]), record(&[("a?", Text)]), Some("{}")),
        (
            record(&[("tag", text("l"))]),
            record(&[("tag", text("m"))]),
            None,
        ),
        (
            record(&[("a", Int)]),
            record(&[("a", Number), ("b?", Int)]),
            Some("{\"a\": 0}"),
        ),
    ];
    for (a, b, witness) in cases {
        assert_eq!(overlap(&a, &b).as_deref(), witness, "{a} and {b}");
        assert_eq!(overlap(&b, &a).is_some(), witness.is_some(), "{b} and {a}");
    }
}

#[test]
fn what_two_streams_become() {
    use Type::{Int, Json, Number, Text, Unknown};
    let a = record(&[("a", Int)]);
    let b = record(&[("b", Int)]);
    let cases = [
        (Int, Number, Some(Number)),
        (Int, Text, Some(sum(&[Int, Text]))),
        (sum(&[Int, Text]), Number, Some(sum(&[Text, Number]))),
        (Json, Text, Some(Json)),
        (Unknown, Text, Some(Text)),
        (Type::never(), Text, Some(Text)),
        (a.clone(), b.clone(), Some(sum(&[a.clone(), b.clone()]))),
        (list(Int), list(Text), None),
        (
            sum(&[a.clone(), Text]),
            sum(&[b.clone(), Text]),
            Some(sum(&[a, Text, b])),
        ),
    ];
    for (a, b, joined) in cases {
        assert_eq!(join(&a, &b).ok(), joined, "{a} and {b}");
    }
}

#[test]
fn a_misfit_names_the_part() {
    use Type::{Int, Text};
    let cases = [
        (
            record(&[("a", Int)]),
            record(&[("a", Text)]),
            "field `a` is `int`, expected `string`",
        ),
        (record(&[]), record(&[("a", Text)]), "field `a` is missing"),
        (
            record(&[("a?", Int)]),
            record(&[("a", Int)]),
            "field `a` may be missing",
        ),
        (
            record(&[("b", Int)]),
            record(&[]),
            "field `b` is not wanted",
        ),
        (
            record(&[("a", record(&[("c", Int)]))]),
            record(&[("a", record(&[("c", Text)]))]),
            "in field `a`: field `c` is `int`, expected `string`",
        ),
        (sum(&[Int, Text]), Int, "the variant `string` does not fit"),
        (
            product(&[Int]),
            product(&[Int, Int]),
            "expected 2 parts, found 1",
        ),
    ];
    for (from, to, said) in cases {
        assert_eq!(misfit(&from, &to).as_deref(), Some(said));
    }
}

#[test]
fn a_type_has_an_end() {
    let mut wide = Type::Int;
    for _ in 0..12 {
        wide = product(&[wide.clone(), wide]);
    }
    assert_eq!(measured(&wide), None);
    let mut deep = Type::Int;
    for _ in 0..200 {
        deep = list(deep);
    }
    assert_eq!(measured(&deep), None);
    assert_eq!(measured(&record(&[("a", list(Type::Int))])), Some(3));
}
