//! Quantities with their own types.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A number of model tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens(u64);

impl Tokens {
    /// No tokens.
    pub const ZERO: Self = Self(0);

    /// `count` tokens.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The plain number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The difference, or zero where `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This many tokens times `factor`, rounded to the nearest; a negative or non-finite factor gives zero.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        if !factor.is_finite() || factor <= 0.0 {
            return Self::ZERO;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "token counts stay far below 2^52; the float-to-int cast saturates"
        )]
        let scaled = (self.0 as f64 * factor).round() as u64;
        Self(scaled)
    }

    /// This number as a float, for ratios.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts stay far below 2^52"
    )]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// This many tokens as a share of `whole`; infinite where `whole` is zero and this is not.
    #[must_use]
    pub fn share_of(self, whole: Self) -> f64 {
        if self.0 == 0 {
            0.0
        } else {
            self.as_f64() / whole.as_f64()
        }
    }
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Tokens of the view ÷ window. Zero or more; above 1 the view does not fit, and the figure says by
/// how much (it is not clamped).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Pressure(f64);

impl Pressure {
    /// The pressure of `used` tokens in a window of `window` tokens. Nothing in a window of zero is
    /// pressure 0; anything in it is infinite pressure.
    #[must_use]
    pub fn of(used: Tokens, window: Tokens) -> Self {
        Self(used.share_of(window))
    }

    /// A pressure given as a ratio. `None` for a negative number or NaN.
    #[must_use]
    pub fn new(ratio: f64) -> Option<Self> {
        (ratio >= 0.0).then_some(Self(ratio))
    }

    /// The ratio.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pressure, Tokens};

    #[test]
    fn pressure_is_not_clamped_and_survives_an_empty_window() {
        assert_eq!(Pressure::of(Tokens::new(150), Tokens::new(100)).get(), 1.5);
        assert_eq!(Pressure::of(Tokens::ZERO, Tokens::ZERO).get(), 0.0);
        assert!(
            Pressure::of(Tokens::new(1), Tokens::ZERO)
                .get()
                .is_infinite()
        );
        assert_eq!(Pressure::new(f64::NAN), None);
        assert_eq!(Pressure::new(-0.1), None);
    }

    #[test]
    fn scaling_never_wraps() {
        assert_eq!(Tokens::new(10).scaled(1.25), Tokens::new(13));
        assert_eq!(Tokens::new(10).scaled(-1.0), Tokens::ZERO);
        assert_eq!(Tokens::new(10).scaled(f64::NAN), Tokens::ZERO);
    }
}
