//! The cost of a request.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use context::{Consumption, Tokens};

/// An amount of US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Usd(f64);

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);

    /// An amount in dollars. `None` for what is negative or not a number.
    #[must_use]
    pub fn new(dollars: f64) -> Option<Self> {
        (dollars.is_finite() && dollars >= 0.0).then_some(Self(dollars))
    }

    /// The amount in dollars.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    /// Two decimals from ten cents on, four below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0 >= 0.1 || self.0 == 0.0 { 2 } else { 4 };
        f.pad(&format!("${:.decimals$}", self.0))
    }
}

/// The source of a base price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The provider states it.
    Documented,
    /// Taken over from a similar model. Good for ratios, not for a bill.
    Estimated,
}

/// Another price for requests with a long input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongContext {
    /// The number of input tokens above which it holds.
    pub above: Tokens,
    /// The factor for every input price.
    pub input: f64,
    /// The factor for the output price.
    pub output: f64,
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Fresh input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache for its normal lifetime (Anthropic: 5 minutes, OpenAI: 30).
    pub cache_write: f64,
    /// Input written to the cache for its longer lifetime (Anthropic: an hour, OpenAI: twelve).
    pub cache_write_long: f64,
    /// The surcharge for a long input, where there is one.
    pub long_context: Option<LongContext>,
    /// The source of `input` and `output`.
    pub basis: Basis,
}

impl Price {
    /// The cost of one request.
    #[must_use]
    pub fn cost(&self, consumption: &Consumption) -> Usd {
        let (input, output) = self
            .long_context
            .filter(|long| consumption.input() > long.above)
            .map_or((1.0, 1.0), |long| (long.input, long.output));
        let million = |tokens: Tokens| tokens.as_f64() / 1e6;
        let read_in = million(consumption.fresh) * self.input
            + million(consumption.cache_read) * self.cache_read
            + million(consumption.cache_write) * self.cache_write
            + million(consumption.cache_write_long) * self.cache_write_long;
        Usd(input * read_in + output * million(consumption.output) * self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::{Basis, LongContext, Price, Usd};
    use context::{Consumption, Tokens};
    use proptest::prelude::*;

    const PRICE: Price = Price {
        input: 5.0,
        output: 25.0,
        cache_read: 0.5,
        cache_write: 6.25,
        cache_write_long: 10.0,
        long_context: Some(LongContext {
            above: Tokens::new(272_000),
            input: 2.0,
            output: 1.5,
        }),
        basis: Basis::Documented,
    };

    fn consumption(amounts: [u64; 5]) -> Consumption {
        let [fresh, cache_read, cache_write, cache_write_long, output] = amounts.map(Tokens::new);
        Consumption {
            fresh,
            cache_read,
            cache_write,
            cache_write_long,
            output,
        }
    }

    #[track_caller]
    fn check(amounts: [u64; 5], expected: f64) {
        let cost = PRICE.cost(&consumption(amounts)).get();
        assert!((cost - expected).abs() < 1e-9, "{cost} is not {expected}");
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        check([0; 5], 0.0);
        check([100_000, 0, 0, 0, 0], 0.5);
        check([0, 100_000, 0, 0, 0], 0.05);
        check([0, 0, 100_000, 0, 0], 0.625);
        check([0, 0, 0, 100_000, 0], 1.0);
        check([0, 0, 0, 0, 100_000], 2.5);
    }

    #[test]
    fn a_long_input_costs_more_from_its_first_token() {
        check([272_000, 0, 0, 0, 0], 1.36);
        check([300_000, 0, 0, 0, 100_000], 3.0 + 3.75);
    }

    #[test]
    fn amounts_read_well() {
        let text = |dollars: f64| Usd::new(dollars).unwrap().to_string();
        assert_eq!(text(0.0), "$0.00");
        assert_eq!(text(12.345), "$12.35");
        assert_eq!(text(0.0123), "$0.0123");
        assert_eq!(Usd::new(-1.0), None);
        assert_eq!(Usd::new(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn more_tokens_never_cost_less(
            less in proptest::array::uniform5(0_u64..400_000),
            more in proptest::array::uniform5(0_u64..400_000),
        ) {
            let sum = std::array::from_fn(|at| less[at] + more[at]);
            prop_assert!(PRICE.cost(&consumption(less)) <= PRICE.cost(&consumption(sum)));
        }
    }
}
