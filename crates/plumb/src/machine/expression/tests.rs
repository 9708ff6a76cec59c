//! Expressions, evaluated.

use std::sync::Arc;

use super::*;
use crate::machine::record::Names;
use crate::types::Type;

fn value(text: &str) -> Value {
    Value::parse(text).unwrap()
}

fn lit(text: &str) -> Op {
    Op::Constant(value(text))
}

fn field(name: &str) -> Op {
    Op::Field(Box::new(Op::Message), name.into())
}

fn binary(operator: Binary, one: Op, two: Op) -> Op {
    Op::Binary(operator, Box::new(one), Box::new(two))
}

/// The result of an expression for a message, or why it has none.
fn shown(op: &Op, message: &str) -> String {
    let expression = Expression::new(op, 64, &Names::default()).unwrap();
    let message = value(message);
    match expression.get(&message, &mut 0) {
        Ok(value) => value.to_string(),
        Err(stop) => stop.detail(),
    }
}

#[track_caller]
fn check(op: &Op, message: &str, expected: &str) {
    assert_eq!(shown(op, message), expected);
}

#[track_caller]
fn reckon(one: &str, operator: Binary, two: &str, expected: &str) {
    // Once as constants and once as parts of the message.
    check(&binary(operator, lit(one), lit(two)), "null", expected);
    let parts = |at| Op::Part(Box::new(Op::Message), at);
    check(
        &binary(operator, parts(0), parts(1)),
        &format!("[{one},{two}]"),
        expected,
    );
}

const LARGE: &str = "the number is too large to reckon with";

#[test]
fn arithmetic() {
    use Binary::{Minus, Over, Plus, Times};
    reckon("2", Plus, "3", "5");
    reckon("2", Plus, "0.5", "2.5");
    reckon("2", Times, "3", "6");
    reckon("7", Over, "2", "3.5");
    reckon("6", Over, "2", "3.0");
    reckon("1", Over, "0", "division by zero");
    reckon("1", Over, "0.0", "division by zero");
    reckon("9223372036854775807", Plus, "1", LARGE);
    reckon("-9223372036854775808", Minus, "1", LARGE);
    reckon("9223372036854775807", Times, "2", LARGE);
    reckon("9223372036854775808", Minus, "1", LARGE);
    reckon("1e308", Times, "10", LARGE);
    reckon("1e400", Plus, "1", LARGE);
    reckon("\"a\"", Plus, "\"b\"", "\"ab\"");
    reckon("\"a\"", Plus, "1", "expected a number, found a string");
    reckon("null", Times, "1", "expected a number, found null");
    check(&Op::Unary(Unary::Minus, Box::new(Op::Message)), "5", "-5");
    check(
        &Op::Unary(Unary::Minus, Box::new(Op::Message)),
        "-9223372036854775808",
        LARGE,
    );
    let large = "9223372036854775808";
    check(
        &Op::Unary(Unary::Minus, Box::new(Op::Message)),
        large,
        "-9223372036854775808",
    );
}

#[test]
fn comparisons() {
    use Binary::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
    reckon("1", Less, "2", "true");
    reckon("1", AtMost, "1.0", "true");
    reckon("1", Greater, "1.0", "false");
    reckon("1e400", AtLeast, "1", "true");
    reckon("\"a\"", Less, "\"b\"", "true");
    reckon(
        "\"a\"",
        Less,
        "1",
        "expected a string, found a whole number",
    );
    reckon("1", Less, "\"a\"", "expected a number, found a string");
    reckon("true", Less, "1", "expected a number, found a boolean");
    reckon("1", Equal, "1.0", "true");
    reckon("1", Equal, "\"1\"", "false");
    reckon("{\"a\":1,\"b\":2}", Equal, "{\"b\":2.0,\"a\":1}", "true");
    reckon("[1]", Unequal, "[2]", "true");
}

#[test]
fn conditions_are_lazy() {
    let missing = || binary(Binary::Greater, field("x"), lit("1"));
    check(&binary(Binary::And, lit("false"), missing()), "{}", "false");
    check(&binary(Binary::Or, lit("true"), missing()), "{}", "true");
    check(
        &binary(Binary::And, lit("true"), missing()),
        "{}",
        "the message has no field `x`",
    );
    let choice = Op::If(
        Box::new(Op::Message),
        Box::new(lit("1")),
        Box::new(field("x")),
    );
    check(&choice, "true", "1");
    check(&choice, "false", "expected a record, found a boolean");
    check(&choice, "1", "expected a boolean, found a whole number");
    check(
        &Op::Unary(Unary::Not, Box::new(Op::Message)),
        "true",
        "false",
    );
}

