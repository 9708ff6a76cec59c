//! The cost of a request, and an estimate of its cost without the gateway.
//!
//! Without it the conversation would have been sent whole while it fits the window; at the hard threshold
//! its client would have stopped, had the same model write a summary of all of it, and gone on with that
//! alone. [`Alone`] follows the view of such a client from request to request: it grows as ours grows, and
//! falls to instructions, tools and a summary where it reaches the threshold.

use crate::answer::FRAME;
use crate::homunculus::{Extent, Reported};
use crate::inject::Own;
use context::{Consumption, Tokens};
use history::Totals;
use serde::{Deserialize, Serialize};
use tokens::Price;
use wire::api::Reply;

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

    /// The bill for an answer of which `alone` has the last request.
    pub(crate) fn of(flight: &Flight, reply: &Reply, client: &Client, alone: &mut Alone) -> Self {
        let billed = reply.usage.billed();
        let is_told = billed.all_input() > Tokens::ZERO;
        let used = match is_told {
            true => billed.consumption(),
            false => unreported(flight, reply, client, alone),
        };
        let price = &flight.asked.model.price;
        let cost = price.cost(&used).get();
        // A compaction of the provider counts its own input, which is not the view.
        let passes = reply.usage.iterations.iter().rev();
        let message = passes
            .filter(|pass| pass.kind == "message")
            .map(|pass| pass.counts)
            .next();
        let input = message.unwrap_or(reply.usage.counts).all_input();
        let request = Request {
            input: if is_told { input } else { used.input() },
            shown: flight.shown,
            said: flight.margin.said,
            spared: flight.margin.spared,
            added: flight.margin.added,
            used,
        };
        let cost_without = alone.follow(&request, client, price, (cost, flight.margin.own));
        Self {
            used,
            input,
            cost,
            cost_without,
        }
    }
}

/// Returns true if the provider charges for an answer: it tells its tokens, or has content. An error in a stream, or
/// an answer that is still to come, is not charged for.
pub(crate) fn is_charged(reply: &Reply) -> bool {
    reply.usage.billed().all_input() > Tokens::ZERO || !reply.draft().parts.is_empty()
}

/// About what an answer used of which the provider told nothing, as in a streamed chat without
/// `stream_options.include_usage`: what was sent, by our count, of which the view before it came from the cache.
fn unreported(flight: &Flight, reply: &Reply, client: &Client, alone: &Alone) -> Consumption {
    let counter = flight.model().counter();
    let answer = reply.draft().after(flight.turns.head, &counter);
    let before = alone.last.as_ref().map(|(_, last)| last);
    let read = before
        .filter(|last| client.warm && last.shown == flight.shown && last.input >= client.cacheable);
    let cache_read = read.map_or(Tokens::ZERO, |last| last.input.min(flight.margin.view));
    Consumption {
        fresh: flight.margin.view.saturating_sub(cache_read),
        cache_read,
        output: answer.tokens().saturating_sub(FRAME),
        ..Consumption::default()
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

/// An answered request, of which a client without a gateway would have sent another view.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// The size of the view as the provider counted it.
    input: Tokens,
    /// The extent of the view.
    shown: Extent,
    /// The size of the conversation as it was said, by our count.
    said: Tokens,
    /// The tokens by which the view shortens it.
    spared: Tokens,
    /// The gateway's own text that this request added behind the client's words.
    added: Own,
    /// The tokens that the answer used.
    used: Consumption,
}

/// A client without a gateway, as of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// The size at which it stops to summarise.
    pub hard: Tokens,
    /// The size of a summary.
    pub summary: Tokens,
    /// Instructions and tools.
    pub beside: Tokens,
    /// False for a client that sets no breakpoints where only breakpoints fill the cache.
    pub caches: bool,
    /// The smallest view that the provider's cache holds.
    pub cacheable: Tokens,
    /// True if the provider's cache would still have held the request before this one.
    pub warm: bool,
}

impl Client {
    /// The size of its view after a summary.
    fn rest(&self) -> Tokens {
        self.beside + self.summary
    }
}

/// The view of a client that has no gateway before it and summarises for itself, as of the last request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alone {
    /// The size of the last summary that a model wrote for us: its client's would be of this size.
    pub summary: Option<Tokens>,
    /// Its view, and the request that the view was of.
    last: Option<(Tokens, Request)>,
}

