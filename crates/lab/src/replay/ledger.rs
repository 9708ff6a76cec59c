//! Counters of one strategy's replay.

use context::{Consumption, Pressure, Tokens};
use conversation::homunculus::{Limits, MINIMUM_SUMMARY, Path};
use jiff::SignedDuration;
use tokens::Price;

use crate::cache::Charge;
use crate::compare::{Overflows, PinCount, Simulated, Stalls, TokenUse};

/// The shortest wait that is a stall. A shorter one goes unnoticed beside the time of the answer itself.
const STALL: SignedDuration = SignedDuration::from_millis(250);

pub(super) struct Ledger {
    price: Price,
    pub simulated: Simulated,
    pub pressure: Vec<f64>,
    pub overflows: Overflows,
    pub pins: PinCount,
    pub boundaries: usize,
}

impl Ledger {
    pub(super) fn new(price: Price) -> Self {
        Self {
            price,
            simulated: Simulated::default(),
            pressure: Vec::new(),
            overflows: Overflows::default(),
            pins: PinCount::default(),
            boundaries: 0,
        }
    }

    /// A request was sent with so many tokens of messages, and of instructions and tools beside them.
    pub(super) fn sent(
        &mut self,
        (messages, beside): (Tokens, Tokens),
        path: &Path<'_>,
        limits: &Limits,
    ) {
        let view = messages + beside;
        self.pressure.push(Pressure::of(view, limits.window).get());
        if view > limits.window {
            self.overflows.requests += 1;
            if smallest_view(path) + beside > limits.window {
                self.overflows.unavoidable += 1;
            }
        }
    }

    /// A request waited.
    pub(super) fn waited(&mut self, wait: SignedDuration) {
        if wait < STALL {
            return;
        }
        let seconds = wait.as_secs_f64();
        let Stalls {
            count,
            longest_seconds,
            total_seconds,
        } = &mut self.simulated.stalls;
        *count += 1;
        *longest_seconds = longest_seconds.max(seconds);
        *total_seconds += seconds;
    }

    /// A request of the conversation itself.
    pub(super) fn request(&mut self, charge: Charge, output: Tokens) {
        self.simulated.cost_usd += bill(&self.price, charge, output);
        add(&mut self.simulated.requests, charge, output);
    }

    /// A call that writes a summary.
    pub(super) fn summary(&mut self, charge: Charge, output: Tokens) {
        self.simulated.cost_usd += bill(&self.price, charge, output);
        add(&mut self.simulated.summaries, charge, output);
    }

    pub(super) fn peak(&self) -> f64 {
        self.pressure.iter().copied().fold(0.0, f64::max)
    }
}

/// The smallest view that shows the newest step whole.
fn smallest_view(path: &Path<'_>) -> Tokens {
    let cut = path.last_cut().unwrap_or(0);
    let summary = if cut == 0 {
        Tokens::ZERO
    } else {
        MINIMUM_SUMMARY
    };
    path.front(cut) + path.tail(cut) + summary
}

fn bill(price: &Price, charge: Charge, output: Tokens) -> f64 {
    price
        .cost(&Consumption {
            fresh: charge.fresh,
            cache_read: charge.read,
            cache_write: charge.written,
            cache_write_long: Tokens::ZERO,
            output,
        })
        .get()
}

fn add(to: &mut TokenUse, charge: Charge, output: Tokens) {
    to.fresh += charge.fresh.get();
    to.cache_read += charge.read.get();
    to.cache_written += charge.written.get();
    to.output += output.get();
}
