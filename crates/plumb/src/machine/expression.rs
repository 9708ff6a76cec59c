//! Expressions, made ready for running. Evaluation is total: what cannot be computed is a [`Stop`].

mod arithmetic;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use super::fault::FaultKind;
use super::record::Slot;
use super::shape::Shape;
use crate::graph::Op;
use crate::syntax::ast::{Binary, Unary};
use crate::value::Value;

/// An expression, for running.
#[derive(Debug)]
pub(super) enum Expression {
    Message,
    Constant(Value),
    Field(Box<Expression>, Slot),
    Part(Box<Expression>, usize),
    Is(Box<Expression>, Shape),
    Record(Box<[(Arc<str>, Expression)]>),
    List(Box<[Expression]>),
    Minus(Box<Expression>),
    Not(Box<Expression>),
    Both(Box<Expression>, Box<Expression>),
    Either(Box<Expression>, Box<Expression>),
    Same(Box<Expression>, Box<Expression>, bool),
    Order(Box<Expression>, Box<Expression>, Binary),
    Reckon(Box<Expression>, Box<Expression>, Binary),
    If(Box<[Expression; 3]>),
    Len(Box<Expression>),
    Contains(Box<Expression>, Box<Expression>),
    Defined(Box<Expression>),
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop<'a> {
    /// There is no such field.
    Missing(&'a str),
    /// There is no such part.
    NoPart(usize),
    /// Another kind of value: what is wanted, what there is.
    Kind(&'static str, &'static str),
    /// A division by zero.
    Zero,
    /// A number too large to reckon with.
    Overflow,
    /// A message too deep or too large.
    Oversize,
}

impl Stop<'_> {
    pub(super) const fn fault(self) -> FaultKind {
        match self {
            Self::Missing(_) | Self::NoPart(_) => FaultKind::MissingField,
            Self::Kind(..) => FaultKind::Mismatch,
            Self::Zero => FaultKind::DivisionByZero,
            Self::Overflow => FaultKind::Overflow,
            Self::Oversize => FaultKind::Oversize,
        }
    }

    /// Whether the message just is not of the sort that the expression is about.
    pub(super) const fn is_absence(self) -> bool {
        matches!(self, Self::Missing(_) | Self::NoPart(_) | Self::Kind(..))
    }

    pub(super) fn detail(self) -> String {
        match self {
            Self::Missing(name) => format!("the message has no field `{name}`"),
            Self::NoPart(part) => format!("the message has no part {part}"),
            Self::Kind(wanted, found) => format!("expected {wanted}, found {found}"),
            Self::Zero => "division by zero".to_owned(),
            Self::Overflow => "the number is too large to reckon with".to_owned(),
            Self::Oversize => crate::value::Oversize.to_string(),
        }
    }
}

/// What an expression has: borrowed from the message or the program as long as possible.
pub(super) type Got<'a> = Result<Cow<'a, Value>, Stop<'a>>;

/// How much was looked at beyond a constant for each step: units of [`Value::weight`].
pub(super) type Work = u64;

impl Expression {
    /// An operation that is nested deeper than `depth` gives none.
    pub(super) fn new(op: &Op, depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let boxed = |op: &Op| Self::new(op, depth).map(Box::new);
        let made = match op {
            Op::Message => Self::Message,
            Op::Constant(value) => Self::Constant(value.clone()),
            Op::Field(of, name) => Self::Field(boxed(of)?, Slot::new(name)),
            Op::Part(of, part) => Self::Part(boxed(of)?, *part as usize),
            Op::Is(of, kind) => Self::Is(boxed(of)?, Shape::new(kind, Value::DEPTH)?),
            Op::Record(fields) => Self::Record(
                fields
                    .iter()
                    .map(|(name, op)| Some((Arc::clone(name), Self::new(op, depth)?)))
                    .collect::<Option<_>>()?,
            ),
            Op::List(items) => Self::List(
                items
                    .iter()
                    .map(|op| Self::new(op, depth))
                    .collect::<Option<_>>()?,
            ),
            Op::Unary(Unary::Minus, of) => Self::Minus(boxed(of)?),
            Op::Unary(Unary::Not, of) => Self::Not(boxed(of)?),
            Op::Binary(operator, one, two) => Self::binary(*operator, boxed(one)?, boxed(two)?),
            Op::If(condition, yes, no) => Self::If(Box::new([
                Self::new(condition, depth)?,
                Self::new(yes, depth)?,
                Self::new(no, depth)?,
            ])),
            Op::Len(of) => Self::Len(boxed(of)?),
            Op::Contains(whole, part) => Self::Contains(boxed(whole)?, boxed(part)?),
            Op::Defined(of) => Self::Defined(boxed(of)?),
        };
        Some(made.folded())
    }