/// The stored part of [`Alone`].
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Kept {
    view: u64,
    input: u64,
    said: u64,
    spared: u64,
    summary: Option<u64>,
}

impl Alone {
    /// Returns the part to store, so that it goes on after a restart.
    pub(crate) fn kept(&self) -> Option<Kept> {
        let (view, last) = self.last.as_ref()?;
        Some(Kept {
            view: view.get(),
            input: last.input.get(),
            said: last.said.get(),
            spared: last.spared.get(),
            summary: self.summary.map(Tokens::get),
        })
    }

    /// Resumes after a restart. The last request had this extent, and a note of `clears` tokens that the provider
    /// takes out again.
    pub(crate) fn resume(kept: Kept, shown: Extent, clears: Tokens) -> Self {
        let last = Request {
            input: Tokens::new(kept.input),
            shown,
            said: Tokens::new(kept.said),
            spared: Tokens::new(kept.spared),
            added: Own {
                clears,
                ..Own::default()
            },
            used: Consumption::default(),
        };
        Self {
            summary: kept.summary.map(Tokens::new),
            last: Some((Tokens::new(kept.view), last)),
        }
    }

    /// Takes in the next request, which cost `cost`, and returns what it would have cost this client. `own` of its
    /// view is the gateway's, as far as no earlier request tells it.
    fn follow(
        &mut self,
        request: &Request,
        client: &Client,
        price: &Price,
        (cost, own): (f64, Tokens),
    ) -> f64 {
        let (view, reads) = match &self.last {
            Some((before, last)) => {
                // A swap of ours misses the cache, as this client would not have done.
                let hit = if last.shown == request.shown {
                    request.used.cache_read > Tokens::ZERO
                } else {
                    client.warm
                };
                let read = match hit && *before >= client.cacheable {
                    true => *before,
                    false => Tokens::ZERO,
                };
                (*before + request.grown(last), read)
            }
            None => request.alone(client, own),
        };
        let used = if client.caches && view >= client.cacheable {
            request.used
        } else {
            uncached(&request.used)
        };
        let is_full = view >= client.hard && client.rest() < client.hard;
        let (view, without) = if is_full {
            // First the summary, of all that was shown; then nothing of the messages is in the cache.
            let asked = Consumption {
                output: client.summary,
                ..used
            };
            let next = priced(price, &used, client.rest(), client.beside);
            (client.rest(), priced(price, &asked, view, reads) + next)
        } else if client.caches && request.shown == Extent::default() && view == request.input {
            (view, cost)
        } else {
            (view, priced(price, &used, view, reads))
        };
        self.last = Some((view, *request));
        without
    }
}

impl Request {
    /// The tokens that it brought since the last one.
    fn grown(&self, last: &Self) -> Tokens {
        let said = self.said.saturating_sub(last.said);
        if self.shown == last.shown {
            // The provider counts better than we do, but not what we left out.
            let gained = self.input + self.spared + last.added.clears;
            let ours = last.spared + self.added.stays + self.added.clears;
            gained.saturating_sub(last.input + ours)
        } else {
            said
        }
    }

    /// The view of a client whose earlier requests are not known, and what of it comes from the cache: it
    /// summarised whenever it was full.
    fn alone(&self, client: &Client, own: Tokens) -> (Tokens, Tokens) {
        let over = self.said.saturating_sub(client.rest()).get();
        let freed = client.hard.saturating_sub(client.rest()).get();
        let view = match over.checked_rem(freed) {
            Some(left) if self.shown != Extent::default() => client.rest() + Tokens::new(left),
            _ => (self.input + self.spared).saturating_sub(own),
        };
        let read = self.used.cache_read.as_f64() / self.input.as_f64().max(1.0);
        (view, view.scaled(read))
    }
}

/// The cost of a view of which `read` tokens come from the cache and the rest is paid for like the rest of the
/// request that used so much.
fn priced(price: &Price, used: &Consumption, view: Tokens, read: Tokens) -> f64 {
    let written = used.cache_write + used.cache_write_long;
    let caches = used.cache_read + written > Tokens::ZERO;
    let read = if caches { read.min(view) } else { Tokens::ZERO };
    let rest = view.saturating_sub(read);
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

/// A cost in USD as millionths of a dollar.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cost is finite and not negative, and stays far below 2^53 millionths"
)]
pub fn micros(usd: f64) -> u64 {
    (usd * 1e6).round().max(0.0) as u64
}

#[cfg(test)]
mod tests;
