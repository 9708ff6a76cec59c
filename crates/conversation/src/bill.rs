//! The cost of a request, and an estimate of its cost without the gateway.
//!
//! Without it the conversation would have been sent whole while it fits the window; at the hard threshold
//! its client would have stopped, had the same model write a summary of all of it, and gone on with that
//! alone. With `U` tokens said so far (instructions and tools included), a hard threshold of `H` and `S`
//! tokens of instructions, tools and summary, there would have been `n = 0` summaries where `U < H`, else
//! `n = 1 + ⌊(U − H) / (H − S)⌋`, and the view would have had `U − n (H − S)` tokens.

use crate::homunculus::{Limits, Reported};
use context::Tokens;
use history::Totals;
use tokens::{Consumption, Price};
use wire::api::{Counts, Reply};

use crate::flight::Flight;

/// The tokens and the cost of one answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bill {
    /// Tokens that are paid for.
    pub used: Consumption,
    /// The size of the view as the provider counted it.
    pub input: Tokens,
    /// The cost in USD.
    pub cost: f64,
    /// The estimated cost without the gateway, in USD.
    pub cost_without: f64,
}

impl Bill {
    /// The part that strategies are told.
    pub(crate) fn reported(&self) -> Reported {
        Reported {
            output: self.used.output,
            cache_read: self.used.cache_read,
            cache_write: self.used.cache_write + self.used.cache_write_long,
        }
    }

    /// The bill for an answer.
    pub(crate) fn of(flight: &Flight, reply: &Reply, alone: &Alone) -> Self {
        let used = consumption(&reply.usage.billed());
        let price = &flight.asked.model.price;
        let cost = price.cost(&used).get();
        // A compaction of the provider counts its own input, which is not the view.
        let passes = reply.usage.iterations.iter().rev();
        let message = passes
            .filter(|pass| pass.kind == "message")
            .map(|pass| pass.counts)
            .next();
        let input = message.unwrap_or(reply.usage.counts).all_input();
        let is_whole = flight.shown == crate::homunculus::Extent::default();
        let before = flight
            .before
            .map_or(Tokens::ZERO, |sent| Tokens::new(u64::from(sent.unchanged)));
        let cost_without = if is_whole && alone.caches && alone.summaries(flight.unchanged) == 0 {
            cost
        } else {
            let alike = if alone.caches { used } else { uncached(&used) };
            alone.cost(price, &alike, flight.unchanged, before)
        };
        Self {
            used,
            input,
            cost,
            cost_without,
        }
    }
}

fn consumption(counts: &Counts) -> Consumption {
    let long = counts.writes.hour_1 + counts.writes.hours_12;
    Consumption {
        fresh: counts.input,
        cache_read: counts.cache_read,
        cache_write: counts.cache_write.saturating_sub(long),
        cache_write_long: long,
        output: counts.output,
    }
}

/// The same tokens with nothing read from the cache or written to it.
fn uncached(used: &Consumption) -> Consumption {
    let written = used.cache_write + used.cache_write_long;
    Consumption {
        fresh: used.fresh + used.cache_read + written,
        output: used.output,
        ..Consumption::default()
    }
}

/// Tokens that one model used for a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Its tokens, by price.
    pub used: Consumption,
    /// Their cost in USD.
    pub cost: f64,
}

/// A client that has no gateway before it, and summarises for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone {
    /// The size at which it stops to summarise.
    hard: Tokens,
    /// The size of a summary.
    summary: Tokens,
    /// Instructions, tools and the summary: what is left of a view.
    rest: Tokens,
    /// False for a client that sets no breakpoints where only breakpoints fill the cache.
    caches: bool,
}

impl Alone {
    /// A client under these limits, with `beside` tokens of instructions and tools.
    pub(crate) fn new(limits: &Limits, beside: Tokens, caches: bool) -> Self {
        Self {
            caches,
            hard: limits.hard_tokens(),
            summary: limits.summary,
            rest: beside + limits.summary,
        }
    }

    /// The tokens that each summary frees. A summary that frees nothing is not made.
    fn freed(&self) -> Tokens {
        self.hard.saturating_sub(self.rest)
    }

    /// The number of summaries that a conversation of this size would have needed.
    fn summaries(&self, said: Tokens) -> u64 {
        let freed = self.freed().get();
        if said < self.hard || freed == 0 {
            return 0;
        }
        1 + said.saturating_sub(self.hard).get() / freed
    }

    /// The view that there would have been.
    fn view(&self, said: Tokens) -> Tokens {
        let gone = self.summaries(said).saturating_mul(self.freed().get());
        said.saturating_sub(Tokens::new(gone))
    }

    /// The cost of a request in a conversation of `said` tokens whose previous request was sent at
    /// `before` tokens.
    fn cost(&self, price: &Price, used: &Consumption, said: Tokens, before: Tokens) -> f64 {
        let (view, shown) = (self.view(said), self.view(before));
        if self.summaries(said) <= self.summaries(before) {
            return unchanged(price, used, view, shown);
        }
        // First the summary, of all that was shown; then nothing of the messages is in the cache.
        let asked = Consumption {
            output: self.summary,
            ..*used
        };
        let beside = self.rest.saturating_sub(self.summary);
        unchanged(price, &asked, shown, shown) + unchanged(price, used, view, beside)
    }
}

