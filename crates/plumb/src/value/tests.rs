//! Messages: JSON in and out, order, equality.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;

fn value(text: &str) -> Value {
    Value::parse(text).unwrap()
}

#[track_caller]
fn check(text: &str, printed: &str) {
    let read = value(text);
    assert_eq!(read.to_string(), printed);
    assert_eq!(value(printed), read, "printed and read again");
    let through_serde: Value = serde_json::from_str(text).unwrap();
    assert_eq!(through_serde, read, "read through serde");
    assert_eq!(
        serde_json::to_string(&read).unwrap(),
        serde_json_form(printed)
    );
}

/// `serde_json` writes `1e+20` where Rust writes `1e20`.
fn serde_json_form(text: &str) -> String {
    let value: serde_json::Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => return text.to_owned(),
    };
    match value.as_f64() {
        Some(number) if text == format!("{number:?}") => value.to_string(),
        _ => text.to_owned(),
    }
}

#[test]
fn json_comes_out_as_it_went_in() {
    check("null", "null");
    check(" [ true , false ] ", "[true,false]");
    check(r#"{"b":1,"a":{"c":[]}}"#, r#"{"b":1,"a":{"c":[]}}"#);
    check(r#""\u0041\ud83d\ude00\n\u0001\/""#, "\"A😀\\n\\u0001/\"");
    check("-9223372036854775808", "-9223372036854775808");
    check("9223372036854775808", "9223372036854775808");
    check(
        "123456789012345678901234567890",
        "123456789012345678901234567890",
    );
    check("0.1", "0.1");
    check("1.50", "1.5");
    check("1E2", "100.0");
    check("1e400", "1e400");
    check(
        "0.1000000000000000055511151231257827",
        "0.1000000000000000055511151231257827",
    );
    check("9007199254740993.0", "9007199254740993.0");
    check("1e-400", "1e-400");
    check("0e5", "0.0");
}

#[test]
fn the_last_of_equal_names_counts() {
    check_duplicates(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#);
    let many: Vec<String> = (0..20).map(|at| format!("\"k{}\":{at}", at % 10)).collect();
    let kept: Vec<String> = (0..10).map(|at| format!("\"k{at}\":{}", at + 10)).collect();
    check_duplicates(
        &format!("{{{}}}", many.join(",")),
        &format!("{{{}}}", kept.join(",")),
    );
}

fn check_duplicates(text: &str, kept: &str) {
    assert_eq!(value(text).to_string(), kept);
}

#[test]
fn what_is_not_json_is_refused() {
    use JsonErrorKind::{Control, End, Escape, Number, Unexpected};
    for (text, at, kind) in [
        ("", 0, End),
        ("[1,", 3, End),
        ("[1 2]", 3, Unexpected('2')),
        ("{\"a\" 1}", 5, Unexpected('1')),
        ("{a:1}", 1, Unexpected('a')),
        ("nul", 3, End),
        ("01", 1, Unexpected('1')),
        ("1.", 2, Number),
        ("-", 1, Number),
        ("\"\\x\"", 1, Escape),
        ("\"\\ud800\"", 1, Escape),
        ("\"a\nb\"", 2, Control),
        ("1 2", 2, Unexpected('2')),
        ("é", 0, Unexpected('é')),
    ] {
        assert_eq!(Value::parse(text), Err(JsonError { at, kind }), "{text}");
    }
}

#[test]
fn several_values_stand_in_one_text() {
    let all: Result<Vec<_>, _> = Value::parse_all("1 \"a\"\n{}[2]null").collect();
    let texts: Vec<_> = all.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["1", "\"a\"", "{}", "[2]", "null"]);
    assert_eq!(Value::parse_all("1 } 2").filter(Result::is_ok).count(), 1);
}

#[test]
fn depth_and_weight_have_an_end() {
    let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(value(&deep(128)).depth(), 128);
    for depth in [129, 100_000] {
        let refused = Value::parse(&deep(depth)).unwrap_err();
        assert_eq!(refused.kind, JsonErrorKind::Oversize(Oversize));
    }
    let mut doubled = Value::text("x".repeat(1 << 20));
    let mut times = 0;
    while let Ok(next) = Value::list(vec![doubled.clone(), doubled.clone()]) {
        doubled = next;
        times += 1;
    }
    assert_eq!(
        times, 5,
        "1 MiB doubled is 32 MiB, and with the brackets 64 are too much"
    );
}

#[test]
fn numbers_compare_by_what_they_are_worth() {
    for (one, two, order) in [
        ("1", "1.0", Ordering::Equal),
        ("9007199254740993", "9007199254740992.0", Ordering::Greater),
        ("1e400", "1e399", Ordering::Greater),
        ("-1e400", "5", Ordering::Less),
        ("1e400", "10e399", Ordering::Equal),
        ("0.0", "-0.0", Ordering::Equal),
        (
            "18446744073709551616",
            "9223372036854775807",
            Ordering::Greater,
        ),
        (
            "-18446744073709551616",
            "-9223372036854775807",
            Ordering::Less,
        ),
        ("0.12", "0.1200000000000000000000000001", Ordering::Less),
    ] {
        assert_eq!(
            value(one).compare_numbers(&value(two)),
            Some(order),
            "{one} {two}"
        );
        assert_eq!(
            value(two).compare_numbers(&value(one)),
            Some(order.reverse())
        );
    }
    assert_eq!(value("1").compare_numbers(&value("true")), None);
    assert!(value(r#"{"a":1,"b":[2.0]}"#).same(&value(r#"{"b":[2],"a":1.0}"#)));
    assert!(!value(r#"{"a":1}"#).same(&value(r#"{"b":1}"#)));
    assert!(Decimal::parse("12e-1").cmp(&Decimal::parse("1.2")).is_eq());
    assert!(Decimal::parse("120e-1").is_whole() && !Decimal::parse("12e-1").is_whole());
}

#[test]
fn a_message_is_small() {
    assert!(size_of::<Value>() <= 24);
}

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-1e9..1e9).prop_map(Value::Number),
        any::<f64>()
            .prop_filter("finite", |it| it.is_finite())
            .prop_map(Value::Number),
        "-?[1-9][0-9]{0,40}(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?"
            .prop_map(|text| Value::number(&text).unwrap()),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5)
                .prop_map(|items| Value::list(items).unwrap()),
            prop::collection::btree_map("[a-e]{1,2}", inner, 0..5).prop_map(|fields| {
                let fields: Vec<_> = fields.into_iter().map(|(k, v)| (k.into(), v)).collect();
                Value::record(fields).unwrap()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_reading_lose_nothing(value in any_value()) {
        prop_assert_eq!(&Value::parse(&value.to_string()).unwrap(), &value);
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        prop_assert!(value.same(&value));
    }

    #[test]
    fn reading_agrees_with_serde_json(text in "[\\[\\]{}:,\"a1.eE0\\\\ u-]{0,12}") {
        let ours = Value::parse(&text).is_ok();
        let theirs: Result<Box<serde_json::value::RawValue>, _> = serde_json::from_str(&text);
        prop_assert_eq!(ours, theirs.is_ok(), "{}", text);
    }
}
