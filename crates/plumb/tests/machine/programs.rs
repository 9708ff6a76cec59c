//! A program that checks never meets a type error at run time, except where `json` is looked into: generated
//! programs, and messages of the types of their inputs.

use std::fmt::Write;
use std::sync::Arc;

use plumb::check::check;
use plumb::graph::Graph;
use plumb::machine::{FaultKind, Machine, Program, mismatch};
use plumb::modules::BuiltIn;
use plumb::types::{Presence, Type};
use plumb::value::Value;

/// Types without `json`, as they are written, each with places in its messages.
const TYPES: &[(&str, &[&str])] = &[
    ("int", &["value"]),
    ("string", &["value"]),
    ("{ a: int, b?: string }", &["a", "b"]),
    (
        "{ kind: \"x\", n: int } | { kind: \"y\", s: string } | { kind: \"z\", n?: number }",
        &["kind", "n", "s"],
    ),
    (
        "{ a: { n: number, s?: string }, b: bool }",
        &["a", "a.n", "a.s", "b"],
    ),
    ("(int, { s: string })", &["value.0", "value.1", "value.1.s"]),
    ("[int]", &["value"]),
    ("int | string | { a?: int, c: [string] }", &["a", "c"]),
    (
        "{ a?: { s?: string, n: int | string }, b: unit | string }",
        &["a", "a.s", "a.n", "b"],
    ),
    (
        "{ a?: { kind: \"x\", n: int } | { s: int, b?: bool }, b?: { a?: { n?: int }, s: string } | unit }",
        &[
            "a", "a.kind", "a.n", "a.s", "a.b", "b", "b.a", "b.a.n", "b.s",
        ],
    ),
    (
        "{ kind: \"x\", a?: { n: int } | { s: string } } | { kind: \"y\", c?: { a?: { n?: int } } }",
        &["kind", "a", "a.n", "a.s", "c", "c.a", "c.a.n"],
    ),
    (
        "{ \"a-b\"?: { n?: int } | { s: string } }",
        &["value.\"a-b\"", "value.\"a-b\".n", "value.\"a-b\".s"],
    ),
];

/// Bytes to choose by; zeros when they are used up.
struct Bytes<'a> {
    rest: &'a [u8],
    /// Places in the messages that come in.
    places: &'static [&'static str],
}

impl Bytes<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        usize::from(*first) % bound
    }

    fn pick<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len())]
    }

    /// A place in a message, which may or may not be there.
    fn place(&mut self) -> String {
        if self.below(4) > 0 && !self.places.is_empty() {
            return self.pick(self.places).to_owned();
        }
        let mut place = self
            .pick(&[
                "a", "b", "n", "s", "kind", "value", "c", "value.0", "value.1",
            ])
            .to_owned();
        if self.below(3) == 0 {
            place += self.pick(&[".n", ".s", ".a"]);
        }
        place
    }

    /// A number, a string, or anything: as the generator guesses, the checker knows.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.below(8) {
                0 => "1".to_owned(),
                1 => "\"x\"".to_owned(),
                2 => "0.5".to_owned(),
                3 => "null".to_owned(),
                _ => self.place(),
            };
        }
        match self.below(6) {
            0 => format!(
                "({} {} {})",
                self.expression(depth - 1),
                self.pick(&["+", "-", "*", "/"]),
                self.expression(depth - 1)
            ),
            1 => format!(
                "(if {} then {} else {})",
                self.test(depth - 1),
                self.expression(depth - 1),
                self.expression(depth - 1)
            ),
            2 => format!(
                "{{ a: {}, n: {} }}",
                self.expression(depth - 1),
                self.expression(0)
            ),
            3 => format!("[{}, {}]", self.expression(depth - 1), self.expression(0)),
            4 => format!("len({})", self.expression(0)),
            _ => self.expression(0),
        }
    }

    fn test(&mut self, depth: usize) -> String {
        if depth == 0 {
            let place = self.place();
            return match self.below(6) {
                0 | 1 => format!("defined({place})"),
                2 => format!("{place} = \"{}\"", self.pick(&["x", "y", "z"])),
                3 => format!("{place} > {}", self.below(9)),
                4 => format!(
                    "is({place}, {})",
                    self.pick(&["int", "string", "{ a: int }", "unit"])
                ),
                _ => place,
            };
        }
        match self.below(4) {
            0 => format!("({} && {})", self.test(depth - 1), self.test(depth - 1)),
            1 => format!("({} || {})", self.test(depth - 1), self.test(depth - 1)),
            2 => format!("not {}", self.test(depth - 1)),
            _ => format!(
                "{} {} {}",
                self.expression(depth - 1),
                self.pick(&["=", "!=", "<", ">="]),
                self.expression(0)
            ),
        }
    }

    fn step(&mut self) -> String {
        match self.below(8) {
            0..=2 => format!("filter({})", self.test(2)),
            3 | 4 => format!("map({})", self.expression(2)),
            5 => format!("id.{}", self.pick(&["a", "b", "n", "s"])),
            6 => format!("copy ; (filter({}) * id) ; merge", self.test(1)),
            _ => format!("copy ; (map({}) * id) ; barrier", self.expression(1)),
        }
    }

    fn program(&mut self) -> String {
        let (kind, places) = TYPES[self.below(TYPES.len())];
        self.places = places;
        let mut text = format!("let main : !({kind}) -> !json = plumb(input, output) {{ input");
        for _ in 0..=self.below(2) {
            let _ = write!(text, " ; {}", self.step());
        }
        text + " ; output }"
    }

    /// A value of a type.
    fn value(&mut self, kind: &Type) -> Value {
        match kind {
            Type::Bool => Value::Bool(self.below(2) == 0),
            Type::Int => Value::Int(i64::try_from(self.below(9)).unwrap() - 4),
            Type::Number => Value::Number(f64::from(u8::try_from(self.below(9)).unwrap()) / 4.0),
            Type::Text => Value::from(self.pick(&["x", "y", "word"])),
            Type::Literal(text) => Value::Text(text.clone()),
            Type::List(item) => {
                let items: Vec<Value> = (0..self.below(3)).map(|_| self.value(item)).collect();
                Value::list(items).unwrap()
            }
            Type::Product(parts) => {
                let parts: Vec<Value> = parts.iter().map(|part| self.value(part)).collect();
                Value::list(parts).unwrap()
            }
            Type::Sum(variants) => {
                let variant = self.below(variants.len());
                self.value(&variants[variant])
            }
            Type::Record(fields) => {
                let mut given: Vec<(Arc<str>, Value)> = Vec::new();
                for field in fields.iter() {
                    if field.presence == Presence::Required || self.below(2) == 0 {
                        given.push((field.name.clone(), self.value(&field.kind)));
                    }
                }
                Value::record(given).unwrap()
            }
            Type::Unit | Type::Json | Type::Unknown => Value::Null,
        }
    }
}

