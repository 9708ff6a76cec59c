//! Expressions, made ready for running. Evaluation is total: what cannot be computed is a [`Stop`].

mod arithmetic;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use super::fault::FaultKind;
use super::record::{Names, Slot};
use super::shape::Shape;
use crate::graph::Op;
use crate::syntax::ast::{Binary, Unary};
use crate::value::Value;

/// An expression, for running.
#[derive(Debug)]
pub(super) enum Expression {
    /// A part of the message, or all of it.
    Path(Box<[Hop]>),
    Constant(Value),
    /// A part of something that is computed.
    Of(Box<Expression>, Hop),
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

/// A step from a value to a part of it.
#[derive(Debug)]
pub(super) enum Hop {
    Field(Slot),
    Part(usize),
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

    /// Returns true if the message only lacks what the expression reads.
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

/// The value of an expression, borrowed from the message or the program as long as possible.
pub(super) type Evaluated<'a> = Result<Cow<'a, Value>, Stop<'a>>;

/// The amount of data that was examined, in units of [`Value::weight`], beyond a constant per step.
pub(super) type Work = u64;

impl Expression {
    /// An operation that is nested deeper than `depth` gives none.
    pub(super) fn new(op: &Op, depth: u32, names: &Names) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let plain = |op: &Op| Self::new(op, depth, names);
        let boxed = |op: &Op| plain(op).map(Box::new);
        let made = match op {
            Op::Message => Self::Path(Box::default()),
            Op::Constant(value) => Self::Constant(names.within(value)),
            Op::Field(of, name) => plain(of)?.then(Hop::Field(Slot::new(&names.one(name)))),
            Op::Part(of, part) => plain(of)?.then(Hop::Part(*part as usize)),
            Op::Is(of, kind) => Self::Is(boxed(of)?, Shape::new(kind, Value::DEPTH)?),
            Op::Record(fields) => Self::Record(
                fields
                    .iter()
                    .map(|(name, op)| Some((names.one(name), plain(op)?)))
                    .collect::<Option<_>>()?,
            ),
            Op::List(items) => Self::List(items.iter().map(plain).collect::<Option<_>>()?),
            Op::Unary(Unary::Minus, of) => Self::Minus(boxed(of)?),
            Op::Unary(Unary::Not, of) => Self::Not(boxed(of)?),
            Op::Binary(operator, one, two) => Self::binary(*operator, boxed(one)?, boxed(two)?),
            Op::If(condition, yes, no) => {
                Self::If(Box::new([plain(condition)?, plain(yes)?, plain(no)?]))
            }
            Op::Len(of) => Self::Len(boxed(of)?),
            Op::Contains(whole, part) => Self::Contains(boxed(whole)?, boxed(part)?),
            Op::Defined(of) => Self::Defined(boxed(of)?),
        };
        Some(made.folded())
    }

    /// `value.n`, which is `project(n)`.
    pub(super) fn part(number: u32) -> Self {
        Self::Path([Hop::Part(number as usize)].into())
    }

    /// `{ tag: "l", value }`, which is `tag(l)`.
    pub(super) fn tagged(label: &Arc<str>, names: &Names) -> Self {
        let label = Value::Text(names.one(label));
        let fields = [
            (names.one(&"tag".into()), Self::Constant(label)),
            (names.one(&"value".into()), Self::Path(Box::default())),
        ];
        Self::Record(fields.into())
    }

