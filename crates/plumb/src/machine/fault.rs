//! Run-time errors as values: the network's error stream.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::{Code, CodeEntry, code_table};
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

/// A failure as data: a value of the type `Failed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The text for people.
    pub error: String,
    /// The word that identifies the error.
    pub code: Arc<str>,
    /// The number of answers that were tried.
    pub attempts: u32,
}

impl Failure {
    /// The record of the type [`failed`](crate::types::failed).
    #[must_use]
    pub fn to_value(&self) -> Value {
        let fields = vec![
            ("error".into(), Value::from(self.error.as_str())),
            ("code".into(), Value::from(&*self.code)),
            ("attempts".into(), Value::Int(self.attempts.into())),
        ];
        Value::record(fields).unwrap_or(Value::Null)
    }
}

impl Fault {
    /// The failure that a port `error` tells of.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        Failure {
            error: self.to_string(),
            code: self.kind.word().into(),
            attempts: 1,
        }
    }

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

/// Defines the errors, and the codes, words and categories that they have.
macro_rules! faults {
    ($($(#[$doc:meta])* $kind:ident = $code:ident, $word:literal, $category:ident;)*) => {
        /// The errors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
        }

        impl FaultKind {
            /// The word for it in errors.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }

            /// The category of the error.
            #[must_use]
            pub const fn category(self) -> Category {
                match self {
                    $(Self::$kind => Category::$category,)*
                }
            }

            /// Its stable code.
            #[must_use]
            pub const fn code(self) -> Code {
                match self {
                    $(Self::$kind => $code,)*
                }
            }
        }
    };
}

faults! {
    /// A message is not of the type that a checked narrowing stands for.
    Narrowing = NARROWING, "type_mismatch", Invalid;
    /// A message from outside is not of the type of its input.
    Input = INPUT, "input_type_mismatch", Invalid;
    /// An answer of an agent or a tool is not of the type of its output.
    Answer = ANSWER, "output_type_mismatch", Invalid;
    /// An expression reads a field or a part that the message does not have.
    MissingField = MISSING_FIELD, "missing_field", Invalid;
    /// An expression gets another kind of value than it supports.
    Mismatch = MISMATCH, "wrong_kind", Invalid;
    /// A division by zero.
    DivisionByZero = DIVISION_BY_ZERO, "division_by_zero", Invalid;
    /// A number is too large for arithmetic.
    Overflow = OVERFLOW, "overflow", Invalid;
    /// A message would be deeper or larger than a message may be.
    Oversize = OVERSIZE, "message_too_large", Invalid;
    /// The network did not come to rest within its fuel. It stops for good.
    Fuel = FUEL, "out_of_fuel", Internal;
    /// Full queues wait for each other: no message there can ever move. Their messages are left over.
    Deadlock = DEADLOCK, "deadlock", Internal;
    /// A queue within a feedback loop has become long.
    HighWater = HIGH_WATER, "high_water", Internal;
    /// An agent or a tool has failed, and neither its type nor a port `error` takes the failure.
    Unanswered = UNANSWERED, "unanswered", Unavailable;
    /// Messages were still on their way when the network ended.
    LeftOver = LEFT_OVER, "left_over", Invalid;
    /// Messages were dropped since what they belong to had failed.
    Parted = PARTED, "dropped_with_failed", Invalid;
    /// A session met a message that it did not expect, or waited too long, and nothing reads its `error`.
    Violation = VIOLATION, "session_violation", Invalid;
    /// The network ended, and a session stood in the midst of a run or held payloads.
    Unfinished = UNFINISHED, "session_unfinished", Invalid;
}

code_table! {
    NARROWING = "P0801": "a message does not have the type that a checked narrowing requires",
        "Widen the type of the channel or input, or filter what does not belong there.";
    INPUT = "P0802": "a message from outside is not of the type of its input",
        "Send what the signature of the process says.";
    ANSWER = "P0803": "an answer of an agent or a tool is not of the type of its output",
        "Make the prompt say what the answer must look like, or widen the output type.";
    MISSING_FIELD = "P0804": "an expression reads a field or a part that the message does not have",
        "Guard an optional field with `defined`, or give the stream a type that has the field.";
    MISMATCH = "P0805": "an expression gets a kind of value that it does not support",
        "Give the stream a type, so that other messages go to the error stream earlier.";
    DIVISION_BY_ZERO = "P0806": "a division by zero",
        "Guard the division: `if d = 0 then … else n / d`.";
    OVERFLOW = "P0807": "a number is too large for arithmetic",
        "Integers are 64 bits wide, other numbers as large as a double can be.";
    OVERSIZE = "P0808": "a message would be deeper than 128 levels or larger than 64 MiB",
        "Do not put the whole message into a new one each time round a loop.";
    FUEL = "P0809": "the network did not come to rest within its fuel",
        "Let something in the named cycle drop or consume its messages: a `filter`, an agent.";
    DEADLOCK = "P0810": "full queues wait for each other, so that no message there can ever move",
        "Do not let one side of a barrier drop what the other side keeps.";
    HIGH_WATER = "P0811": "a queue within a feedback loop has become long",
        "Let the loop take in less than it puts out; its queues have no bound.";
    pub(super) REFUSED = "P0812": "the machine cannot take this message or this answer now",
        "When a queue is full, answer what is in flight and try again.";
    pub(super) STATE = "P0813": "a stored state does not belong to this program",
        "Start over: a state survives restarts, but not changes to its program.";
    pub(super) GRAPH = "P0814": "a graph is inconsistent",
        "Build graphs by checking a program; the detail names the inconsistent part.";
    UNANSWERED = "P0815": "an agent or a tool failed, and nothing in the program takes the failure",
        "Give it the type `!A -> !(B | Failed)`, or wire its port `error`.";
    LEFT_OVER = "P0816": "messages were still on their way when the network ended",
        "Give each side of a barrier as many messages as the others.";
    PARTED = "P0817": "messages were dropped, since what a barrier joins them with had failed",
        "Give the agent or tool the type `!A -> !(B | Failed)`, so that its failures are data.";
    VIOLATION = "P0818": "a session was violated, and nothing reads its `error`",
        "Read `s@error`, or end it with `discard` if violations are no matter.";
    UNFINISHED = "P0819": "the network ended in the midst of a session's run, or with payloads that no run sent",
        "Bring what the step waits for, or trigger a run for each payload.";
}
