//! Types of operators and functions.

use crate::check::codes;
use crate::graph::Op;
use crate::span::Span;
use crate::syntax::ast::{Binary, Expr, Unary};
use crate::types::{Fit, Shown, Type, fits, overlap};
use crate::value::Value;

use super::typer::Typer;

/// An operand as it is written, and its type.
type Operand<'e> = (&'e Expr, &'e Type);

impl Typer<'_> {
    /// The result type of an operator.
    pub(super) fn operator(&mut self, op: Binary, left: Operand<'_>, right: Operand<'_>) -> Type {
        match op {
            Binary::And | Binary::Or => {
                self.wants(left.1, &Type::Bool, left.0.span);
                self.wants(right.1, &Type::Bool, right.0.span);
                Type::Bool
            }
            Binary::Equal | Binary::Unequal => {
                self.comparable(left, right);
                Type::Bool
            }
            Binary::Less | Binary::AtMost | Binary::Greater | Binary::AtLeast => {
                self.ordered(left, right);
                Type::Bool
            }
            Binary::Plus | Binary::Minus | Binary::Times | Binary::Over => {
                self.wants(left.1, &Type::Number, left.0.span);
                self.wants(right.1, &Type::Number, right.0.span);
                if op == Binary::Over {
                    Type::Number
                } else {
                    numeric(&[left.1, right.1])
                }
            }
        }
    }

    /// Checks that two values can be equal.
    fn comparable(&mut self, left: Operand<'_>, right: Operand<'_>) {
        if unknown(left.1) || unknown(right.1) || overlap(left.1, right.1).is_some() {
            return;
        }
        let span = left.0.span.to(right.0.span);
        self.wrong(codes::never_equal(span, &Shown(left.1), &Shown(right.1)));
    }

    /// Checks that two values are numbers, or strings.
    fn ordered(&mut self, left: Operand<'_>, right: Operand<'_>) {
        let text = |kind: &Type| !unknown(kind) && fits(kind, &Type::Text) == Fit::Always;
        let wanted = if text(left.1) || text(right.1) {
            Type::Text
        } else {
            Type::Number
        };
        if matches!((left.1, right.1), (Type::Json, Type::Json)) {
            self.partial = true;
            return;
        }
        self.wants(left.1, &wanted, left.0.span);
        self.wants(right.1, &wanted, right.0.span);
    }

    /// Checks that a value has a length.
    pub(super) fn wants_length(&mut self, kind: &Type, span: Span) {
        match kind {
            Type::Json => self.partial = true,
            Type::Sum(variants) => {
                for variant in variants.iter() {
                    self.wants_length(variant, span);
                }
            }
            Type::Text | Type::Literal(_) | Type::List(_) | Type::Product(_) | Type::Unknown => {}
            _ => {
                self.wrong(codes::no_length(span, &Shown(kind)));
            }
        }
    }

    /// Checks that one value can be in the other.
    pub(super) fn contained(&mut self, whole: Operand<'_>, part: Operand<'_>) {
        match whole.1 {
            Type::Json => self.partial = true,
            Type::Unknown => {}
            Type::Text | Type::Literal(_) => self.wants(part.1, &Type::Text, part.0.span),
            Type::List(item) => self.comparable((whole.0, item), part),
            Type::Product(items) => {
                let some = |item: &Type| unknown(item) || overlap(item, part.1).is_some();
                if !unknown(part.1) && !items.iter().any(some) {
                    let (whole, kind) = (Shown(whole.1), Shown(part.1));
                    self.wrong(codes::never_contained(part.0.span, &whole, &kind));
                }
            }
            kind => {
                self.wrong(codes::no_container(whole.0.span, &Shown(kind)));
            }
        }
    }
}

/// Returns true if nothing is known about values of this type.
fn unknown(kind: &Type) -> bool {
    matches!(kind, Type::Unknown) || kind.is_never()
}

/// The type of arithmetic on these: `int` if all of them are.
pub(super) fn numeric(kinds: &[&Type]) -> Type {
    let whole = |kind: &&Type| fits(kind, &Type::Int) == Fit::Always;
    if kinds.iter().all(whole) {
        Type::Int
    } else {
        Type::Number
    }
}

/// `-e`; of a literal, the literal.
pub(super) fn negative(inner: Op) -> Op {
    match inner {
        Op::Constant(Value::Int(number)) if number != i64::MIN => Op::Constant(Value::Int(-number)),
        Op::Constant(Value::Number(number)) => Op::Constant(Value::Number(-number)),
        inner => Op::Unary(Unary::Minus, Box::new(inner)),
    }
}
