//! Operator precedence, for the parser and for the parentheses of `fmt`.

use super::ast::{Binary, Expr, ExprKind, Unary};

/// Words that are no keywords, and yet no names of fields in scope: `value.if` names such a field.
pub(super) const RESERVED: &[&str] = &["if", "then", "else", "not"];

/// The precedence of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Strength(u8);

impl Strength {
    /// `if c then a else b`, which takes all that follows.
    pub const CONDITIONAL: Self = Self(0);
    /// `||`.
    pub const OR: Self = Self(1);
    /// `&&`.
    pub const AND: Self = Self(2);
    /// `not`, which takes a comparison.
    pub const NOT: Self = Self(3);
    /// `= != < <= > >=`, which do not chain.
    pub const COMPARISON: Self = Self(4);
    /// `+ -`.
    pub const SUM: Self = Self(5);
    /// `* /`.
    pub const PRODUCT: Self = Self(6);
    /// `-` before an operand.
    pub const SIGN: Self = Self(7);
    /// `e.f`, and what needs no parentheses at all.
    pub const WHOLE: Self = Self(8);

    /// The next stronger one: what stands on the right of an operator that takes its operands from the
    /// left.
    pub const fn above(self) -> Self {
        Self(self.0 + 1)
    }

    /// The precedence that the left operand needs: the same, unless the operators do not chain.
    pub fn on_the_left(self) -> Self {
        match self {
            Self::COMPARISON => self.above(),
            _ => self,
        }
    }
}

/// The precedence of a binary operator.
pub(super) const fn of_binary(operator: Binary) -> Strength {
    match operator {
        Binary::Or => Strength::OR,
        Binary::And => Strength::AND,
        Binary::Equal
        | Binary::Unequal
        | Binary::Less
        | Binary::AtMost
        | Binary::Greater
        | Binary::AtLeast => Strength::COMPARISON,
        Binary::Plus | Binary::Minus => Strength::SUM,
        Binary::Times | Binary::Over => Strength::PRODUCT,
    }
}

/// The precedence of an expression.
pub(super) fn of(expression: &Expr) -> Strength {
    match &expression.kind {
        ExprKind::If(..) => Strength::CONDITIONAL,
        ExprKind::Binary(operator, ..) => of_binary(*operator),
        ExprKind::Unary(Unary::Not, _) => Strength::NOT,
        ExprKind::Unary(Unary::Minus, _) => Strength::SIGN,
        _ => Strength::WHOLE,
    }
}