/// The cost of sending the whole conversation where this request used so much. The first `before`
/// tokens would have come from the cache if this request read from it or wrote to it; the rest
/// would have been paid for like the rest of this request.
fn unchanged(price: &Price, used: &Consumption, whole: Tokens, before: Tokens) -> f64 {
    let cached = used.cache_read > Tokens::ZERO;
    let written = used.cache_write + used.cache_write_long;
    let read = if cached {
        before.min(whole)
    } else {
        Tokens::ZERO
    };
    let rest = whole.saturating_sub(read);
    let mut without = Consumption {
        cache_read: read,
        output: used.output,
        ..Consumption::default()
    };
    if used.cache_write_long > Tokens::ZERO {
        without.cache_write_long = rest;
    } else if written > Tokens::ZERO {
        without.cache_write = rest;
    } else {
        without.fresh = rest;
    }
    price.cost(&without).get()
}

/// Adds a bill to the totals of a conversation.
pub(crate) fn add(totals: &mut Totals, bill: &Bill) {
    totals.requests += 1;
    totals.fresh += bill.used.fresh;
    totals.cache_read += bill.used.cache_read;
    totals.cache_write += bill.used.cache_write + bill.used.cache_write_long;
    totals.output += bill.used.output;
    totals.micros += micros(bill.cost);
    totals.micros_without += micros(bill.cost_without);
}

/// Adds the cost of a summary.
pub(crate) fn add_summary(totals: &mut Totals, spent: &Spent) {
    totals.fresh += spent.used.fresh;
    totals.cache_read += spent.used.cache_read;
    totals.cache_write += spent.used.cache_write + spent.used.cache_write_long;
    totals.output += spent.used.output;
    totals.micros += micros(spent.cost);
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cost is finite and not negative, and stays far below 2^53 millionths"
)]
fn micros(usd: f64) -> u64 {
    (usd * 1e6).round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use context::Tokens;
    use tokens::{Basis, Consumption, Price};

    use super::{Alone, uncached, unchanged};

    const PRICE: Price = Price {
        input: 5.0,
        output: 25.0,
        cache_read: 0.5,
        cache_write: 6.25,
        cache_write_long: 10.0,
        long_context: None,
        basis: Basis::Documented,
    };

    fn check(used: [u64; 3], whole: u64, before: u64, dollars: f64) {
        let [fresh, cache_read, cache_write] = used.map(Tokens::new);
        let used = Consumption {
            fresh,
            cache_read,
            cache_write,
            ..Consumption::default()
        };
        let cost = unchanged(&PRICE, &used, Tokens::new(whole), Tokens::new(before));
        assert!((cost - dollars).abs() < 1e-9, "{cost} instead of {dollars}");
    }

    #[test]
    fn the_cache_would_have_been_as_warm_or_as_cold() {
        // 100,000 read at 0.5 and 10,000 written at 6.25, a million each.
        check([0, 20_000, 10_000], 110_000, 100_000, 0.05 + 0.0625);
        check([0, 0, 10_000], 110_000, 100_000, 0.6875);
        check([10_000, 0, 0], 110_000, 100_000, 0.55);
    }

    #[test]
    fn without_breakpoints_all_would_have_been_fresh() {
        let used = Consumption {
            fresh: Tokens::new(1_000),
            cache_read: Tokens::new(90_000),
            cache_write: Tokens::new(9_000),
            ..Consumption::default()
        };
        let used = uncached(&used);
        let whole = Tokens::new(100_000);
        let cost = unchanged(&PRICE, &used, whole, Tokens::new(90_000));
        assert!((cost - 0.5).abs() < 1e-9, "{cost}");
    }

    fn alone() -> Alone {
        Alone {
            hard: Tokens::new(85_000),
            summary: Tokens::new(5_000),
            rest: Tokens::new(15_000),
            caches: true,
        }
    }

    #[test]
    fn without_the_gateway_the_client_summarises_at_the_hard_threshold() {
        let at = |said| {
            let said = Tokens::new(said);
            (alone().summaries(said), alone().view(said).get())
        };
        assert_eq!(at(84_999), (0, 84_999));
        assert_eq!(at(85_000), (1, 15_000));
        assert_eq!(at(154_999), (1, 84_999));
        assert_eq!(at(155_000), (2, 15_000));
        assert_eq!(at(1_000_000).0, 14);
    }

    #[test]
    fn its_summaries_are_paid_for() {
        let used = Consumption {
            cache_read: Tokens::new(20_000),
            cache_write: Tokens::new(2_000),
            ..Consumption::default()
        };
        let cost = |said, before| {
            let (said, before) = (Tokens::new(said), Tokens::new(before));
            alone().cost(&PRICE, &used, said, before)
        };
        // 80,000 read at 0.5 and 2,000 written at 6.25, a million each.
        assert!((cost(82_000, 80_000) - (0.04 + 0.0125)).abs() < 1e-9);
        // The same again in the second round, of a view of 40,000.
        assert!((cost(112_000, 110_000) - (0.02 + 0.0125)).abs() < 1e-9);
        // A summary: 84,000 read and 5,000 written by the model; then 10,000 read and 6,000 written.
        let summary = 0.042 + 0.125;
        let next = 0.005 + 0.0375;
        assert!((cost(86_000, 84_000) - (summary + next)).abs() < 1e-9);
    }
}
