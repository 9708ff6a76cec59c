//! Run-time errors as values: the network's error stream.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::{Code, CodeEntry};
use crate::graph::NodeId;
use crate::span::Span;
use crate::value::Value;

/// A run-time error of a network. It carries the message that was lost, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The kind of error.
    pub kind: FaultKind,
    /// At which node.
    pub node: NodeId,
    /// The name of that node.
    pub at: Arc<str>,
    /// The place in the program that it comes from.
    pub span: Span,
    /// The details, as a phrase: lower case, no full stop.
    pub detail: String,
    /// The message that could not go on.
    pub message: Option<Value>,
}

impl Fault {
    /// The record on the error stream; see [`error_value`].
    #[must_use]
    pub fn to_value(&self) -> Value {
        let (word, category) = (self.kind.word(), self.kind.category());
        error_value(word, category, &self.to_string(), self.message.as_ref())
    }
}

/// An error as a message: `{"error": word, "category": word, "detail": text}`, and with a message that was
/// lost to the network `"message"`, if it is not so deep or large that it does not fit in another.
#[must_use]
pub fn error_value(
    error: &str,
    category: Category,
    detail: &str,
    message: Option<&Value>,
) -> Value {
    let field = |name: &str, value: Value| (Arc::<str>::from(name), value);
    let mut fields = vec![
        field("error", Value::from(error)),
        field("category", Value::from(category.word())),
        field("detail", Value::from(detail)),
    ];
    let short = Value::record(fields.clone()).unwrap_or(Value::Null);
    fields.extend(message.map(|message| field("message", message.clone())));
    Value::record(fields).unwrap_or(short)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.detail)
    }
}

/// The errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A message is not of the type that a checked narrowing stands for.
    Narrowing,
    /// A message from outside is not of the type of its input.
    Input,
    /// An answer of an agent or a tool is not of the type of its output.
    Answer,
    /// An expression reads a field or a part that the message does not have.
    MissingField,
    /// An expression meets another kind of value than it works on.
    Mismatch,
    /// A division by zero.
    DivisionByZero,
    /// A number is too large to reckon with.
    Overflow,
    /// A message would be deeper or larger than a message may be.
    Oversize,
    /// The network did not come to rest within its fuel. It stops for good.
    Fuel,
    /// Full queues wait for each other: no message there can ever move. What they hold is left over.
    Deadlock,
    /// A queue within a feedback loop has become long.
    HighWater,
}

/// The kinds of errors by what can be done about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// The program or its settings are wrong.
    Config,
    /// A message is not what it must be.
    Invalid,
    /// Something that is named does not exist.
    NotFound,
    /// Something is not allowed.
    Denied,
    /// A fault of the network itself.
    Internal,
    /// Something cannot be had at the moment.
    Unavailable,
}

impl Category {
    /// The word for it in errors.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
        }
    }
}

impl FaultKind {
    /// The word for it in errors.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Narrowing => "type_mismatch",
            Self::Input => "input_type_mismatch",
            Self::Answer => "output_type_mismatch",
            Self::MissingField => "missing_field",
            Self::Mismatch => "wrong_kind",
            Self::DivisionByZero => "division_by_zero",
            Self::Overflow => "overflow",
            Self::Oversize => "message_too_large",
            Self::Fuel => "out_of_fuel",
            Self::Deadlock => "deadlock",
            Self::HighWater => "high_water",
        }
    }

    /// The remedy, as a sentence.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Self::Fuel | Self::Deadlock | Self::HighWater => Category::Internal,
            _ => Category::Invalid,
        }
    }

    /// Its stable code.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::Narrowing => NARROWING,
            Self::Input => INPUT,
            Self::Answer => ANSWER,
            Self::MissingField => MISSING_FIELD,
            Self::Mismatch => MISMATCH,
            Self::DivisionByZero => DIVISION_BY_ZERO,
            Self::Overflow => OVERFLOW,
            Self::Oversize => OVERSIZE,
            Self::Fuel => FUEL,
            Self::Deadlock => DEADLOCK,
            Self::HighWater => HIGH_WATER,
        }
    }
}

const NARROWING: Code = Code("P0801");
const INPUT: Code = Code("P0802");
const ANSWER: Code = Code("P0803");
const MISSING_FIELD: Code = Code("P0804");
const MISMATCH: Code = Code("P0805");
const DIVISION_BY_ZERO: Code = Code("P0806");
const OVERFLOW: Code = Code("P0807");
const OVERSIZE: Code = Code("P0808");
const FUEL: Code = Code("P0809");
const DEADLOCK: Code = Code("P0810");
const HIGH_WATER: Code = Code("P0811");
pub(super) const REFUSED: Code = Code("P0812");
pub(super) const STATE: Code = Code("P0813");
pub(super) const GRAPH: Code = Code("P0814");

/// The codes of the machine, `P08xx`.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: NARROWING,
        meaning: "a message is not of the type that a checked narrowing stands for",
        remedy: "Widen the type of the channel or input, or filter what does not belong there.",
    },
    CodeEntry {
        code: INPUT,
        meaning: "a message from outside is not of the type of its input",
        remedy: "Send what the signature of the process says.",
    },
    CodeEntry {
        code: ANSWER,
        meaning: "an answer of an agent or a tool is not of the type of its output",
        remedy: "Make the prompt say what the answer must look like, or widen the output type.",
    },
    CodeEntry {
        code: MISSING_FIELD,
        meaning: "an expression reads a field or a part that the message does not have",
        remedy: "Guard an optional field with `defined`, or give the stream a type that has the field.",
    },
    CodeEntry {
        code: MISMATCH,
        meaning: "an expression meets another kind of value than it works on",
        remedy: "Give the stream a type, so that other messages go to the error stream earlier.",
    },
    CodeEntry {
        code: DIVISION_BY_ZERO,
        meaning: "a division by zero",
        remedy: "Guard the division: `if d = 0 then … else n / d`.",
    },
    CodeEntry {
        code: OVERFLOW,
        meaning: "a number is too large to reckon with",
        remedy: "Integers are 64 bits wide, other numbers as large as a double can be.",
    },
    CodeEntry {
        code: OVERSIZE,
        meaning: "a message would be deeper than 128 levels or larger than 64 MiB",
        remedy: "Do not put the whole message into a new one each time round a loop.",
    },
    CodeEntry {
        code: FUEL,
        meaning: "the network did not come to rest within its fuel",
        remedy: "Let something in the named cycle drop or consume its messages: a `filter`, an agent.",
    },
    CodeEntry {
        code: DEADLOCK,
        meaning: "full queues wait for each other, so that no message there can ever move",
        remedy: "Do not let one side of a barrier drop what the other side keeps.",
    },
    CodeEntry {
        code: HIGH_WATER,
        meaning: "a queue within a feedback loop has become long",
        remedy: "Let the loop take in less than it puts out; its queues have no bound.",
    },
    CodeEntry {
        code: REFUSED,
        meaning: "the machine cannot take this message or this answer now",
        remedy: "When a queue is full, answer what is in flight and try again.",
    },
    CodeEntry {
        code: STATE,
        meaning: "a stored state does not belong to this program",
        remedy: "Start afresh: a state outlives restarts, not changes of its program.",
    },
    CodeEntry {
        code: GRAPH,
        meaning: "a graph does not hold together",
        remedy: "Make graphs by checking a program; one that was made by hand names the part that is wrong.",
    },
];