    fn binary(operator: Binary, one: Box<Self>, two: Box<Self>) -> Self {
        match operator {
            Binary::And => Self::Both(one, two),
            Binary::Or => Self::Either(one, two),
            Binary::Equal => Self::Same(one, two, true),
            Binary::Unequal => Self::Same(one, two, false),
            Binary::Less | Binary::AtMost | Binary::Greater | Binary::AtLeast => {
                Self::Order(one, two, operator)
            }
            Binary::Plus | Binary::Minus | Binary::Times | Binary::Over => {
                Self::Reckon(one, two, operator)
            }
        }
    }

    /// Its value, where it reads no message and has one; its parts are folded already.
    fn folded(self) -> Self {
        if !self.parts_are_constant() {
            return self;
        }
        let folded = self.get(&Value::Null, &mut 0).ok().map(Cow::into_owned);
        folded.map_or(self, Self::Constant)
    }

    fn parts_are_constant(&self) -> bool {
        let constant = |it: &Self| matches!(it, Self::Constant(_));
        match self {
            Self::Message | Self::Constant(_) => false,
            Self::Field(of, _)
            | Self::Part(of, _)
            | Self::Is(of, _)
            | Self::Minus(of)
            | Self::Not(of)
            | Self::Len(of)
            | Self::Defined(of) => constant(of),
            Self::Record(fields) => fields.iter().all(|(_, it)| constant(it)),
            Self::List(items) => items.iter().all(constant),
            Self::If(parts) => parts.iter().all(constant),
            Self::Both(one, two)
            | Self::Either(one, two)
            | Self::Same(one, two, _)
            | Self::Order(one, two, _)
            | Self::Reckon(one, two, _)
            | Self::Contains(one, two) => constant(one) && constant(two),
        }
    }

    /// Its value for a message.
    pub(super) fn get<'a>(&'a self, message: &'a Value, work: &mut Work) -> Got<'a> {
        match self {
            Self::Message => Ok(Cow::Borrowed(message)),
            Self::Constant(value) => Ok(Cow::Borrowed(value)),
            Self::Field(of, slot) => field(of.get(message, work)?, slot),
            Self::Part(of, at) => part(of.get(message, work)?, *at),
            Self::Is(of, shape) => {
                let value = of.get(message, work)?;
                *work += u64::from(value.weight());
                truth(shape.fits(&value))
            }
            Self::Record(fields) => {
                let mut made = Vec::with_capacity(fields.len());
                for (name, it) in fields {
                    made.push((Arc::clone(name), it.get(message, work)?.into_owned()));
                }
                owned(Value::record(made))
            }
            Self::List(items) => {
                let mut made = Vec::with_capacity(items.len());
                for it in items {
                    made.push(it.get(message, work)?.into_owned());
                }
                owned(Value::list(made))
            }
            Self::Minus(of) => arithmetic::minus(&*of.get(message, work)?).map(Cow::Owned),
            Self::Not(of) => truth(!of.holds(message, work)?),
            Self::Both(one, two) => truth(one.holds(message, work)? && two.holds(message, work)?),
            Self::Either(one, two) => truth(one.holds(message, work)? || two.holds(message, work)?),
            Self::Same(one, two, wanted) => {
                let (one, two) = (one.get(message, work)?, two.get(message, work)?);
                *work += u64::from(one.weight().min(two.weight()));
                truth(one.same(&two) == *wanted)
            }
            Self::Order(one, two, operator) => {
                let (one, two) = (one.get(message, work)?, two.get(message, work)?);
                *work += u64::from(one.weight().min(two.weight()));
                order(&one, &two, *operator)
            }
            Self::Reckon(one, two, operator) => {
                let (one, two) = (one.get(message, work)?, two.get(message, work)?);
                *work += u64::from(one.weight()) + u64::from(two.weight());
                arithmetic::reckon(&one, &two, *operator).map(Cow::Owned)
            }
            Self::If(parts) => {
                let [condition, yes, no] = &**parts;
                let chosen = if condition.holds(message, work)? {
                    yes
                } else {
                    no
                };
                chosen.get(message, work)
            }
            Self::Len(of) => len(&*of.get(message, work)?, work),
            Self::Contains(whole, part) => {
                let (whole, part) = (whole.get(message, work)?, part.get(message, work)?);
                *work += u64::from(whole.weight());
                contains(&whole, &part)
            }
            Self::Defined(of) => match of.get(message, work) {
                Ok(_) => truth(true),
                Err(stop) if stop.is_absence() => truth(false),
                Err(stop) => Err(stop),
            },
        }
    }

