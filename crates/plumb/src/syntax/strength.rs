//! How strongly operators bind: what the parser reads by and `fmt` sets parentheses by.

use super::ast::Binary;

/// How strongly an operator binds its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Strength(u8);

impl Strength {
    /// `||`.
    pub const OR: Self = Self(1);
    /// `&&`.
    pub const AND: Self = Self(2);
    /// `= != < <= > >=`, which do not chain.
    pub const COMPARISON: Self = Self(4);
    /// `+ -`.
    pub const SUM: Self = Self(5);
    /// `* /`.
    pub const PRODUCT: Self = Self(6);

    /// The next stronger one: what stands on the right of an operator that takes its operands from the
    /// left.
    pub const fn above(self) -> Self {
        Self(self.0 + 1)
    }
}

/// How strongly an operator between operands binds.
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
