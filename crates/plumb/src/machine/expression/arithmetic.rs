//! Arithmetic: whole numbers stay whole but for `/`, and what leaves the range is an error.

use super::Stop;
use crate::syntax::ast::Binary;
use crate::value::{Decimal, Value};

/// `-e`.
pub(super) fn minus<'a>(of: &Value) -> Result<Value, Stop<'a>> {
    match of {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or(Stop::Overflow),
        Value::Number(number) => Ok(Value::Number(-number)),
        Value::Big(text) => {
            let turned = match text.strip_prefix('-') {
                Some(rest) => rest.to_owned(),
                None => format!("-{text}"),
            };
            Value::number(&turned).ok_or(Stop::Overflow)
        }
        other => Err(Stop::Kind("a number", other.kind())),
    }
}

/// `a + b`, `a - b`, `a * b`, `a / b`; `+` also puts two strings together.
pub(super) fn reckon<'a>(one: &Value, two: &Value, operator: Binary) -> Result<Value, Stop<'a>> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) if operator != Binary::Over => {
            let result = match operator {
                Binary::Plus => one.checked_add(*two),
                Binary::Minus => one.checked_sub(*two),
                _ => one.checked_mul(*two),
            };
            result.map(Value::Int).ok_or(Stop::Overflow)
        }
        (Value::Text(one), Value::Text(two)) if operator == Binary::Plus => {
            // Both are in memory, so the lengths add up; whether a message may be so large does not
            // depend on what it is put into.
            let joined = Value::text(format!("{one}{two}"));
            let large = joined.weight() > Value::WEIGHT;
            if large {
                Err(Stop::Oversize)
            } else {
                Ok(joined)
            }
        }
        _ => floating(one, two, operator),
    }
}

fn floating<'a>(one: &Value, two: &Value, operator: Binary) -> Result<Value, Stop<'a>> {
    let (one, two) = (double(one)?, double(two)?);
    let result = match operator {
        Binary::Plus => one + two,
        Binary::Minus => one - two,
        Binary::Times => one * two,
        _ if two == 0.0 => return Err(Stop::Zero),
        _ => one / two,
    };
    if result.is_finite() {
        Ok(Value::Number(result))
    } else {
        Err(Stop::Overflow)
    }
}

/// A number as a double: the nearest one; whole numbers beyond 64 bits are not reckoned with.
#[expect(
    clippy::cast_precision_loss,
    reason = "`/` and mixed arithmetic are those of doubles, as JSON's numbers are nearly everywhere"
)]
fn double<'a>(value: &Value) -> Result<f64, Stop<'a>> {
    match value {
        Value::Int(number) => Ok(*number as f64),
        Value::Number(number) => Ok(*number),
        Value::Big(text) if Decimal::parse(text).is_whole() => Err(Stop::Overflow),
        Value::Big(text) => text.parse().map_err(|_| Stop::Overflow),
        other => Err(Stop::Kind("a number", other.kind())),
    }
}
