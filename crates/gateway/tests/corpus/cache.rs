//! Reads from the provider's cache: as many as without the gateway, except for the request of a swap.

use crate::locate::corpus;
use crate::received::Inserted;
use crate::session::read;
use crate::stage::{BINDING, LONG, OLDER, OTHER, TestRun, alone, direct, through};
use crate::talk::{Choice, Seen};

/// Of what the request before left in the cache, all that can be read again is read again: no less than
/// without a gateway.
///
/// This, and not the share of the whole request, is what a gateway can do right or wrong: behind a swap
/// the same new message is a larger share of a smaller request.
fn reads_what_was_left(through: &[Seen], direct: &[Seen]) {
    let pairs = through.windows(2).zip(direct.windows(2));
    for (through, direct) in pairs.filter(|(through, _)| !is_reset(&through[1])) {
        let [before, after] = [&through[0], &through[1]];
        let [before_direct, after_direct] = [&direct[0], &direct[1]];
        // Shares compared without division.
        assert!(
            after.read * before_direct.left() >= after_direct.read * before.left(),
            "{before:?} {after:?} without: {before_direct:?} {after_direct:?}"
        );
    }
}

/// Nothing has to be read afresh but what is new in both, and what was put in: a note in its own request,
/// and one that stays in the next one too, because it stands behind the breakpoint of the client.
fn adds_only_what_is_inserted(outcome: &TestRun, direct: &[Seen], choice: Choice) {
    let counter = tokens::counter_for(choice.model);
    let mut before = Inserted::default();
    let requests = outcome.received.iter().zip(&outcome.seen).zip(direct);
    for ((received, through), direct) in requests {
        let inserted = received.inserted(through.blocks, &*counter);
        if !is_reset(through) {
            assert!(
                through.uncached() <= direct.uncached() + inserted.all + before.staying,
                "{through:?} {direct:?} {inserted:?} {before:?}"
            );
        }
        before = inserted;
    }
}

/// Returns true if the cache cannot hold the beginning of the request: the conversation was just made smaller.
fn is_reset(seen: &Seen) -> bool {
    seen.did("swapped") || seen.did("summarised")
}

/// The share of the input that was read from the cache but where it can not be, in thousandths.
fn read_share(seen: &[Seen]) -> u64 {
    let usual = || seen.iter().filter(|seen| !is_reset(seen));
    let read: u64 = usual().map(|seen| seen.read).sum();
    let input: u64 = usual().map(Seen::input).sum();
    read * 1_000 / input
}

/// The figures of one way, as text.
fn figures(name: &str, outcome: &TestRun) -> String {
    let used = &outcome.account.used;
    let all = used.fresh + used.cache_read + used.cache_write;
    format!(
        "{name:<28}{:>8}{:>16}{:>14}{:>12}{:>10.2}",
        outcome.account.requests,
        read_share(&outcome.seen),
        used.cache_read.get() * 1_000 / all.get(),
        (used.fresh + used.cache_write).get(),
        outcome.account.cost.get()
    )
}

async fn check(file: &str, choice: Choice) {
    let Some(corpus) = corpus() else { return };
    let recorded = read(&corpus, file);
    let through = through(&recorded, choice).await;
    let direct = direct(&recorded, choice).await;
    let alone = alone(&recorded, choice).await;
    println!(
        "{:<28}{:>8}{:>16}{:>14}{:>12}{:>10}",
        "", "requests", "read, usual (‰)", "read, all (‰)", "uncached", "USD"
    );
    println!("{}", figures("gateway, 64k", &through));
    println!("{}", figures("without, window unlimited", &direct));
    println!("{}", figures("client summarises, 64k", &alone));
    reads_what_was_left(&through.seen, &direct.seen);
    adds_only_what_is_inserted(&through, &direct.seen, choice);
    let share = read_share(&through.seen);
    let same_window = read_share(&alone.seen);
    assert!(share >= same_window, "{share} {same_window}");
}

#[tokio::test]
async fn over_the_providers_own_block() {
    check(LONG, BINDING).await;
}

#[tokio::test]
async fn over_readable_summaries() {
    check(OTHER, OLDER).await;
}