#[test]
fn fields_and_parts() {
    let inner = Op::Field(Box::new(field("a")), "b".into());
    check(&inner, r#"{"a":{"b":7}}"#, "7");
    check(&inner, r#"{"a":{}}"#, "the message has no field `b`");
    check(
        &inner,
        r#"{"a":1}"#,
        "expected a record, found a whole number",
    );
    let made = Op::Field(
        Box::new(Op::Record(vec![("k".into(), Op::Message)])),
        "k".into(),
    );
    check(&made, "5", "5");
    check(&Op::Part(Box::new(Op::Message), 1), "[1,2]", "2");
    check(
        &Op::Part(Box::new(Op::Message), 2),
        "[1,2]",
        "the message has no part 2",
    );
    let list = Op::List(vec![field("a"), lit("2")]);
    check(&Op::Part(Box::new(list), 0), r#"{"a":"x"}"#, "\"x\"");
}

#[test]
fn a_field_is_found_wherever_it_stands() {
    let expression = Expression::new(&field("x"), 64, &Names::default()).unwrap();
    for message in [
        r#"{"x":1}"#,
        r#"{"a":0,"x":1}"#,
        r#"{"a":0,"b":0,"x":1}"#,
        r#"{"x":1,"a":0}"#,
    ] {
        let message = value(message);
        assert_eq!(expression.get(&message, &mut 0).unwrap().to_string(), "1");
    }
}

#[test]
fn functions() {
    check(&Op::Len(Box::new(Op::Message)), "\"häß\"", "3");
    check(&Op::Len(Box::new(Op::Message)), "[1,2]", "2");
    check(
        &Op::Len(Box::new(Op::Message)),
        "{}",
        "expected a string or a list, found a record",
    );
    let contains = |whole, part| Op::Contains(Box::new(lit(whole)), Box::new(lit(part)));
    check(&contains("\"abc\"", "\"bc\""), "null", "true");
    check(&contains("[1,2.0]", "2"), "null", "true");
    check(
        &contains("\"abc\"", "1"),
        "null",
        "expected a string, found a whole number",
    );
    check(
        &contains("1", "1"),
        "null",
        "expected a string or a list, found a whole number",
    );
    let defined = Op::Defined(Box::new(Op::Field(Box::new(field("a")), "b".into())));
    check(&defined, r#"{"a":{"b":null}}"#, "true");
    check(&defined, r#"{"a":{}}"#, "false");
    check(&defined, r#"{"a":3}"#, "false");
    let defined = Op::Defined(Box::new(binary(Binary::Over, field("a"), lit("0"))));
    check(&defined, r#"{"a":3}"#, "division by zero");
    check(
        &Op::Is(Box::new(field("a")), Type::Text),
        r#"{"a":"x"}"#,
        "true",
    );
    check(
        &Op::Is(Box::new(field("a")), Type::Text),
        r#"{"a":1}"#,
        "false",
    );
}

#[test]
fn what_reads_no_message_is_computed_once() {
    let constant = |op: &Op| {
        matches!(
            Expression::new(op, 64, &Names::default()),
            Some(Expression::Constant(_))
        )
    };
    assert!(constant(&binary(Binary::Plus, lit("1"), lit("2"))));
    assert!(constant(&Op::Record(vec![("a".into(), lit("1"))])));
    assert!(!constant(&binary(Binary::Over, lit("1"), lit("0"))));
    assert!(!constant(&binary(Binary::Plus, Op::Message, lit("2"))));
}

#[test]
fn depth_has_an_end() {
    let deep = |depth| (0..depth).fold(Op::Message, |op, _| Op::Len(Box::new(op)));
    assert!(Expression::new(&deep(63), 64, &Names::default()).is_some());
    assert!(Expression::new(&deep(64), 64, &Names::default()).is_none());
}

#[test]
fn types_are_tested_whole() {
    let field = |name: &str, presence, kind| crate::types::Field {
        name: name.into(),
        presence,
        kind,
    };
    use crate::types::Presence::{Optional, Required};
    let fields = [
        field("a", Required, Type::Int),
        field("b", Optional, Type::Text),
    ];
    let kind = Type::Sum(Arc::new([
        Type::Record(Arc::new(fields)),
        Type::Literal("x".into()),
    ]));
    let is = Op::Is(Box::new(Op::Message), kind);
    for (message, expected) in [
        (r#"{"a":1}"#, "true"),
        (r#"{"b":"t","a":1}"#, "true"),
        (r#"{"a":1,"b":null}"#, "false"),
        (r#"{"a":1,"c":2}"#, "false"),
        (r#"{"a":1.5}"#, "false"),
        (r#"{"a":9223372036854775807}"#, "true"),
        (r#"{"a":9223372036854775808}"#, "false"),
        ("\"x\"", "true"),
        ("\"y\"", "false"),
    ] {
        check(&is, message, expected);
    }
}