    /// A part of its value.
    fn then(self, hop: Hop) -> Self {
        match self {
            Self::Path(hops) => Self::Path(hops.into_iter().chain([hop]).collect()),
            of => Self::Of(Box::new(of), hop),
        }
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
            Self::Path(_) | Self::Constant(_) => false,
            Self::Of(of, _)
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
    pub(super) fn get<'a>(&'a self, message: &'a Value, work: &mut Work) -> Evaluated<'a> {
        let mut this = self;
        while let Self::If(parts) = this {
            let [condition, yes, no] = &**parts;
            this = if condition.holds(message, work)? {
                yes
            } else {
                no
            };
        }
        this.chosen(message, work)
    }

    /// Evaluates an operation other than a conditional.
    fn chosen<'a>(&'a self, message: &'a Value, work: &mut Work) -> Evaluated<'a> {
        match self {
            Self::Path(hops) => Hop::walk(hops, message).map(Cow::Borrowed),
            Self::Constant(value) => Ok(Cow::Borrowed(value)),
            Self::Of(of, hop) => match of.get(message, work)? {
                Cow::Borrowed(value) => hop.of(value).map(Cow::Borrowed),
                Cow::Owned(value) => hop.of(&value).cloned().map(Cow::Owned),
            },
            Self::Record(fields) => {
                let made = all(
                    fields,
                    |(name, it), value| (Arc::clone(name), value(it)),
                    message,
                    work,
                );
                owned(Value::record(made?))
            }
            Self::List(items) => {
                let made = all(items, |it, value| value(it), message, work);
                owned(Value::list(made?))
            }
            Self::Minus(of) => arithmetic::minus(&*of.get(message, work)?).map(Cow::Owned),
            Self::Is(..)
            | Self::Not(_)
            | Self::Both(..)
            | Self::Either(..)
            | Self::Same(..)
            | Self::Order(..)
            | Self::Contains(..)
            | Self::Defined(_) => self
                .holds(message, work)
                .map(|it| Cow::Owned(Value::Bool(it))),
            Self::Reckon(one, two, operator) => {
                let (one, two) = (one.get(message, work)?, two.get(message, work)?);
                *work += u64::from(one.weight()) + u64::from(two.weight());
                arithmetic::reckon(&one, &two, *operator).map(Cow::Owned)
            }
            Self::If(_) => self.get(message, work),
            Self::Len(of) => len(&*of.get(message, work)?, work),
        }
    }

    /// Its value as a condition.
    pub(super) fn holds<'a>(
        &'a self,
        message: &'a Value,
        work: &mut Work,
    ) -> Result<bool, Stop<'a>> {
        match self {
            Self::Is(of, shape) => {
                let value = of.get(message, work)?;
                *work += u64::from(value.weight());
                Ok(shape.fits(&value))
            }
            Self::Not(of) => Ok(!of.holds(message, work)?),
            Self::Both(one, two) => Ok(one.holds(message, work)? && two.holds(message, work)?),
            Self::Either(one, two) => Ok(one.holds(message, work)? || two.holds(message, work)?),
            Self::Same(one, two, wanted) => {
                if let (Self::Path(hops), Self::Constant(two)) = (&**one, &**two) {
                    let one = Hop::walk(hops, message)?;
                    *work += lighter(one, two);
                    return Ok(same(one, two) == *wanted);
                }
                let (one, two) = (one.get(message, work)?, two.get(message, work)?);
                *work += lighter(&one, &two);
                Ok(same(&one, &two) == *wanted)
            }
            Self::Order(one, two, operator) => {
                if let (Self::Path(hops), Self::Constant(two)) = (&**one, &**two) {
                    let one = Hop::walk(hops, message)?;
                    *work += lighter(one, two);
                    return order(one, two, *operator);
                }
                let (one, two) = (one.get(message, work)?, two.get(message, work)?);
                *work += lighter(&one, &two);
                order(&one, &two, *operator)
            }
            Self::Contains(whole, part) => {
                let (whole, part) = (whole.get(message, work)?, part.get(message, work)?);
                *work += u64::from(whole.weight());
                contains(&whole, &part)
            }
            Self::Defined(of) => match of.get(message, work) {
                Ok(_) => Ok(true),
                Err(stop) if stop.is_absence() => Ok(false),
                Err(stop) => Err(stop),
            },
            _ => match &*self.get(message, work)? {
                Value::Bool(value) => Ok(*value),
                other => Err(Stop::Kind("a boolean", other.kind())),
            },
        }
    }
}

