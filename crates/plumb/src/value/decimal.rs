//! Numbers as decimal digits, for exact comparison.

use std::cmp::Ordering;

use super::Value;

/// A number as its decimal digits: `0.d₁d₂d₃… × 10^exponent`, the first and the last digit not 0.
/// Ordered by what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// `None` for 0.
    exponent: Option<i64>,
    digits: String,
}

impl Decimal {
    /// Parses a JSON number. The result for any other text is meaningless.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, saturating(exponent)),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let significant = digits.trim_start_matches('0');
        let leading = digits.len() - significant.len();
        let significant = significant.trim_end_matches('0');
        let exponent = exponent
            .saturating_add(length(whole.len()))
            .saturating_sub(length(leading));
        if significant.is_empty() {
            return Self::zero();
        }
        Self {
            negative,
            exponent: Some(exponent),
            digits: significant.to_owned(),
        }
    }

    const fn zero() -> Self {
        Self {
            negative: false,
            exponent: None,
            digits: String::new(),
        }
    }

    /// The decimal of a value; `None` if it is not a number.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(Self::parse(&number.to_string())),
            Value::Number(number) => Some(Self::parse(&exact(*number)?)),
            Value::Big(text) => Some(Self::parse(text)),
            _ => None,
        }
    }

    /// Returns true if it has no fraction.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.exponent
            .is_none_or(|exponent| exponent >= length(self.digits.len()))
    }
}

/// The shortest digits that give an `f64`; `None` if it is not finite.
fn exact(number: f64) -> Option<String> {
    number.is_finite().then(|| format!("{number:?}"))
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A whole number with an optional sign; one that is too large becomes the largest there is.
fn saturating(text: &str) -> i64 {
    text.strip_prefix('+')
        .unwrap_or(text)
        .parse()
        .unwrap_or_else(|_| match text.strip_prefix('-') {
            Some(_) => i64::MIN / 2,
            None => i64::MAX / 2,
        })
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.exponent, number.negative) {
            (None, _) => 0,
            (Some(_), true) => -1,
            (Some(_), false) => 1,
        };
        let by_size = || {
            // Digits without trailing zeros compare as text does.
            let size = self.exponent.cmp(&other.exponent);
            size.then_with(|| self.digits.cmp(&other.digits))
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            if self.negative {
                by_size().reverse()
            } else {
                by_size()
            }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