    /// Its value as a condition.
    pub(super) fn holds<'a>(
        &'a self,
        message: &'a Value,
        work: &mut Work,
    ) -> Result<bool, Stop<'a>> {
        match &*self.get(message, work)? {
            Value::Bool(value) => Ok(*value),
            other => Err(Stop::Kind("a boolean", other.kind())),
        }
    }
}

fn truth<'a>(value: bool) -> Got<'a> {
    Ok(Cow::Owned(Value::Bool(value)))
}

fn owned<'a>(value: Result<Value, crate::value::Oversize>) -> Got<'a> {
    value.map(Cow::Owned).map_err(|_| Stop::Oversize)
}

fn field<'a>(of: Cow<'a, Value>, slot: &'a Slot) -> Got<'a> {
    let missing = Stop::Missing(slot.name());
    match of {
        Cow::Borrowed(Value::Record(_, fields)) => {
            slot.find(fields).map(Cow::Borrowed).ok_or(missing)
        }
        Cow::Owned(Value::Record(_, fields)) => {
            slot.find(&fields).cloned().map(Cow::Owned).ok_or(missing)
        }
        other => Err(Stop::Kind("a record", other.kind())),
    }
}

fn part<'a>(of: Cow<'a, Value>, at: usize) -> Got<'a> {
    match of {
        Cow::Borrowed(Value::List(_, items)) => {
            items.get(at).map(Cow::Borrowed).ok_or(Stop::NoPart(at))
        }
        Cow::Owned(Value::List(_, items)) => items
            .get(at)
            .cloned()
            .map(Cow::Owned)
            .ok_or(Stop::NoPart(at)),
        other => Err(Stop::Kind("a list", other.kind())),
    }
}

fn order<'a>(one: &Value, two: &Value, operator: Binary) -> Got<'a> {
    let ordering = match (one, two) {
        (Value::Text(one), Value::Text(two)) => one.cmp(two),
        (Value::Text(_), _) => return Err(Stop::Kind("a string", two.kind())),
        _ => one.compare_numbers(two).ok_or_else(|| {
            let is_number = |it: &Value| it.compare_numbers(&Value::Int(0)).is_some();
            let other = if is_number(one) { two } else { one };
            Stop::Kind("a number", other.kind())
        })?,
    };
    truth(match operator {
        Binary::Less => ordering == Ordering::Less,
        Binary::AtMost => ordering != Ordering::Greater,
        Binary::Greater => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    })
}

fn len<'a>(of: &Value, work: &mut Work) -> Got<'a> {
    let length = match of {
        Value::Text(text) => {
            *work += u64::from(of.weight());
            text.chars().count()
        }
        Value::List(_, items) => items.len(),
        other => return Err(Stop::Kind("a string or a list", other.kind())),
    };
    let length = i64::try_from(length).map_err(|_| Stop::Overflow)?;
    Ok(Cow::Owned(Value::Int(length)))
}

fn contains<'a>(whole: &Value, part: &Value) -> Got<'a> {
    match (whole, part) {
        (Value::Text(whole), Value::Text(part)) => truth(whole.contains(&**part)),
        (Value::Text(_), other) => Err(Stop::Kind("a string", other.kind())),
        (Value::List(_, items), part) => truth(items.iter().any(|item| item.same(part))),
        (other, _) => Err(Stop::Kind("a string or a list", other.kind())),
    }
}
