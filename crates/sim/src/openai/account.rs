//! The window, the cache and the clock of a request.

use std::time::Duration;

use serde_json::{Value, json};

use super::items::Call;
use crate::anthropic::reply::Pace;
use crate::cache::{Life, Moment, Rules, Share};
use crate::exchange::Incoming;
use crate::faults::Fault;
use crate::provider::Provider;

/// The tokens and the time that a request takes.
pub(super) struct Taken {
    pub share: Share,
    pub pace: Pace,
    pub input: u64,
    /// The tokens that may be written.
    pub room: u64,
}

/// The window of the model that is asked.
pub(super) fn window(provider: &Provider, call: &Call) -> u64 {
    let own = call.known.model.window;
    provider.config.window.unwrap_or(own).get()
}

/// Accounts the cache, and computes when the answer comes.
pub(super) fn take(
    provider: &mut Provider,
    call: &Call,
    dropped: usize,
    incoming: &Incoming<'_>,
    fault: Option<&Fault>,
) -> Taken {
    let rules = Rules::of(&call.known.model.cache);
    let long = call.cache_option("ttl").is_some_and(|ttl| ttl == "12h");
    let life = if long { Life::Long } else { Life::Short };
    let explicit = call
        .cache_option("mode")
        .is_some_and(|mode| mode == "explicit");
    let mut prefixes = call.prefixes(dropped);
    let input = prefixes.last().map_or(0, |prefix| prefix.tokens);
    if explicit {
        // Without a breakpoint nothing is read or written; what follows the last one is fresh.
        let last = prefixes.iter().rposition(crate::cache::Prefix::is_marked);
        prefixes.truncate(last.map_or(0, |last| last + 1));
    }
    let latency = provider.config.latency;
    let window = window(provider, call);
    let org = provider.organisation(call.organisation);
    let moment = Moment {
        now: incoming.now,
        begins: incoming.now,
    };
    let mut share = org.cache.by_prefix(&prefixes, rules, life, moment);
    share.fresh += input - share.input();
    let mut first = latency.map_or(Duration::ZERO, |latency| {
        latency.first(input - share.read, share.read)
    });
    if let Some(Fault::SummaryLate(delay)) = fault {
        first += *delay;
    }
    let limits = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
    let limit = limits
        .into_iter()
        .find_map(|key| call.field(key).and_then(Value::as_u64))
        .unwrap_or_else(|| call.known.model.max_output.get());
    Taken {
        share,
        pace: Pace { first, latency },
        input,
        room: limit.min(window.saturating_sub(input)),
    }
}

/// Books a request.
pub(super) fn book(
    provider: &mut Provider,
    call: &Call,
    taken: &Taken,
    output: u64,
    summary: bool,
) {
    let price = call.known.model.price;
    let org = provider.organisation(call.organisation);
    let account = org.account(call.text("prompt_cache_key"));
    account.requests += 1;
    account.summaries += u64::from(summary);
    account.book(&taken.share, output, &price);
}

/// The details of the input, as both interfaces name them.
pub(super) fn details(share: &Share) -> Value {
    json!({
        "cached_tokens": share.read,
        "cache_write_tokens": share.write + share.write_long,
        "cache_write_tokens_details": {
            "ttl_30m_tokens": share.write,
            "ttl_12h_tokens": share.write_long,
        },
    })
}
