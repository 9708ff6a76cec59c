//! Tests of the estimate: what a client without a gateway would have paid.

use context::{Consumption, Tokens};
use tokens::{Basis, Price};

use super::{Alone, Client, Request};
use crate::homunculus::Extent;
use crate::inject::Own;

const PRICE: Price = Price {
    input: 5.0,
    output: 25.0,
    cache_read: 0.5,
    cache_write: 6.25,
    cache_write_long: 10.0,
    long_context: None,
    basis: Basis::Documented,
};

const CLIENT: Client = Client {
    hard: Tokens::new(85_000),
    summary: Tokens::new(5_000),
    beside: Tokens::new(10_000),
    caches: true,
    cacheable: Tokens::new(1_024),
    warm: true,
};

/// A request of `input` tokens, of which so many are read from the cache.
fn whole(input: u64, read: u64) -> Request {
    Request {
        input: Tokens::new(input),
        shown: Extent::default(),
        said: Tokens::new(input),
        spared: Tokens::ZERO,
        added: Own::default(),
        used: Consumption {
            cache_read: Tokens::new(read),
            cache_write: Tokens::new(input - read),
            ..Consumption::default()
        },
    }
}

/// The same after a swap, in a conversation of `said` tokens.
fn swapped(input: u64, read: u64, said: u64) -> Request {
    Request {
        shown: Extent {
            from: 9,
            ..Extent::default()
        },
        said: Tokens::new(said),
        ..whole(input, read)
    }
}

/// Checks the cost of the last request without the gateway, in USD, and the view after it.
#[track_caller]
fn check(requests: &[Request], client: &Client, dollars: f64, view: u64) {
    let mut alone = Alone::default();
    let mut cost = 0.0;
    for request in requests {
        let paid = PRICE.cost(&request.used).get();
        cost = alone.follow(request, client, &PRICE, (paid, Tokens::ZERO));
    }
    assert!((cost - dollars).abs() < 1e-9, "{cost} instead of {dollars}");
    let (seen, _) = alone.last.expect("a request");
    assert_eq!(seen.get(), view);
}

/// The cost of tokens read from the cache and written to it.
fn tokens(read: f64, written: f64) -> f64 {
    (read * 0.5 + written * 6.25) / 1e6
}

#[test]
fn what_is_sent_whole_costs_the_same() {
    let requests = [whole(40_000, 0), whole(42_000, 40_000)];
    check(&requests, &CLIENT, tokens(40_000.0, 2_000.0), 42_000);
}

#[test]
fn our_swap_does_not_empty_its_cache() {
    let requests = [whole(60_000, 0), swapped(20_000, 0, 62_000)];
    check(&requests, &CLIENT, tokens(60_000.0, 2_000.0), 62_000);
    let cold = Client {
        warm: false,
        ..CLIENT
    };
    check(&requests, &cold, tokens(0.0, 62_000.0), 62_000);
    // Behind it, its view grows as ours does, whatever our count of it says.
    let next = swapped(21_000, 20_000, 70_000);
    let requests = [whole(60_000, 0), swapped(20_000, 0, 62_000), next];
    check(&requests, &CLIENT, tokens(62_000.0, 1_000.0), 63_000);
}

#[test]
fn where_it_is_full_it_summarises_and_that_is_paid_for() {
    let requests = [whole(84_000, 0), swapped(20_000, 0, 86_000)];
    let summary = tokens(84_000.0, 2_000.0) + 5_000.0 * 25.0 / 1e6;
    let next = tokens(10_000.0, 5_000.0);
    check(&requests, &CLIENT, summary + next, 15_000);
}

#[test]
fn without_breakpoints_all_would_have_been_fresh() {
    let client = Client {
        caches: false,
        ..CLIENT
    };
    check(
        &[whole(40_000, 0), whole(42_000, 40_000)],
        &client,
        0.21,
        42_000,
    );
}

#[test]
fn after_a_restart_it_has_summarised_as_often_as_it_must() {
    // 15,000 are left by a summary, and 70,000 fit until the next.
    let requests = [swapped(20_000, 20_000, 165_000)];
    check(&requests, &CLIENT, tokens(25_000.0, 0.0), 25_000);
}