/// Builds one allocation from the values of several expressions, and stops at the first that has no value.
fn all<'a, P, T>(
    parts: &'a [P],
    make: impl Fn(&'a P, &mut dyn FnMut(&'a Expression) -> Value) -> T,
    message: &'a Value,
    work: &mut Work,
) -> Result<Arc<[T]>, Stop<'a>> {
    let mut stopped = None;
    let mut value = |it: &'a Expression| {
        if stopped.is_some() {
            return Value::Null;
        }
        it.get(message, work)
            .map(Cow::into_owned)
            .unwrap_or_else(|stop| {
                stopped = Some(stop);
                Value::Null
            })
    };
    let made = parts.iter().map(|part| make(part, &mut value)).collect();
    stopped.map_or(Ok(made), Err)
}

fn owned<'a>(value: Result<Value, crate::value::Oversize>) -> Evaluated<'a> {
    value.map(Cow::Owned).map_err(|_| Stop::Oversize)
}

impl Hop {
    /// The part of a message to which these lead.
    #[inline]
    pub(super) fn walk<'a>(hops: &'a [Self], message: &'a Value) -> Result<&'a Value, Stop<'a>> {
        hops.iter().try_fold(message, |value, hop| hop.of(value))
    }

    /// The same, for another expression.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Field(slot) => Self::Field(Slot::new(slot.name())),
            Self::Part(at) => Self::Part(*at),
        }
    }

    /// Returns true if it leads to the same part.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Field(one), Self::Field(two)) => one.name() == two.name(),
            (Self::Part(one), Self::Part(two)) => one == two,
            _ => false,
        }
    }

    /// The part of a value.
    #[inline]
    fn of<'v>(&self, value: &'v Value) -> Result<&'v Value, Stop<'_>> {
        match (self, value) {
            (Self::Field(slot), Value::Record(_, fields)) => {
                slot.find(fields).ok_or_else(|| Stop::Missing(slot.name()))
            }
            (Self::Part(at), Value::List(_, items)) => items.get(*at).ok_or(Stop::NoPart(*at)),
            (Self::Field(_), other) => Err(Stop::Kind("a record", other.kind())),
            (Self::Part(_), other) => Err(Stop::Kind("a list", other.kind())),
        }
    }
}

/// To compare two values takes as long as the smaller one is large.
#[inline]
fn lighter(one: &Value, two: &Value) -> u64 {
    match (one, two) {
        // Nothing weighs less.
        (Value::Int(_), _) | (_, Value::Int(_)) => 1,
        _ => u64::from(one.weight().min(two.weight())),
    }
}

/// Most of what is compared are words of the program and small numbers.
#[inline]
fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => one == two,
        (Value::Text(one), Value::Text(two)) => Arc::ptr_eq(one, two) || one == two,
        _ => one.same(two),
    }
}

#[inline]
fn order<'a>(one: &Value, two: &Value, operator: Binary) -> Result<bool, Stop<'a>> {
    let ordering = match (one, two) {
        (Value::Int(one), Value::Int(two)) => one.cmp(two),
        (Value::Text(one), Value::Text(two)) => one.cmp(two),
        (Value::Text(_), _) => return Err(Stop::Kind("a string", two.kind())),
        _ => one.compare_numbers(two).ok_or_else(|| {
            let is_number = |it: &Value| it.compare_numbers(&Value::Int(0)).is_some();
            let other = if is_number(one) { two } else { one };
            Stop::Kind("a number", other.kind())
        })?,
    };
    Ok(match operator {
        Binary::Less => ordering == Ordering::Less,
        Binary::AtMost => ordering != Ordering::Greater,
        Binary::Greater => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    })
}

fn len<'a>(of: &Value, work: &mut Work) -> Evaluated<'a> {
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

fn contains<'a>(whole: &Value, part: &Value) -> Result<bool, Stop<'a>> {
    match (whole, part) {
        (Value::Text(whole), Value::Text(part)) => Ok(whole.contains(&**part)),
        (Value::Text(_), other) => Err(Stop::Kind("a string", other.kind())),
        (Value::List(_, items), part) => Ok(items.iter().any(|item| item.same(part))),
        (other, _) => Err(Stop::Kind("a string or a list", other.kind())),
    }
}