/// Returns true if a value that can be anything flows in a network: where variants have a field with types that
/// have values in common, it is `json`.
fn has_json(kind: &Type) -> bool {
    match kind {
        Type::Json => true,
        Type::Record(fields) => fields.iter().any(|field| has_json(&field.kind)),
        Type::List(item) => has_json(item),
        Type::Sum(parts) | Type::Product(parts) => parts.iter().any(has_json),
        _ => false,
    }
}

/// Runs a program that checks on messages of its input. Gives whether it did check.
pub fn check_and_run(bytes: &[u8]) -> bool {
    let bytes = &mut Bytes {
        rest: bytes,
        places: &[],
    };
    let text = bytes.program();
    let checked = check("generated.plumb", &text, &BuiltIn);
    if !checked.is_sound() {
        return false;
    }
    let graph: Graph = checked.graph("main").unwrap();
    let input = &checked.signature("main").unwrap().inputs[0].kind;
    let last = graph.nodes[graph.outputs[0].0 as usize].inputs[0];
    let given = &graph.edges[last.0 as usize].kind;
    let blind = graph
        .edges
        .iter()
        .filter(|edge| edge.to.0 != graph.outputs[0]);
    let blind = blind.map(|edge| &edge.kind).chain([given]).any(has_json);
    let mut machine = Machine::new(Arc::new(Program::new(&graph).unwrap()));
    for _ in 0..6 {
        let message = bytes.value(input);
        assert_eq!(mismatch(input, &message), None, "{}", text);
        let step = machine.push(0, message.clone()).unwrap();
        for error in &step.errors {
            let known = match error.kind {
                FaultKind::DivisionByZero | FaultKind::Overflow | FaultKind::Oversize => true,
                FaultKind::MissingField | FaultKind::Mismatch | FaultKind::Narrowing => blind,
                _ => false,
            };
            assert!(known, "{}\n{:?}\n{}", text, message, error);
        }
        for (_, value) in &step.outputs {
            let wrong = mismatch(given, value);
            assert!(
                wrong.is_none(),
                "{}\n{:?} is no {}: {:?}",
                text,
                value,
                given,
                wrong
            );
        }
    }
    true
}

/// A program with all that the language has, to be broken.
const WHOLE: &str = include_str!("../../src/modules/mem.plumb");

/// The words and signs of a text.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in text.chars() {
        let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
        let last = words.last().and_then(|word| word.chars().next_back());
        if last.is_some_and(|last| joins(last) == joins(letter) && !letter.is_whitespace()) {
            words.last_mut().unwrap().push(letter);
        } else {
            words.push(letter.to_string());
        }
    }
    words
}

/// Takes out, doubles and exchanges words, checks what is left, and builds what checks.
pub fn break_and_check(bytes: &[u8]) {
    let mut words = words(WHOLE);
    for change in bytes.chunks_exact(4) {
        let place = |high: u8, low: u8| usize::from(u16::from_be_bytes([high, low])) % words.len();
        let (one, other) = (place(change[0], change[1]), place(change[2], change[3]));
        match change[3] % 3 {
            0 => {
                words.remove(one);
            }
            1 => words.insert(one, words[other].clone()),
            _ => words.swap(one, other),
        }
    }
    let text = words.concat();
    let checked = check("broken.plumb", &text, &BuiltIn);
    for at in (0..text.len()).step_by(97) {
        let at = u32::try_from(at).unwrap();
        let _ = checked.at(at);
        let _ = checked.completions(at);
    }
    if checked.is_sound() {
        for name in checked.names() {
            let graph = checked.graph(name).expect("a sound program has graphs");
            assert!(Program::new(&graph).is_ok(), "{name}");
        }
    }
}
